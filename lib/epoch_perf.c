/* SPDX-License-Identifier: MIT */
/*
 * perf - the kernel adds 2 to the lock word of an event's page whenever it
 * schedules the event's thread in (kernel/events/core.c, event_sched_in and
 * perf_event_update_userpage; all kernels). The page stays alive when the
 * event's descriptor is closed. The event counts nothing, but its upkeep taxes
 * every switch of the thread.
 *
 * The word is lock and, behind it, index, which is 0 for a software event: were
 * it ever to change, that would read as a switch.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "epoch.h"

_Static_assert(offsetof(struct perf_event_mmap_page, index) ==
		       offsetof(struct perf_event_mmap_page, lock) + 4,
	       "lock and index are one aligned word");
_Static_assert(offsetof(struct perf_event_mmap_page, lock) % 8 == 0,
	       "lock and index are one aligned word");

/* Unmaps the page of a thread when it ends. */
static pthread_key_t page_key;
static bool have_page_key;

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void unmap_page(void *page)
{
	munmap(page, page_size());
}

/* The kernel gives the page to no child of fork. */
static void forget(void)
{
	pthread_setspecific(page_key, NULL);
}

__attribute__((constructor)) static void make_page_key(void)
{
	have_page_key = pthread_key_create(&page_key, unmap_page) == 0 &&
			pthread_atfork(NULL, NULL, forget) == 0;
}

/* A descriptor of an event on this thread, or -errno. */
static int open_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1, /* else not allowed at paranoid 2 */
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The event's page, or NULL; closes the descriptor. */
static struct perf_event_mmap_page *map_event(int fd)
{
	void *page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

static const struct cpuclock__verdict *probe(void)
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
		no_key = {-EAGAIN, "no key of pthread_key_create(3) is left"},
		other = {-EIO, "perf_event_open(2) failed"};
	struct perf_event_mmap_page *page;
	int fd;

	if (!have_page_key)
		return &no_key;
	fd = open_event();
	if (fd >= 0) {
		page = map_event(fd);
		if (!page)
			return &locked;
		unmap_page(page);
		return &cpuclock__works;
	}
	switch (fd) {
	case -EACCES:
	case -EPERM:
		return &denied;
	case -ENOSYS:
	case -ENOENT:
		return &absent;
	case -EMFILE:
	case -ENFILE:
		return &no_descriptor;
	default:
		return &other;
	}
}

static cpuclock__epoch_word *attach(void)
{
	struct perf_event_mmap_page *page;
	int fd = open_event();

	if (fd < 0)
		return NULL;
	page = map_event(fd);
	if (page && pthread_setspecific(page_key, page) != 0) {
		unmap_page(page);
		page = NULL;
	}
	return page ? (cpuclock__epoch_word *)&page->lock : NULL;
}

static void detach(cpuclock__epoch_word *word)
{
	char *lock = (char *)(uintptr_t)word;

	pthread_setspecific(page_key, NULL);
	unmap_page(lock - offsetof(struct perf_event_mmap_page, lock));
}

static uint64_t arm(cpuclock__epoch_word *word)
{
	return *word;
}

const struct cpuclock__epoch cpuclock__epoch_perf = {
	.name = "fast:perf",
	.has_cost = 1,
	.probe = probe,
	.attach = attach,
	.detach = detach,
	.forget = forget,
	.arm = arm,
};
