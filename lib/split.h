/* SPDX-License-Identifier: MIT */
/*
 * User and system time of the calling thread, in nanoseconds that add up to its
 * total and never decrease.
 *
 * The kernel cuts both to whole microseconds, which leaves up to 2 us of the
 * total to hand out. Handing them to user would let user shrink whenever system
 * completes a microsecond, so a thread's last answer bounds its next one. A
 * bound is the low halves of user and system in one word, which a signal
 * handler cannot see half-written; 0 is none.
 */
#ifndef CPUCLOCK_SPLIT_H
#define CPUCLOCK_SPLIT_H

#include <sys/resource.h>

#include "cpuclock.h"

static inline uint64_t cpuclock__split_bound(const struct cpuclock_times *times)
{
	return (uint64_t)times->user_ns << 32 | (uint32_t)times->system_ns;
}

/*
 * Splits total_ns by @usage, from getrusage(RUSAGE_THREAD). The total must have
 * been read from CLOCK_THREAD_CPUTIME_ID just before: that brings up to date
 * what getrusage scales (kernel/sched/cputime.c, cputime_adjust).
 */
struct cpuclock_times cpuclock__split(int64_t total_ns,
				      const struct rusage *usage);

/*
 * Moves the split, not the total, so that neither part falls below the bound,
 * which was taken when the total was about bound_total_ns: one that is too old
 * is not needed, and its low halves would say nothing.
 * A bound of another thread, as a child of fork inherits it, moves it by less
 * than 4 ms.
 */
void cpuclock__split_keep(struct cpuclock_times *times, uint64_t bound,
			  int64_t bound_total_ns);

#endif
