/* SPDX-License-Identifier: MIT */
/*
 * The stopwatch of the benchmark: the cycle counter where its rate is constant
 * and it may be read, else CLOCK_MONOTONIC.
 */
#ifndef CPUCLOCK_TIMER_H
#define CPUCLOCK_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cycles.h"

struct timer {
	const char *name;
	bool uses_cycles;
	double ns_per_step; /* of the number that timer_read gives */
	double cost_ns;	    /* of one read, at best */
	double step_ns;	    /* in which it moves */
};

/* Chooses and calibrates the timer; takes some 20 ms. */
void timer_init(struct timer *timer);

static inline uint64_t timer_read(const struct timer *timer)
{
	struct timespec now;

	if (timer->uses_cycles)
		return cpuclock__cycles_ordered();
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
