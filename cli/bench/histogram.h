/* SPDX-License-Identifier: MIT */
/*
 * Log-linear histogram of times in ns: exact to 255 ns, from there on 128
 * buckets for each doubling, so that a bucket is at most 0.8 % wide. Minimum,
 * maximum, sum and sum of squares are exact. All zeros is an empty one; it
 * holds no pointer and can live in shared memory.
 */
#ifndef CPUCLOCK_HISTOGRAM_H
#define CPUCLOCK_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_HALF	  128
#define HISTOGRAM_MAX_LOG 40 /* 18 minutes; what is longer counts as that */
#define HISTOGRAM_BUCKETS \
	(2 * HISTOGRAM_HALF + (HISTOGRAM_MAX_LOG - 8) * HISTOGRAM_HALF)

struct histogram {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	double sum;
	double sum_of_squares;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_record(struct histogram *histogram, uint64_t value);
void histogram_add(struct histogram *histogram, const struct histogram *other);

/* Largest value of a bucket. */
uint64_t histogram_bucket_top(size_t bucket);

/*
 * The value that @percent of the samples do not exceed: the top of a bucket,
 * or the exact minimum and maximum at 0 and 100. 0 if there is no sample.
 */
uint64_t histogram_percentile(const struct histogram *histogram,
			      double percent);

#endif
