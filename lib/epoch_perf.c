/* SPDX-License-Identifier: MIT */
/*
 * perf - the kernel adds 2 to the lock word of an event's page whenever it
 * schedules the event's thread in (kernel/events/core.c, event_sched_in and
 * perf_event_update_userpage; all kernels). The event counts nothing, but its
 * upkeep taxes every switch of the thread.
 *
 * The word is lock and, behind it, index, which is 0 for a software event: were
 * it ever to change, that would read as a switch.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "constructor.h"
#include "epoch.h"
#include "perf_page.h"

_Static_assert(offsetof(struct perf_event_mmap_page, index) ==
			       offsetof(struct perf_event_mmap_page, lock) +
				       4 &&
		       offsetof(struct perf_event_mmap_page, lock) % 8 == 0,
	       "lock and index are one aligned word");

/* glibc keeps the first PTHREAD_KEY_2NDLEVEL_SIZE in the thread itself. */
#define MAX_KEY 32

/* Unmaps the page of a thread when it ends. */
static pthread_key_t page_key;
static bool have_page_key;

static void close_page(void *page)
{
	if (cpuclock__epoch_leave())
		cpuclock__perf_page_close(page);
}

CPUCLOCK__CONSTRUCTOR static void make_page_key(void)
{
	have_page_key = pthread_key_create(&page_key, close_page) == 0;
	/* glibc allocates for any later key, also in a signal handler. */
	if (have_page_key && page_key >= MAX_KEY) {
		pthread_key_delete(page_key);
		have_page_key = false;
	}
}

/* A copy of the library in a plugin can be unloaded before a thread ends. */
__attribute__((destructor)) static void delete_page_key(void)
{
	if (have_page_key)
		pthread_key_delete(page_key);
	have_page_key = false;
}

static struct perf_event_mmap_page *page_of(cpuclock__epoch_word *word)
{
	char *lock = (char *)(uintptr_t)word;
	size_t offset = offsetof(struct perf_event_mmap_page, lock);

	return (struct perf_event_mmap_page *)(void *)(lock - offset);
}

/* The kernel gives the page to no child of fork: zeros are no armed value. */
static void forget(cpuclock__epoch_word *word, bool in_call)
{
	if (in_call)
		cpuclock__perf_page_stand_in(page_of(word));
	pthread_setspecific(page_key, NULL);
}

static const struct cpuclock__verdict *probe(void)
{
	static const struct cpuclock__verdict no_key = {
		-EAGAIN, "no early key of pthread_key_create(3) is left"};
	struct perf_event_mmap_page *page;

	if (!have_page_key)
		return &no_key;
	page = cpuclock__perf_page_open(PERF_COUNT_SW_DUMMY);
	if (!page)
		return cpuclock__perf_page_verdict(errno);
	cpuclock__perf_page_close(page);
	return &cpuclock__works;
}

static cpuclock__epoch_word *attach(void)
{
	struct perf_event_mmap_page *page =
		cpuclock__perf_page_open(PERF_COUNT_SW_DUMMY);

	if (page && pthread_setspecific(page_key, page) != 0) {
		cpuclock__perf_page_close(page);
		page = NULL;
	}
	return page ? (cpuclock__epoch_word *)&page->lock : NULL;
}

static void detach(cpuclock__epoch_word *word)
{
	pthread_setspecific(page_key, NULL);
	cpuclock__perf_page_close(page_of(word));
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
