/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "timer.h"

#define CALIBRATION_NS	 5e6
#define MAX_DISAGREEMENT 1e-3

static double raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* One reading of both clocks, the best of some: an interruption between the
 * reads shows as a long distance. */
static void read_both(double *ret_ns, uint64_t *ret_cycles)
{
	double best = INFINITY;

	for (int i = 0; i < 10; i++) {
		double before = raw_ns();
		uint64_t cycles = cpuclock__cycles_ordered();
		double after = raw_ns();

		if (after - before < best) {
			best = after - before;
			*ret_ns = (before + after) / 2;
			*ret_cycles = cycles;
		}
	}
}

static double measure_ns_per_cycle(void)
{
	double start_ns, end_ns;
	uint64_t start, end;

	read_both(&start_ns, &start);
	while (raw_ns() - start_ns < CALIBRATION_NS)
		;
	read_both(&end_ns, &end);
	return (end_ns - start_ns) / (double)(end - start);
}

/* The best of some rounds: the first finds the code cold. */
static uint64_t measure_cost(const struct timer *timer, int reads)
{
	enum { ROUNDS = 20 };
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = timer_read(timer);
		uint64_t last = start;

		for (int i = 0; i < reads; i++)
			last = timer_read(timer);
		if (last - start < best)
			best = last - start;
	}
	return best;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest gap between the lengths of many short pieces of work. */
static uint64_t measure_step(const struct timer *timer)
{
	enum { LENGTHS = 2000 };
	static uint64_t lengths[LENGTHS];
	uint64_t step = UINT64_MAX;

	for (int i = 0; i < LENGTHS; i++) {
		uint64_t start = timer_read(timer);

		for (volatile int work = 0; work < i % 50; work++)
			;
		lengths[i] = timer_read(timer) - start;
	}
	qsort(lengths, LENGTHS, sizeof(lengths[0]), compare);
	for (int i = 1; i < LENGTHS; i++) {
		uint64_t gap = lengths[i] - lengths[i - 1];

		if (gap > 0 && gap < step)
			step = gap;
	}
	return step;
}

static void measure_itself(struct timer *timer)
{
	enum { READS = 1000 };

	timer->cost_ns =
		(double)measure_cost(timer, READS) * timer->ns_per_step / READS;
	timer->step_ns = (double)measure_step(timer) * timer->ns_per_step;
}

void timer_init(struct timer *timer)
{
	*timer = (struct timer){.name = "CLOCK_MONOTONIC", .ns_per_step = 1};
	if (cpuclock__cycles_usable()) {
		double first = measure_ns_per_cycle();
		double second = measure_ns_per_cycle();

		if (fabs(first - second) / second < MAX_DISAGREEMENT) {
			timer->name = "cycle counter";
			timer->uses_cycles = true;
			timer->ns_per_step = (first + second) / 2;
		}
	}
	measure_itself(timer);
}
