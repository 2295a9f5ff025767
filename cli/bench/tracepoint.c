/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracepoint.h"

#define RING_PAGES 128

static bool has_events(int tracefs)
{
	return faccessat(tracefs, "events/raw_syscalls/sys_enter/id", R_OK,
			 0) == 0;
}

static int mount_tracefs(void)
{
	int filesystem = fsopen("tracefs", FSOPEN_CLOEXEC);
	int tracefs = -1;

	if (filesystem < 0)
		return -errno;
	if (fsconfig(filesystem, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		tracefs = fsmount(filesystem, FSMOUNT_CLOEXEC,
				  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					  MOUNT_ATTR_NOEXEC);
	if (tracefs < 0)
		tracefs = -errno;
	close(filesystem);
	return tracefs;
}

int tracefs_open(const char **ret_why)
{
	static const char *const places[] = {"/sys/kernel/tracing",
					     "/sys/kernel/debug/tracing"};
	int tracefs;

	for (size_t i = 0; i < 2; i++) {
		tracefs = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (tracefs < 0)
			continue;
		if (has_events(tracefs))
			return tracefs;
		close(tracefs);
	}

	tracefs = mount_tracefs();
	if (tracefs == -EPERM || tracefs == -EACCES) {
		*ret_why = "tracefs is not mounted, or may be read by root "
			   "only";
	} else if (tracefs < 0) {
		*ret_why = "the kernel has no tracefs";
	} else if (!has_events(tracefs)) {
		close(tracefs);
		tracefs = -ENOENT;
		*ret_why = "the kernel has no tracepoints for system calls";
	}
	return tracefs;
}

/* A small file as a string; false if it cannot be read. */
static bool read_file(int tracefs, const char *name, const char *file,
		      char *text, size_t size)
{
	char path[160];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s", name, file);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, size - 1);
	close(fd);
	if (length < 0)
		return false;
	text[length] = '\0';
	return true;
}

int tracepoint_open(int tracefs, const char *name, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = period,
		.sample_type = period ? PERF_SAMPLE_RAW : 0,
		.disabled = 1,
	};
	char id[32];
	int fd;

	if (!read_file(tracefs, name, "id", id, sizeof(id)))
		return -ENOENT;
	attr.config = strtoull(id, NULL, 10);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool tracepoints_work(const char **ret_why)
{
	int tracefs = tracefs_open(ret_why);
	int fd;

	if (tracefs < 0)
		return false;
	fd = tracepoint_open(tracefs, "raw_syscalls/sys_enter", 0);
	close(tracefs);
	if (fd < 0) {
		*ret_why =
			"perf_event_open(2) of a tracepoint is refused: it "
			"needs CAP_PERFMON, and no seccomp filter against it";
		return false;
	}
	close(fd);
	return true;
}

/* Takes " NAME:NUMBER;" from the front of *text. */
static bool take_attribute(const char **text, const char *name, size_t *ret)
{
	const char *p = *text + strspn(*text, " \t");
	size_t length = strlen(name);
	char *end;

	if (strncmp(p, name, length) != 0 || p[length] < '0' || p[length] > '9')
		return false;
	errno = 0;
	*ret = strtoul(p + length, &end, 10);
	if (errno || *end != ';')
		return false;
	*text = end + 1;
	return true;
}

/* "	field:size_t bytes_alloc;	offset:32;	size:8;	signed:0;" */
int tracepoint_parse_field(const char *text, const char *field,
			   struct tracepoint_field *ret_field)
{
	struct tracepoint_field found;
	char wanted[64];
	const char *p;

	snprintf(wanted, sizeof(wanted), " %s;", field);
	p = strstr(text, wanted);
	if (!p)
		return -ENOENT;
	p += strlen(wanted);
	if (!take_attribute(&p, "offset:", &found.offset) ||
	    !take_attribute(&p, "size:", &found.size))
		return -ENOENT;
	*ret_field = found;
	return 0;
}

int tracepoint_field(int tracefs, const char *name, const char *field,
		     struct tracepoint_field *ret_field)
{
	char text[4096];

	if (!read_file(tracefs, name, "format", text, sizeof(text)))
		return -ENOENT;
	return tracepoint_parse_field(text, field, ret_field);
}

int sample_ring_open(int fd, struct sample_ring *ret_ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *pages = mmap(NULL, (1 + RING_PAGES) * page,
			   PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (pages == MAP_FAILED)
		return -errno;
	*ret_ring = (struct sample_ring){pages, RING_PAGES * page};
	return 0;
}

void sample_ring_close(struct sample_ring *ring)
{
	munmap(ring->pages, ring->size + (size_t)sysconf(_SC_PAGESIZE));
}

/* Copies out of the ring, which wraps. */
static void ring_copy(const struct sample_ring *ring, uint64_t position,
		      void *to, size_t size)
{
	const struct perf_event_mmap_page *page = ring->pages;
	const char *data = (const char *)ring->pages + page->data_offset;

	for (size_t i = 0; i < size; i++)
		((char *)to)[i] = data[(position + i) % ring->size];
}

int sample_ring_sum(struct sample_ring *ring,
		    const struct tracepoint_field *field, uint64_t *ret_count,
		    uint64_t *ret_sum)
{
	struct perf_event_mmap_page *page = ring->pages;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	uint64_t count = 0, sum = 0;
	int err = 0;

	while (tail < head) {
		struct perf_event_header header;
		/* A raw sample begins with its size, 4 bytes. */
		uint64_t raw = tail + sizeof(header) + 4;
		uint64_t value = 0;

		ring_copy(ring, tail, &header, sizeof(header));
		if (header.type == PERF_RECORD_LOST)
			err = -EOVERFLOW;
		if (header.type == PERF_RECORD_SAMPLE &&
		    field->size <= sizeof(value)) {
			ring_copy(ring, raw + field->offset, &value,
				  field->size);
			count++;
			sum += value;
		}
		tail += header.size;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	*ret_count = count;
	*ret_sum = sum;
	return err;
}
