/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_CLOCKID_H
#define CPUCLOCK_CLOCKID_H

#include <stdbool.h>

#include "cpuclock.h"

/* PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h). */
#define CPUCLOCK__PID_MAX 4194304

static inline bool cpuclock__pid_is_valid(pid_t pid)
{
	return pid > 0 && pid <= CPUCLOCK__PID_MAX;
}

/* The id for a PID or TID known to be valid, or for 0, the caller. */
static inline clockid_t cpuclock__make_clockid(pid_t pid, bool per_thread,
					       enum cpuclock_clockid_type type)
{
	return (clockid_t)(~(uint32_t)pid << 3 | (per_thread ? 4U : 0U) |
			   (uint32_t)type);
}

#endif
