/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/stats against numbers of scipy 1.x: stats.t.ppf(0.9995, n - 1) and
 * stats.ttest_ind(a, b, equal_var=False).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stats.h"
#include "support.h"

static void assert_near(const char *what, double is, double expected,
			double relative)
{
	if (fabs(is - expected) <= fabs(expected) * relative)
		return;
	print_error("%s is %.12g, not %.12g\n", what, is, expected);
	fail();
}

static const struct sample {
	const char *name;
	size_t count;
	double values[8];
	double mean, variance, error;
} samples[] = {
	{"two", 2, {1, 2}, 1.5, 0.5, 318.30962438439485},
	{"three", 3, {1, 2, 3}, 2, 1, 18.243722665848406},
	{"eight",
	 8,
	 {2, 4, 4, 4, 5, 5, 7, 9},
	 5,
	 4.571428571428571,
	 4.087974934186704},
	{"five",
	 5,
	 {31.5, 30.9, 31.2, 31.8, 30.7},
	 31.22,
	 0.197,
	 1.7090960642687387},
	/* Sums of squares would lose all of the variance. */
	{"far from zero",
	 4,
	 {1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4},
	 1000000002.5,
	 1.6666666666666667,
	 8.342392337772152},
	{"negative", 3, {-1, -2, -3}, -2, 1, 18.243722665848406},
	{"alike", 3, {5, 5, 5}, 5, 0, 0},
};

static void mean_variance_and_error_are_those_of_scipy(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		const struct sample *sample = &samples[i];
		struct stats stats = stats_of(sample->values, sample->count);

		assert_int_equal(stats.count, sample->count);
		assert_near(sample->name, stats.mean, sample->mean, 1e-12);
		assert_near(sample->name, stats.variance, sample->variance,
			    1e-9);
		assert_near(sample->name, stats_error(&stats), sample->error,
			    1e-3);
	}
}

static void less_than_two_values_have_no_error(void **state)
{
	static const double one[] = {42};
	struct stats stats = stats_of(one, 1);

	(void)state;
	assert_int_equal(stats.count, 1);
	assert_true(stats.mean == 42);
	assert_true(isnan(stats.variance));
	assert_true(isnan(stats_error(&stats)));

	stats = stats_of(one, 0);
	assert_int_equal(stats.count, 0);
	assert_true(isnan(stats.variance));
	assert_true(isnan(stats_error(&stats)));
}

/* Of a variance of count, so that half the width is the quantile itself. */
static void quantiles_are_those_of_students_t(void **state)
{
	static const struct {
		size_t freedom;
		double t;
	} rows[] = {
		{1, 636.6192487687897},	   {2, 31.599054576445365},
		{3, 12.923978636687961},   {4, 8.610301581379522},
		{5, 6.868826625881276},	   {9, 4.780912585931217},
		{19, 3.883405852592131},   {24, 3.745398619290096},
		{29, 3.6594050194663748},  {99, 3.391528833363685},
		{999, 3.3002924403987666}, {99999, 3.290624032384949},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stats stats = {
			.count = rows[i].freedom + 1,
			.mean = 7,
			.variance = (double)(rows[i].freedom + 1),
		};

		/* Never less, and at most a little more. */
		assert_near("t", stats_error(&stats), rows[i].t * 1.014, 0.015);
	}
}

static const double base[] = {10, 11, 9, 10, 12, 8, 10, 11, 9, 10};
static const double narrow[] = {10.1, 10.3, 9.9, 10.0, 10.2};
static const double wide[] = {20, 35, 28, 40, 31};
static const double six[] = {1.0, 2.0, 1.5, 1.2, 1.8, 1.4};
static const double six_wider[] = {2.0, 3.5, 2.6, 2.2, 3.3, 2.9};

/* About p = 0.001: never above it, and well below for sure. p by scipy. */
static const struct pair {
	const double *a, *b;
	size_t a_count, b_count;
	double shift; /* of b */
	bool differ;
} pairs[] = {
	{base, base, 10, 10, 0, false},
	{base, base, 10, 10, 1, false},	    /* 0.0687 */
	{base, base, 10, 10, 2, false},	    /* 0.00111 */
	{base, base, 10, 10, -2, false},    /* 0.00111 */
	{base, base, 10, 10, 2.1, true},    /* 0.00072 */
	{base, base, 10, 10, -2.1, true},   /* 0.00072 */
	{base, base, 10, 10, 1000, true},   /* 0 */
	{narrow, wide, 5, 5, 7, false},	    /* 0.00119; Student's: 0.00004 */
	{narrow, wide, 5, 5, 10, true},	    /* 0.00080 */
	{six, six_wider, 6, 6, 0.1, false}, /* 0.00124 */
	{six, six_wider, 6, 6, 0.2, true},  /* 0.00079 */
};

static void means_differ_where_scipy_finds_p_below_a_thousandth(void **state)
{
	double shifted[10];
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct pair *pair = &pairs[i];
		struct stats a = stats_of(pair->a, pair->a_count), b;

		for (j = 0; j < pair->b_count; j++)
			shifted[j] = pair->b[j] + pair->shift;
		b = stats_of(shifted, pair->b_count);
		if (stats_differ(&a, &b) != pair->differ ||
		    stats_differ(&b, &a) != pair->differ)
			fail_msg("pair %zu", i);
	}
}

static void one_value_alone_is_no_proof(void **state)
{
	static const double one[] = {1e9};
	struct stats a = stats_of(base, ARRAY_SIZE(base));
	struct stats b = stats_of(one, 1);

	(void)state;
	assert_false(stats_differ(&a, &b));
	assert_false(stats_differ(&b, &a));
	assert_false(stats_differ(&b, &b));
}

/* The clock of a machine may be coarse: samples without any variance. */
static void values_all_alike_differ_if_their_means_do(void **state)
{
	static const double fives[] = {5, 5, 5}, sixes[] = {6, 6, 6};
	struct stats a = stats_of(fives, 3), b = stats_of(sixes, 3);

	(void)state;
	assert_false(stats_differ(&a, &a));
	assert_true(stats_differ(&a, &b));
	assert_true(stats_differ(&b, &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mean_variance_and_error_are_those_of_scipy),
		cmocka_unit_test(less_than_two_values_have_no_error),
		cmocka_unit_test(quantiles_are_those_of_students_t),
		cmocka_unit_test(
			means_differ_where_scipy_finds_p_below_a_thousandth),
		cmocka_unit_test(one_value_alone_is_no_proof),
		cmocka_unit_test(values_all_alike_differ_if_their_means_do),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
