/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "histogram.h"

#define EXACT_LIMIT (UINT64_C(2) * HISTOGRAM_HALF)

static size_t bucket_of(uint64_t value)
{
	const uint64_t limit = (UINT64_C(1) << HISTOGRAM_MAX_LOG) - 1;
	int shift;

	if (value > limit)
		value = limit;
	if (value < EXACT_LIMIT)
		return (size_t)value;
	/* Keeps the 8 leading bits. */
	shift = 63 - __builtin_clzll(value) - 7;
	return (size_t)shift * HISTOGRAM_HALF + (size_t)(value >> shift);
}

uint64_t histogram_bucket_top(size_t bucket)
{
	size_t shift;

	if (bucket < EXACT_LIMIT)
		return bucket;
	shift = bucket / HISTOGRAM_HALF - 1;
	return ((bucket - shift * HISTOGRAM_HALF + 1) << shift) - 1;
}

void histogram_record(struct histogram *histogram, uint64_t value)
{
	if (histogram->count == 0 || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->count++;
	histogram->sum += (double)value;
	histogram->sum_of_squares += (double)value * (double)value;
	histogram->buckets[bucket_of(value)]++;
}

void histogram_add(struct histogram *histogram, const struct histogram *other)
{
	if (other->count == 0)
		return;
	if (histogram->count == 0 || other->min < histogram->min)
		histogram->min = other->min;
	if (other->max > histogram->max)
		histogram->max = other->max;
	histogram->count += other->count;
	histogram->sum += other->sum;
	histogram->sum_of_squares += other->sum_of_squares;
	/* What is not touched takes no memory. */
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (other->buckets[i])
			histogram->buckets[i] += other->buckets[i];
	}
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
	/* 99.9 % of 1000 are 999, not 999.0000000001. */
	double wanted =
		ceil(percent * (double)histogram->count / 100 * (1 - 1e-12));
	uint64_t seen = 0;

	if (percent <= 0)
		return histogram->min;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen > 0 && (double)seen >= wanted) {
			uint64_t top = histogram_bucket_top(i);

			return top < histogram->max ? top : histogram->max;
		}
	}
	return histogram->max;
}
