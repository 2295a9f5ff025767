/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_OWN_THREAD_H
#define CPUCLOCK_OWN_THREAD_H

#include <stdbool.h>
#include <time.h>

#include "clockid.h"

/* Does an id with the TID of a thread name the caller? */
bool is_id_of_caller(clockid_t clockid);

/* Is this one of the ids of the calling thread's total? */
static inline bool is_own_clock(clockid_t clockid)
{
	const clockid_t self =
		cpuclock__make_clockid(0, true, CPUCLOCK_ID_SCHED);

	if (clockid >= 0)
		return clockid == CLOCK_THREAD_CPUTIME_ID;
	/* The three low bits say of what kind an id is. */
	if (((clockid ^ self) & 7) != 0)
		return false;
	return clockid == self || is_id_of_caller(clockid);
}

#endif
