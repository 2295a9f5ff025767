/* SPDX-License-Identifier: MIT */
/* The page of a perf event on the calling thread, without its descriptor. */
#ifndef CPUCLOCK_PERF_PAGE_H
#define CPUCLOCK_PERF_PAGE_H

#include <linux/perf_event.h>

#include "source.h"

/*
 * Opens a software event (PERF_COUNT_SW_...), maps its page and closes the
 * descriptor: the page stays alive (the mapping holds the event). NULL, with
 * errno, if that fails.
 */
struct perf_event_mmap_page *cpuclock__perf_page_open(uint64_t config);
void cpuclock__perf_page_close(struct perf_event_mmap_page *page);

/* In a child of fork, which has no such page: one of zeros in its place. */
void cpuclock__perf_page_stand_in(struct perf_event_mmap_page *page);

/* Why cpuclock__perf_page_open failed with this errno. */
const struct cpuclock__verdict *cpuclock__perf_page_verdict(int error);

#endif
