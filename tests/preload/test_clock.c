/* SPDX-License-Identifier: MIT */
/* clock_gettime, clock_getres and their kin. */
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "expect.h"

static void own_clock_is_the_kernels(void **state)
{
	(void)state;
	assert_int_equal(check_own_time(), 0);
}

static void nanoseconds_are_below_a_second(void **state)
{
	(void)state;
	burn(1000 * NS_PER_MS + 5 * NS_PER_MS);
	for (int i = 0; i < 10000; i++) {
		struct timespec ts = {-1, -1};

		assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts),
				 0);
		assert_in_range(ts.tv_sec, 1, 1000);
		assert_in_range(ts.tv_nsec, 0, NS_PER_S - 1);
	}
}

static void errno_is_left_alone_on_success(void **state)
{
	clockid_t clocks[N_OWN];
	struct timespec ts;

	(void)state;
	own_clocks(clocks);
	for (int i = 0; i < 4000; i++) {
		errno = 77;
		assert_int_equal(clock_gettime(clocks[i % N_OWN], &ts), 0);
		assert_int_equal(errno, 77);
	}
}

static void sleep_is_not_counted(void **state)
{
	int64_t before_ns, after_ns;

	(void)state;
	for (int i = 0; i < 20; i++) {
		before_ns = libc_ns(CLOCK_THREAD_CPUTIME_ID);
		sleep_ns(10 * NS_PER_MS);
		after_ns = libc_ns(CLOCK_THREAD_CPUTIME_ID);
		assert_true(after_ns - before_ns < 5 * NS_PER_MS);
	}
}

static void bad_pointers_are_EFAULT(void **state)
{
	clockid_t clocks[N_OWN + 3];
	void *pointers[N_BAD];

	(void)state;
	own_clocks(clocks);
	clocks[N_OWN] = CLOCK_PROCESS_CPUTIME_ID;
	clocks[N_OWN + 1] = CLOCK_ID(getpid(), 2);
	clocks[N_OWN + 2] = CLOCK_ID(0, 5);
	bad_pointers(pointers);
	/* The page that this one begins in is a good one. */
	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID,
				       (struct timespec *)pointers[2] - 2),
			 0);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
			for (size_t j = 0; j < N_BAD; j++) {
				errno = 0;
				assert_int_equal(
					clock_gettime(clocks[i], pointers[j]),
					-1);
				assert_int_equal(errno, EFAULT);
			}
			/* Once more after an answer. */
			assert_true(libc_ns(clocks[i]) >= 0);
		}
	}
}

/* Two structures in a page, at its end, and across two. */
static void any_place_in_memory_will_do(void **state)
{
	static char memory[3 * 4096];

	(void)state;
	for (size_t at = 0; at + sizeof(struct timespec) < sizeof(memory);
	     at += 8) {
		struct timespec *ts = (struct timespec *)(memory + at);

		memset(memory, 0xee, sizeof(memory));
		assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, ts), 0);
		assert_in_range(ts->tv_nsec, 0, NS_PER_S - 1);
		if (at > 0)
			assert_int_equal((unsigned char)memory[at - 1], 0xee);
		assert_int_equal((unsigned char)memory[at + sizeof(*ts)], 0xee);
	}
}

static pid_t dead_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_child(pid);
	return pid;
}

/* Waits until its parent writes or ends. */
static pid_t other_process(int *ret_pipe)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		close(fds[1]);
		_exit(read(fds[0], &byte, 1) < 0);
	}
	close(fds[0]);
	*ret_pipe = fds[1];
	return pid;
}

static void unknown_clocks_are_EINVAL(void **state)
{
	int pipe;
	pid_t other = other_process(&pipe);
	pid_t dead = dead_process();
	const clockid_t clocks[] = {
		99,
		INT_MAX,
		INT_MIN,
		-1,
		CLOCK_ID(0, 7),
		CLOCK_ID(dead, 6),  /* a thread that has ended */
		CLOCK_ID(dead, 2),  /* a process that has */
		CLOCK_ID(other, 6), /* a thread of another process */
		CLOCK_ID(other, 4),
		CLOCK_ID(4194305, 6),
		CLOCK_ID(-7, 6),
		CLOCK_ID(gettid(), 7),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct timespec ts = {123, 456};

		errno = 0;
		assert_int_equal(kernel_ns(clocks[i]), -EINVAL);
		assert_int_equal(clock_gettime(clocks[i], &ts), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(ts.tv_sec, 123);
		assert_int_equal(ts.tv_nsec, 456);
	}
	close(pipe);
	assert_child(other);
}

/* Between what the kernel says before and afterwards. */
static void assert_passed_on(clockid_t clockid)
{
	for (int i = 0; i < 100; i++) {
		int64_t before_ns = kernel_ns(clockid);
		int64_t ns = libc_ns(clockid);
		int64_t after_ns = kernel_ns(clockid);

		assert_true(before_ns >= 0);
		assert_true(before_ns <= ns && ns <= after_ns);
	}
}

static void *burn_in_thread(void *argument)
{
	(void)argument;
	burn(5 * NS_PER_MS);
	return NULL;
}

static void process_clocks_are_untouched(void **state)
{
	clockid_t own, other;
	pthread_t thread;
	int pipe;
	pid_t pid = other_process(&pipe);

	(void)state;
	/* So that they differ from those of this thread. */
	assert_int_equal(pthread_create(&thread, NULL, burn_in_thread, NULL),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(clock_getcpuclockid(0, &own), 0);
	assert_int_equal(clock_getcpuclockid(pid, &other), 0);
	burn(2 * NS_PER_MS);
	assert_passed_on(CLOCK_PROCESS_CPUTIME_ID);
	assert_passed_on(own);
	assert_passed_on(CLOCK_ID(getpid(), 2));
	assert_passed_on(other);
	close(pipe);
	assert_child(pid);
}

static void tick_clocks_are_untouched(void **state)
{
	(void)state;
	burn(20 * NS_PER_MS);
	assert_passed_on(CLOCK_ID(0, 4));
	assert_passed_on(CLOCK_ID(0, 5));
	assert_passed_on(CLOCK_ID(gettid(), 4));
	assert_passed_on(CLOCK_ID(gettid(), 5));
}

/* The vDSO can be some ns off the system call, and steps of the coarse clocks
 * come between: a little more room. */
static void wall_clocks_are_untouched(void **state)
{
	static const clockid_t clocks[] = {
		CLOCK_REALTIME,
		CLOCK_MONOTONIC,
		CLOCK_MONOTONIC_RAW,
		CLOCK_REALTIME_COARSE,
		CLOCK_MONOTONIC_COARSE,
		CLOCK_BOOTTIME,
		CLOCK_TAI,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		int64_t before_ns = kernel_ns(clocks[i]);
		int64_t ns = libc_ns(clocks[i]);

		assert_true(before_ns - 1000 <= ns);
		assert_true(ns <= kernel_ns(clocks[i]) + 1000);
	}
}

static void resolution_is_1_ns(void **state)
{
	clockid_t clocks[N_OWN];

	(void)state;
	own_clocks(clocks);
	for (size_t i = 0; i < N_OWN; i++) {
		struct timespec ts = {-1, -1};

		assert_int_equal(clock_getres(clocks[i], &ts), 0);
		assert_int_equal(ts.tv_sec, 0);
		assert_int_equal(ts.tv_nsec, 1);
		assert_int_equal(clock_getres(clocks[i], NULL), 0);
	}
	errno = 0;
	assert_int_equal(clock_getres(99, NULL), -1);
	assert_int_equal(errno, EINVAL);
}

static void nobody_can_set_it_or_sleep_by_it(void **state)
{
	const struct timespec ts = {1, 0};

	(void)state;
	errno = 0;
	assert_int_equal(clock_settime(CLOCK_THREAD_CPUTIME_ID, &ts), -1);
	assert_true(errno == EINVAL || errno == EPERM);
	assert_int_equal(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &ts, NULL),
			 EINVAL);
}

static void a_timer_can_run_by_it(void **state)
{
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	struct itimerspec second = {.it_value = {1, 0}}, left;
	clockid_t clocks[N_OWN];
	timer_t timer;

	(void)state;
	own_clocks(clocks);
	assert_int_equal(timer_create(clocks[3], &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &second, NULL), 0);
	burn(20 * NS_PER_MS);
	assert_int_equal(timer_gettime(timer, &left), 0);
	assert_int_equal(left.it_value.tv_sec, 0);
	timer_delete(timer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_pointers_are_EFAULT),
		cmocka_unit_test(own_clock_is_the_kernels),
		cmocka_unit_test(nanoseconds_are_below_a_second),
		cmocka_unit_test(errno_is_left_alone_on_success),
		cmocka_unit_test(sleep_is_not_counted),
		cmocka_unit_test(any_place_in_memory_will_do),
		cmocka_unit_test(unknown_clocks_are_EINVAL),
		cmocka_unit_test(process_clocks_are_untouched),
		cmocka_unit_test(tick_clocks_are_untouched),
		cmocka_unit_test(wall_clocks_are_untouched),
		cmocka_unit_test(resolution_is_1_ns),
		cmocka_unit_test(nobody_can_set_it_or_sleep_by_it),
		cmocka_unit_test(a_timer_can_run_by_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
