/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_STATS_H
#define CPUCLOCK_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct stats {
	size_t count;
	double mean;
	double variance; /* of the sample; NaN for less than two values */
};

struct stats stats_of(const double *values, size_t count);

/*
 * Half the width of the 99.9 % confidence interval of the mean, by Student's t
 * as JMH gives it; NaN for less than two values.
 */
double stats_error(const struct stats *stats);

/* Do two means differ, by Welch's test, at p < 0.001? */
bool stats_differ(const struct stats *a, const struct stats *b);

#endif
