/* SPDX-License-Identifier: MIT */
/*
 * The calling thread's clock without a system call.
 *
 * A thread keeps an anchor: its CPU time and the cycle counter, read together
 * while its epoch held. While the epoch still holds, and for no longer than a
 * window, the time now is the anchor's and what the counter has advanced.
 */
#ifndef CPUCLOCK_FAST_H
#define CPUCLOCK_FAST_H

#include "epoch.h"
#include "source.h"

/* The longest time for which an anchor is carried forward. */
#define CPUCLOCK__WINDOW_NS 1000000

/* The contracts of cpuclock_total and cpuclock_self. */
int64_t cpuclock__fast_total(void);
int cpuclock__fast_self(struct cpuclock_times *ret_times);

/*
 * For tests and `cpuclock check`: a number that stays the same while the
 * calling thread's answers are carried forward from one anchor; 0 if it has
 * none.
 */
uint64_t cpuclock__fast_anchor(void);

#endif
