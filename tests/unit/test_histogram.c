/* SPDX-License-Identifier: MIT */
/* cli/bench/histogram against a sorted array of all that was recorded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "histogram.h"
#include "support.h"

static struct histogram histogram, other;

static int clear(void **state)
{
	(void)state;
	memset(&histogram, 0, sizeof(histogram));
	memset(&other, 0, sizeof(other));
	return 0;
}

/* The bucket that a value is counted in. */
static size_t bucket_of(uint64_t value)
{
	size_t i, bucket = HISTOGRAM_BUCKETS;

	memset(&histogram, 0, sizeof(histogram));
	histogram_record(&histogram, value);
	assert_int_equal(histogram.count, 1);
	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!histogram.buckets[i])
			continue;
		assert_int_equal(histogram.buckets[i], 1);
		assert_int_equal(bucket, HISTOGRAM_BUCKETS);
		bucket = i;
	}
	assert_true(bucket < HISTOGRAM_BUCKETS);
	return bucket;
}

static void assert_bucket_fits(uint64_t value, size_t bucket)
{
	uint64_t top = histogram_bucket_top(bucket);

	if (top < value || (double)(top - value) > 0.008 * (double)value)
		fail_msg("%llu is in the bucket up to %llu",
			 (unsigned long long)value, (unsigned long long)top);
	if (value < 256)
		assert_int_equal(top, value);
	/* And in no larger bucket than it must be. */
	if (bucket)
		assert_true(histogram_bucket_top(bucket - 1) < value);
}

/* Counts up, with one histogram for all as each value has its own turn. */
static void small_values_are_in_buckets_that_fit(void **state)
{
	size_t bucket = 0;
	uint64_t value;

	(void)state;
	for (value = 0; value <= 100000; value++) {
		histogram_record(&histogram, value);
		while (bucket + 1 < HISTOGRAM_BUCKETS &&
		       histogram.buckets[bucket + 1])
			bucket++;
		assert_bucket_fits(value, bucket);
	}
	assert_int_equal(histogram.count, 100001);
}

static void values_about_powers_of_two_are_in_buckets_that_fit(void **state)
{
	int log;

	(void)state;
	for (log = 1; log < HISTOGRAM_MAX_LOG; log++) {
		uint64_t value = UINT64_C(1) << log;

		assert_bucket_fits(value - 1, bucket_of(value - 1));
		assert_bucket_fits(value, bucket_of(value));
		assert_bucket_fits(value + 1, bucket_of(value + 1));
		assert_bucket_fits(value + value / 2,
				   bucket_of(value + value / 2));
	}
}

static void bucket_tops_rise(void **state)
{
	size_t i;

	(void)state;
	assert_int_equal(histogram_bucket_top(0), 0);
	for (i = 1; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t below = histogram_bucket_top(i - 1);
		uint64_t top = histogram_bucket_top(i);

		assert_true(top > below);
		/* Its lowest and its highest value are its own. */
		assert_int_equal(bucket_of(below + 1), i);
		assert_int_equal(bucket_of(top), i);
	}
	assert_int_equal(histogram_bucket_top(HISTOGRAM_BUCKETS - 1),
			 (UINT64_C(1) << HISTOGRAM_MAX_LOG) - 1);
}

static void longer_than_the_longest_counts_as_that(void **state)
{
	static const uint64_t values[] = {
		UINT64_C(1) << HISTOGRAM_MAX_LOG,
		(UINT64_C(1) << HISTOGRAM_MAX_LOG) + 1,
		UINT64_C(1) << 41,
		UINT64_C(1) << 63,
		UINT64_MAX,
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(values); i++)
		assert_int_equal(bucket_of(values[i]), HISTOGRAM_BUCKETS - 1);
}

static void nothing_recorded_is_zero(void **state)
{
	(void)state;
	assert_int_equal(histogram_percentile(&histogram, 0), 0);
	assert_int_equal(histogram_percentile(&histogram, 50), 0);
	assert_int_equal(histogram_percentile(&histogram, 100), 0);
	histogram_add(&histogram, &other);
	assert_int_equal(histogram.count, 0);
	assert_int_equal(histogram_percentile(&histogram, 100), 0);
}

static void one_value_is_every_percentile(void **state)
{
	(void)state;
	histogram_record(&histogram, 123456);
	assert_int_equal(histogram_percentile(&histogram, 0), 123456);
	assert_int_equal(histogram_percentile(&histogram, 100), 123456);
	assert_bucket_fits(123456, bucket_of(123456));
	assert_true(histogram_percentile(&histogram, 50) >= 123456);
}

#define N_VALUES 20000

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Times as they are: a body, a tail, and some that are far out. */
static uint64_t draw(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407);
	if (*seed >> 54 == 0)
		return 1000000 + (*seed >> 20) % 1000000000;
	if (*seed >> 60 == 0)
		return 500 + (*seed >> 20) % 20000;
	return 40 + (*seed >> 20) % 300;
}

static void assert_percentiles(const uint64_t *sorted, size_t count)
{
	/* Of 100000: exact, as the percentages in binary are not. */
	static const size_t parts[] = {
		0,     10,    100,   1000,  5000,  10000, 25000, 33333, 50000,
		75000, 90000, 95000, 98000, 99000, 99900, 99990, 99999, 100000,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		double percent = (double)parts[i] / 1000;
		size_t rank = (count * parts[i] + 99999) / 100000;
		uint64_t exact = sorted[rank ? rank - 1 : 0];
		uint64_t ns = histogram_percentile(&histogram, percent);

		if (parts[i] == 0 || parts[i] == 100000) {
			assert_int_equal(ns, exact);
			continue;
		}
		if (ns < exact || (double)(ns - exact) > 0.008 * (double)exact)
			fail_msg("p%g of %zu is %llu, not %llu", percent, count,
				 (unsigned long long)ns,
				 (unsigned long long)exact);
		assert_true(ns <= histogram.max);
	}
}

static void percentiles_are_those_of_the_sorted_values(void **state)
{
	static uint64_t values[N_VALUES];
	static const size_t counts[] = {2, 3, 10, 99, 100, 101, 1000, N_VALUES};
	uint64_t seed = 1;
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		clear(NULL);
		for (j = 0; j < counts[i]; j++) {
			values[j] = draw(&seed);
			histogram_record(&histogram, values[j]);
		}
		qsort(values, counts[i], sizeof(values[0]), by_value);
		assert_percentiles(values, counts[i]);
	}
}

static void minimum_maximum_and_sums_are_exact(void **state)
{
	uint64_t seed = 2, min = UINT64_MAX, max = 0;
	double sum = 0, squares = 0;
	int i;

	(void)state;
	for (i = 0; i < N_VALUES; i++) {
		uint64_t value = draw(&seed);

		histogram_record(&histogram, value);
		sum += (double)value;
		squares += (double)value * (double)value;
		if (value < min)
			min = value;
		if (value > max)
			max = value;
	}
	assert_int_equal(histogram.count, N_VALUES);
	assert_int_equal(histogram.min, min);
	assert_int_equal(histogram.max, max);
	assert_true(fabs(histogram.sum - sum) <= 1e-12 * sum);
	assert_true(fabs(histogram.sum_of_squares - squares) <=
		    1e-12 * squares);
}

static void minimum_of_zero_is_a_minimum(void **state)
{
	(void)state;
	histogram_record(&histogram, 7);
	histogram_record(&histogram, 0);
	histogram_record(&histogram, 9);
	assert_int_equal(histogram.min, 0);
	assert_int_equal(histogram_percentile(&histogram, 0), 0);
	histogram_record(&other, 5);
	histogram_add(&histogram, &other);
	assert_int_equal(histogram.min, 0);
	histogram_add(&other, &histogram);
	assert_int_equal(other.min, 0);
	assert_int_equal(other.max, 9);
}

static void assert_same(const struct histogram *a, const struct histogram *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->min, b->min);
	assert_int_equal(a->max, b->max);
	assert_true(fabs(a->sum - b->sum) <= 1e-9 * b->sum);
	assert_true(fabs(a->sum_of_squares - b->sum_of_squares) <=
		    1e-9 * b->sum_of_squares);
	assert_memory_equal(a->buckets, b->buckets, sizeof(a->buckets));
}

static void adding_is_recording_all_of_both(void **state)
{
	static struct histogram whole;
	uint64_t seed = 3;
	int i;

	(void)state;
	memset(&whole, 0, sizeof(whole));
	for (i = 0; i < N_VALUES; i++) {
		uint64_t value = draw(&seed);

		histogram_record(&whole, value);
		histogram_record(i % 3 ? &histogram : &other, value);
	}
	histogram_add(&histogram, &other);
	assert_same(&histogram, &whole);
}

static void adding_to_or_from_an_empty_one_changes_nothing(void **state)
{
	static struct histogram copy;

	(void)state;
	histogram_record(&histogram, 3);
	histogram_record(&histogram, 300000);
	copy = histogram;
	histogram_add(&histogram, &other);
	assert_same(&histogram, &copy);
	histogram_add(&other, &histogram);
	assert_same(&other, &copy);
}

#define TEST(function) cmocka_unit_test_setup(function, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(small_values_are_in_buckets_that_fit),
		TEST(values_about_powers_of_two_are_in_buckets_that_fit),
		TEST(bucket_tops_rise),
		TEST(longer_than_the_longest_counts_as_that),
		TEST(nothing_recorded_is_zero),
		TEST(one_value_is_every_percentile),
		TEST(percentiles_are_those_of_the_sorted_values),
		TEST(minimum_maximum_and_sums_are_exact),
		TEST(minimum_of_zero_is_a_minimum),
		TEST(adding_is_recording_all_of_both),
		TEST(adding_to_or_from_an_empty_one_changes_nothing),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
