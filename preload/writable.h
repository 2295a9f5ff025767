/* SPDX-License-Identifier: MIT */
/*
 * Pages of memory in which the kernel has stored a time for this process. A
 * table without probes or locks: what is overwritten in it is asked for again.
 * A page that is unmapped or write-protected later is not noticed; to store
 * there is SIGSEGV, as it is for the clocks of the vDSO.
 */
#ifndef CPUCLOCK_WRITABLE_H
#define CPUCLOCK_WRITABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The smallest page of any kernel. */
#define WRITABLE_SHIFT 12
#define WRITABLE_SLOTS 512

/* Inverted, so that an empty slot is that of no page, the first one included.
 */
extern _Atomic uintptr_t writable_pages[WRITABLE_SLOTS];

static inline _Atomic uintptr_t *writable_slot(uintptr_t page)
{
	/* Stacks are as far apart as a stack is long, and end alike. */
	return &writable_pages[(page ^ page >> 9 ^ page >> 18) %
			       WRITABLE_SLOTS];
}

static inline bool is_known_writable(const struct timespec *time)
{
	uintptr_t page = (uintptr_t)time >> WRITABLE_SHIFT;
	uintptr_t last =
		((uintptr_t)time + sizeof(*time) - 1) >> WRITABLE_SHIFT;

	return page == last &&
	       atomic_load_explicit(writable_slot(page),
				    memory_order_relaxed) == ~page;
}

static inline void know_writable(const struct timespec *time)
{
	uintptr_t page = (uintptr_t)time >> WRITABLE_SHIFT;

	atomic_store_explicit(writable_slot(page), ~page, memory_order_relaxed);
}

#endif
