/* SPDX-License-Identifier: MIT */
/* New processes and threads, signal handlers, and what runs before main. */
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "early.h"
#include "expect.h"

/* What a parent has used: a child has not, by the time it reads. */
#define PARENT_NS (40 * NS_PER_MS)

static void be_a_parent(void)
{
	clockid_t clocks[N_OWN];

	burn(PARENT_NS);
	own_clocks(clocks);
	for (size_t i = 0; i < N_OWN; i++)
		assert_true(libc_ns(clocks[i]) >= PARENT_NS);
}

/* Of a child, as its exit status. */
static int check_child(pid_t parent)
{
	struct rusage usage;

	/* First of all: the parent's clock is not the child's. */
	if (libc_ns(CLOCK_THREAD_CPUTIME_ID) >= PARENT_NS)
		return 10;
	if (libc_ns(CLOCK_ID(parent, 6)) != -EINVAL)
		return 11;
	if (getrusage(RUSAGE_THREAD, &usage) != 0 ||
	    timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime) >=
		    PARENT_NS)
		return 12;
	return check_own_time();
}

static void child_of_fork_is_told_its_own(void **state)
{
	pid_t parent = getpid(), pid;

	(void)state;
	be_a_parent();
	pid = fork();
	if (pid == 0)
		_exit(check_child(parent));
	assert_child(pid);
	assert_int_equal(check_own_time(), 0);
}

static void child_of_child_is_told_its_own(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pid_t parent = getpid();

		be_a_parent();
		pid = fork();
		if (pid == 0)
			_exit(check_child(parent));
		assert_child(pid);
		_exit(check_own_time());
	}
	assert_child(pid);
}

static void child_of_raw_clone_is_told_its_own(void **state)
{
	pid_t parent = getpid(), pid;

	(void)state;
	be_a_parent();
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(check_child(parent));
	assert_child(pid);
	assert_int_equal(check_own_time(), 0);
}

static void *clone_in_thread(void *argument)
{
	pid_t parent = gettid(), pid;

	(void)argument;
	/* By none of the thread's own ids: nobody knows them yet. */
	while (libc_ns(CLOCK_THREAD_CPUTIME_ID) < PARENT_NS)
		;
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(check_child(parent));
	assert_child(pid);
	return NULL;
}

static void child_of_raw_clone_in_a_new_thread_is_too(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, clone_in_thread, NULL),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/*
 * It runs on its parent's memory, and is told the parent's time for a
 * millisecond with the shim; from then on its own.
 */
static void child_of_vfork_is_told_its_own_later(void **state)
{
	pid_t pid;

	(void)state;
	be_a_parent();
	pid = vfork();
	if (pid == 0) {
		burn(2 * NS_PER_MS);
		_exit(libc_ns(CLOCK_THREAD_CPUTIME_ID) >= PARENT_NS);
	}
	assert_child(pid);
	assert_int_equal(check_own_time(), 0);
	assert_true(libc_ns(CLOCK_THREAD_CPUTIME_ID) >= PARENT_NS);
}

/* The first to ask for it must not leave it to its parent. */
static void child_of_vfork_may_use_its_own_id(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pid = vfork();
		if (pid == 0) {
			for (int i = 0; i < 3; i++) {
				if (libc_ns(CLOCK_ID(getpid(), 6)) < 0)
					_exit(19);
			}
			_exit(0);
		}
		assert_child(pid);
		if (libc_ns(CLOCK_ID(pid, 6)) != -EINVAL)
			_exit(20);
		_exit(check_own_time());
	}
	assert_child(pid);
}

static void spawned_program_is_told_its_own(void **state)
{
	char *arguments[] = {(char *)"test_processes", (char *)"--check", NULL};
	pid_t pid;

	(void)state;
	be_a_parent();
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
				     arguments, environ),
			 0);
	assert_child(pid);
}

static void *check_thread(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)check_own_time();
}

static void each_thread_is_told_its_own(void **state)
{
	pthread_t threads[8];

	(void)state;
	be_a_parent();
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, check_thread, NULL),
			0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *result;

		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_int_equal((intptr_t)result, 0);
	}
}

static atomic_int stage;

static void *be_watched(void *argument)
{
	(void)argument;
	burn(NS_PER_MS);
	stage = 1;
	while (stage == 1)
		sleep_ns(NS_PER_MS / 10);
	return NULL;
}

static void another_thread_is_read_by_its_id(void **state)
{
	clockid_t clockid;
	pthread_t thread;

	(void)state;
	be_a_parent();
	stage = 0;
	assert_int_equal(pthread_create(&thread, NULL, be_watched, NULL), 0);
	assert_int_equal(pthread_getcpuclockid(thread, &clockid), 0);
	while (stage == 0)
		sleep_ns(NS_PER_MS / 10);
	for (int i = 0; i < 1000; i++) {
		int64_t before_ns = kernel_ns(clockid);
		int64_t ns = libc_ns(clockid);

		assert_true(before_ns >= NS_PER_MS);
		assert_true(before_ns <= ns && ns <= kernel_ns(clockid));
	}
	stage = 2;
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- Signal handlers ------------------------------------------------------
 */

static volatile int64_t handled_ns, handled_usage_ns;
static volatile sig_atomic_t n_handled, n_failed;

static void handler(int number)
{
	int saved = errno;
	int64_t ns = libc_ns(CLOCK_THREAD_CPUTIME_ID);
	struct rusage usage;

	(void)number;
	n_failed += ns < handled_ns || getrusage(RUSAGE_THREAD, &usage) != 0 ||
		    timeval_ns(&usage.ru_utime) < handled_usage_ns;
	handled_ns = ns;
	handled_usage_ns = timeval_ns(&usage.ru_utime);
	n_handled++;
	errno = saved;
}

static void *raise_signals(void *argument)
{
	while (stage == 0) {
		pthread_kill(*(pthread_t *)argument, SIGUSR1);
		sleep_ns(20000);
	}
	return NULL;
}

static void handlers_and_code_agree(void **state)
{
	struct sigaction action = {.sa_handler = handler};
	pthread_t self = pthread_self(), thread;
	struct rusage usage;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	stage = 0;
	assert_int_equal(pthread_create(&thread, NULL, raise_signals, &self),
			 0);
	while (n_handled < 2000) {
		/* In this order: the next handler writes what it answers. */
		int64_t before_ns = handled_ns, ns;
		int64_t usage_ns = handled_usage_ns;

		ns = libc_ns(CLOCK_THREAD_CPUTIME_ID);
		assert_true(ns >= before_ns);
		assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
		assert_true(timeval_ns(&usage.ru_utime) >= usage_ns);
	}
	stage = 1;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(n_failed, 0);
}

/* ---- Before main, and after it --------------------------------------------
 */

static void constructors_of_earlier_libraries_are_answered(void **state)
{
	(void)state;
	assert_int_equal(early_failures, 0);
	assert_int_equal(early_calls, 3);
	assert_true(early_ns > 0);
	assert_true(early_ns <= libc_ns(CLOCK_THREAD_CPUTIME_ID));
}

static void read_at_exit(void)
{
	if (check_own_time() != 0)
		_exit(30);
}

static void destructors_are_answered(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		atexit(read_at_exit);
		exit(0);
	}
	assert_child(pid);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			constructors_of_earlier_libraries_are_answered),
		cmocka_unit_test(child_of_fork_is_told_its_own),
		cmocka_unit_test(child_of_child_is_told_its_own),
		cmocka_unit_test(child_of_raw_clone_is_told_its_own),
		cmocka_unit_test(child_of_raw_clone_in_a_new_thread_is_too),
		cmocka_unit_test(child_of_vfork_may_use_its_own_id),
		cmocka_unit_test(child_of_vfork_is_told_its_own_later),
		cmocka_unit_test(spawned_program_is_told_its_own),
		cmocka_unit_test(each_thread_is_told_its_own),
		cmocka_unit_test(another_thread_is_read_by_its_id),
		cmocka_unit_test(handlers_and_code_agree),
		cmocka_unit_test(destructors_are_answered),
	};

	if (argc > 1 && strcmp(argv[1], "--check") == 0)
		return check_own_time();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
