/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf_page.h"

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct perf_event_mmap_page *cpuclock__perf_page_open(uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.exclude_kernel = 1, /* else not allowed at paranoid 2 */
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);
	void *page;
	int error;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, fd, 0);
	/* A page that may not be locked is EPERM, as a denied event can be. */
	error = errno == EPERM ? EAGAIN : errno;
	close(fd);
	if (page == MAP_FAILED) {
		errno = error;
		return NULL;
	}
	return page;
}

void cpuclock__perf_page_close(struct perf_event_mmap_page *page)
{
	munmap(page, page_size());
}

void cpuclock__perf_page_stand_in(struct perf_event_mmap_page *page)
{
	(void)mmap(page, page_size(), PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

const struct cpuclock__verdict *cpuclock__perf_page_verdict(int error)
{
	static const struct cpuclock__verdict
		denied = {-EACCES,
			  "perf_event_open(2) is denied: "
			  "kernel.perf_event_paranoid above 2, or seccomp"},
		absent = {-ENOSYS,
			  "the kernel has no perf events, or a seccomp "
			  "filter hides them"},
		locked = {-EPERM, "no locked memory is left for its page "
				  "(kernel.perf_event_mlock_kb, ulimit -l)"},
		no_descriptor = {-EMFILE, "no file descriptor is left"},
		other = {-EIO, "perf_event_open(2) failed"};

	switch (error) {
	case EACCES:
	case EPERM:
		return &denied;
	case EAGAIN:
		return &locked;
	case ENOSYS:
	case ENOENT:
		return &absent;
	case EMFILE:
	case ENFILE:
		return &no_descriptor;
	default:
		return &other;
	}
}
