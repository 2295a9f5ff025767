/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "stats.h"

struct stats stats_of(const double *values, size_t count)
{
	struct stats stats = {.count = count, .variance = NAN};
	double squares = 0;

	for (size_t i = 0; i < count; i++)
		stats.mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - stats.mean) * (values[i] - stats.mean);
	if (count > 1)
		stats.variance = squares / (double)(count - 1);
	return stats;
}

/*
 * The two-sided 99.9 % quantile of Student's t. From the table; between its
 * entries the larger value, of fewer degrees, errs to the safe side.
 */
static double t_quantile(double degrees)
{
	static const struct {
		double degrees;
		double t;
	} table[] = {
		{1, 636.619}, {2, 31.599},   {3, 12.924}, {4, 8.610},
		{5, 6.869},   {6, 5.959},    {7, 5.408},  {8, 5.041},
		{9, 4.781},   {10, 4.587},   {11, 4.437}, {12, 4.318},
		{13, 4.221},  {14, 4.140},   {15, 4.073}, {16, 4.015},
		{17, 3.965},  {18, 3.922},   {19, 3.883}, {20, 3.850},
		{25, 3.725},  {30, 3.646},   {40, 3.551}, {60, 3.460},
		{120, 3.373}, {1000, 3.300},
	};
	size_t i = sizeof(table) / sizeof(table[0]) - 1;

	while (i > 0 && table[i].degrees > degrees)
		i--;
	return table[i].t;
}

double stats_error(const struct stats *stats)
{
	double n = (double)stats->count;

	return t_quantile(n - 1) * sqrt(stats->variance / n);
}

bool stats_differ(const struct stats *a, const struct stats *b)
{
	double error_a = a->variance / (double)a->count;
	double error_b = b->variance / (double)b->count;
	double error = error_a + error_b;
	double degrees;

	if (a->count < 2 || b->count < 2)
		return false;
	if (error == 0)
		return a->mean != b->mean;
	/* Welch and Satterthwaite's degrees of freedom. */
	degrees = error * error /
		  (error_a * error_a / (double)(a->count - 1) +
		   error_b * error_b / (double)(b->count - 1));
	return fabs(a->mean - b->mean) / sqrt(error) > t_quantile(degrees);
}
