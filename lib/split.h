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
 * Moves the split, not the total, so that neither part falls below the bound.
 * The bound is of this thread, and its parts within 2 s of those given: only
 * their low halves are in it.
 */
void cpuclock__split_keep(struct cpuclock_times *times, uint64_t bound,
			  int64_t about_user_ns, int64_t about_system_ns);

#endif
