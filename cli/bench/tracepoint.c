/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../machine.h"
#include "tracepoint.h"

#define RING_PAGES 128

static bool has_events(const char *tracefs)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/events/raw_syscalls/sys_enter/id",
		 tracefs);
	return access(path, R_OK) == 0;
}

static const char *const places[] = {"/sys/kernel/tracing",
				     "/sys/kernel/debug/tracing"};

bool tracepoints_are_readable(void)
{
	if (has_events(places[0]) || has_events(places[1]))
		return true;
	return access(places[0], F_OK) == 0 && geteuid() == 0;
}

const char *tracefs_find(const char **ret_why)
{
	for (size_t i = 0; i < 2; i++) {
		if (has_events(places[i]))
			return places[i];
	}
	if (access(places[0], F_OK) != 0) {
		*ret_why = "the kernel has no tracefs";
		return NULL;
	}
	if (geteuid() != 0) {
		*ret_why = "tracefs may be read by root only";
		return NULL;
	}
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tracefs", places[0], "tracefs",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
		*ret_why = "tracefs is not mounted, and may not be mounted";
		return NULL;
	}
	if (!has_events(places[0])) {
		*ret_why = "the kernel has no tracepoints for system calls";
		return NULL;
	}
	return places[0];
}

int tracepoint_open(const char *tracefs, const char *name, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = period,
		.sample_type = period ? PERF_SAMPLE_RAW : 0,
		.disabled = 1,
	};
	char path[160];
	char line[32];
	int fd;

	snprintf(path, sizeof(path), "%s/events/%s/id", tracefs, name);
	if (!read_line(path, line, sizeof(line)))
		return -ENOENT;
	attr.config = strtoull(line, NULL, 10);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
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

int tracepoint_field(const char *tracefs, const char *name, const char *field,
		     struct tracepoint_field *ret_field)
{
	char path[160];
	char text[4096];
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "%s/events/%s/format", tracefs, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
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
