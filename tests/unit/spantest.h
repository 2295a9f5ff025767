/* SPDX-License-Identifier: MIT */
/*
 * What the tests of spans share. Two kinds of truth: the kernel's clocks, with
 * a tolerance of what the library may be ahead of them; and the library's own
 * clock, read around each call of a span, which needs no tolerance, for it
 * never decreases.
 */
#ifndef CPUCLOCK_TESTS_SPANTEST_H
#define CPUCLOCK_TESTS_SPANTEST_H

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpuclock.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define MS INT64_C(1000000)

/* How far the library may be ahead of the kernel, at either end of a stretch */
#define TOLERANCE_NS (2 * MS)

/* ---- Checks that work in any thread -------------------------------------- */

/* cmocka's own may only be used in the thread that runs the test. */
static atomic_int failures;

static inline bool note_failure(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	failures++;
	return false;
}

#define CHECK(condition) \
	((condition) ? true : note_failure(__FILE__, __LINE__, #condition))

static inline bool check_equal(const char *file, int line, const char *what,
			       int64_t got, int64_t expected)
{
	if (got == expected)
		return true;
	fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what,
		(long long)got, (long long)expected);
	failures++;
	return false;
}

#define CHECK_EQUAL(got, expected) \
	check_equal(__FILE__, __LINE__, #got, got, expected)

static inline bool check_within(const char *file, int line, const char *what,
				int64_t got, int64_t low, int64_t high)
{
	if (got >= low && got <= high)
		return true;
	fprintf(stderr, "%s:%d: %s is %lld, not %lld to %lld\n", file, line,
		what, (long long)got, (long long)low, (long long)high);
	failures++;
	return false;
}

#define CHECK_WITHIN(got, low, high) \
	check_within(__FILE__, __LINE__, #got, got, low, high)

static inline int forget_failures(void **state)
{
	(void)state;
	failures = 0;
	return 0;
}

static inline int count_failures(void **state)
{
	(void)state;
	return failures ? -1 : 0;
}

/* ---- Time to be counted -------------------------------------------------- */

static inline int64_t kernel_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline int64_t own_ns(void)
{
	int64_t now = cpuclock_total();

	CHECK(now >= 0);
	return now;
}

static inline void burn(int64_t ns)
{
	int64_t end = kernel_ns() + ns;

	while (kernel_ns() < end) {
		for (volatile int i = 0; i < 1000; i++)
			;
	}
}

/* Some microseconds. */
static inline void spin(void)
{
	for (volatile int i = 0; i < 2000; i++)
		;
}

static inline void sleep_ns(int64_t ns)
{
	const struct timespec time = {ns / 1000000000, ns % 1000000000};

	nanosleep(&time, NULL);
}

static inline void on_other_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, arg), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- Calls that must succeed --------------------------------------------- */

static inline void start(struct cpuclock_span *span,
			 struct cpuclock_span *parent)
{
	CHECK_EQUAL(cpuclock_span_start(span, parent, 0), 0);
}

static inline int64_t stop(struct cpuclock_span *span)
{
	int64_t total_ns = cpuclock_span_stop(span);

	CHECK(total_ns >= 0);
	return total_ns;
}

static inline void stand(struct cpuclock_span *span)
{
	CHECK_EQUAL(cpuclock_span_pause(span), 0);
}

static inline void go_on(struct cpuclock_span *span)
{
	CHECK_EQUAL(cpuclock_span_resume(span), 0);
}

static inline struct cpuclock_span_times
times_of(const struct cpuclock_span *span)
{
	struct cpuclock_span_times times = {{-1, -1, -1}, {-1, -1, -1}};

	CHECK_EQUAL(cpuclock_span_read(span, &times), 0);
	CHECK(times.self.total_ns >= 0);
	CHECK(times.inclusive.total_ns >= times.self.total_ns);
	return times;
}

static inline int64_t self_of(const struct cpuclock_span *span)
{
	return times_of(span).self.total_ns;
}

static inline int64_t inclusive_of(const struct cpuclock_span *span)
{
	return times_of(span).inclusive.total_ns;
}

/* ---- What several programs do -------------------------------------------- */

struct leg {
	struct cpuclock_span *span;
	int64_t burn_ns;
	int64_t kernel_ns; /* used, around the leg */
};

static inline void *run_leg(void *arg)
{
	struct leg *leg = arg;
	int64_t kernel = kernel_ns();

	go_on(leg->span);
	burn(leg->burn_ns);
	stand(leg->span);
	leg->kernel_ns = kernel_ns() - kernel;
	return NULL;
}

static inline void *stop_it(void *arg)
{
	stop(arg);
	return NULL;
}

/* An error changes nothing, so the bytes are those of before. */
#define CHECK_REFUSED(call, span, error)                             \
	do {                                                         \
		struct cpuclock_span before_ = *(span);              \
		CHECK_EQUAL(call, error);                            \
		CHECK(memcmp(&before_, span, sizeof(before_)) == 0); \
	} while (0)

static inline void check_all_refused(struct cpuclock_span *span,
				     int error_of_stop, int error_of_pause,
				     int error_of_resume, int error_of_read)
{
	struct cpuclock_span_times times;
	struct cpuclock_span_times untouched;

	memset(&times, 0x5a, sizeof(times));
	untouched = times;
	CHECK_REFUSED(cpuclock_span_stop(span), span, error_of_stop);
	CHECK_REFUSED(cpuclock_span_pause(span), span, error_of_pause);
	CHECK_REFUSED(cpuclock_span_resume(span), span, error_of_resume);
	CHECK_REFUSED(cpuclock_span_read(span, &times), span, error_of_read);
	if (error_of_read)
		CHECK(memcmp(&times, &untouched, sizeof(times)) == 0);
}

static inline void *misuse(void *arg)
{
	check_all_refused(arg, -EXDEV, -EXDEV, -EALREADY, -EXDEV);
	return NULL;
}

/* Runs in a child; what it checks fails the test of its parent. */
static inline void in_child(pid_t (*make_child)(void), void (*run)(void *),
			    void *arg)
{
	int status = -1;
	pid_t pid = make_child();

	if (pid == 0) {
		failures = 0;
		run(arg);
		_exit(failures ? 1 : 0);
	}
	CHECK(pid > 0);
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	CHECK_EQUAL(status, 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, forget_failures, count_failures)

#endif
