/* SPDX-License-Identifier: MIT */
/*
 * The rate of the cycle counter.
 *
 * Public report: metrics-rs/quanta #99 (a calibration that drifts).
 */
#include "fasttest.h"

#include <pthread.h>

#include "cycles.h"

#define FIRST_RATES 2000

/* As the process starts: the rate is not known, or right, from the first on. */
static uint64_t first_rates[FIRST_RATES];
static int64_t first_at_ns, known_at_ns;

static void take_rates(int from, int to, long us)
{
	int i;

	for (i = from; i < to; i++) {
		first_rates[i] = cpuclock__cycles_rate();
		if (first_rates[i] && !known_at_ns)
			known_at_ns = wall_ns();
		spin_us(us);
	}
}

/* Runs before the constructors of the library, as it is linked here. */
__attribute__((constructor)) static void take_first_rates(void)
{
	first_at_ns = wall_ns();
	take_rates(0, FIRST_RATES / 4, 0);
}

static int64_t raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static uint64_t need_rate(void)
{
	uint64_t rate = 0;
	int i;

	if (!cpuclock__cycles_usable())
		SKIP("no cycle counter of a constant rate");
	for (i = 0; i < 1000 && rate == 0; i++) {
		rate = cpuclock__cycles_rate();
		sleep_us(100);
	}
	assert_true(rate != 0);
	return rate;
}

/* Of what the counter says of an interval, in millionths. */
static double error_of_interval(uint64_t rate, long us)
{
	int64_t before_ns = raw_ns();
	uint64_t before = cpuclock__cycles_ordered();
	uint64_t cycles;
	int64_t ns;

	sleep_us(us);
	cycles = cpuclock__cycles_ordered() - before;
	ns = raw_ns() - before_ns;
	return ((double)cycles * (double)rate / 4294967296.0 - (double)ns) /
	       (double)ns * 1e6;
}

static void rate_agrees_with_the_clock(void **state)
{
	uint64_t rate = need_rate();
	double best = 1e9;
	int i;

	(void)state;
	/* The best of some: one can be interrupted at its ends. */
	for (i = 0; i < 3 && best > 100; i++) {
		double error = error_of_interval(rate, 200000);

		error = error < 0 ? -error : error;
		if (error < best)
			best = error;
	}
	printf("# %.1f millionths from CLOCK_MONOTONIC_RAW over 200 ms\n",
	       best);
	assert_true(best < 1000);
}

static void rate_is_right_or_unknown_from_the_start(void **state)
{
	uint64_t rate = need_rate();
	unsigned int unknown = 0;
	int i;

	(void)state;
	for (i = 0; i < FIRST_RATES; i++) {
		int64_t apart = (int64_t)(first_rates[i] - rate);

		if (first_rates[i] == 0) {
			unknown++;
			continue;
		}
		if (llabs(apart) > (int64_t)(rate / 1000))
			fail_msg("rate %d is %llu, not %llu", i,
				 (unsigned long long)first_rates[i],
				 (unsigned long long)rate);
	}
	printf("# unknown %u times", unknown);
	if (known_at_ns)
		printf(", for %lld us",
		       (long long)(known_at_ns - first_at_ns) / 1000);
	printf("\n");
}

static void rate_stays_when_it_is_measured_again(void **state)
{
	uint64_t rate = need_rate();
	int i;

	(void)state;
	for (i = 0; i < 12; i++) {
		uint64_t again = cpuclock__cycles_rate();

		assert_true(again != 0);
		assert_true(llabs((int64_t)(again - rate)) <
			    (int64_t)(rate / 1000));
		sleep_us(100000);
	}
}

/* Ordered: no read is before one that ended earlier on the same CPU. */
static void counter_does_not_go_backwards(void **state)
{
	uint64_t last = 0;
	int i;

	(void)state;
	need_rate();
	for (i = 0; i < 1000000; i++) {
		uint64_t now = cpuclock__cycles_ordered();

		assert_true(now >= last);
		last = now;
	}
}

/* A child of fork is not kept waiting by a thread that is not in it. */
static void *ask_often(void *stops)
{
	while (!atomic_load((atomic_bool *)stops))
		cpuclock__cycles_rate();
	return NULL;
}

static void child_of_a_process_that_measures_knows_the_rate(void **state)
{
	static atomic_bool stops;
	pthread_t thread;
	int i, status;

	(void)state;
	need_rate();
	if (UNDER_TSAN)
		SKIP("the thread sanitizer forbids to fork so");
	fflush(stdout);
	stops = false;
	pthread_create(&thread, NULL, ask_often, &stops);
	for (i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(cpuclock__cycles_rate() == 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	stops = true;
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_is_right_or_unknown_from_the_start),
		cmocka_unit_test(rate_agrees_with_the_clock),
		cmocka_unit_test(rate_stays_when_it_is_measured_again),
		cmocka_unit_test(counter_does_not_go_backwards),
		cmocka_unit_test(
			child_of_a_process_that_measures_knows_the_rate),
	};

	take_rates(FIRST_RATES / 4, FIRST_RATES, 5);
	return cmocka_run_group_tests_name("cycles", tests, NULL, NULL);
}
