/* SPDX-License-Identifier: MIT */
/* getrusage. */
#include <string.h>
#include <sys/wait.h>

#include "expect.h"

static int64_t sum_ns(const struct rusage *usage)
{
	return timeval_ns(&usage->ru_utime) + timeval_ns(&usage->ru_stime);
}

static void times_never_decrease_and_are_in_microseconds(void **state)
{
	int64_t user_ns = 0, system_ns = 0;
	struct rusage usage;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
		assert_in_range(usage.ru_utime.tv_usec, 0, 999999);
		assert_in_range(usage.ru_stime.tv_usec, 0, 999999);
		assert_true(timeval_ns(&usage.ru_utime) >= user_ns);
		assert_true(timeval_ns(&usage.ru_stime) >= system_ns);
		user_ns = timeval_ns(&usage.ru_utime);
		system_ns = timeval_ns(&usage.ru_stime);
		if (i % 5000 == 0)
			burn(3 * NS_PER_MS);
	}
}

/* The kernel's own sum is behind by up to a tick: of that, nothing here. */
static void user_and_system_do_not_exceed_the_clock(void **state)
{
	struct rusage usage;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
		assert_true(sum_ns(&usage) <= libc_ns(CLOCK_THREAD_CPUTIME_ID));
	}
}

static void assert_ordered(const struct rusage *a, const struct rusage *b)
{
	assert_true(a->ru_maxrss <= b->ru_maxrss);
	assert_true(a->ru_ixrss == b->ru_ixrss);
	assert_true(a->ru_idrss == b->ru_idrss);
	assert_true(a->ru_isrss == b->ru_isrss);
	assert_true(a->ru_minflt <= b->ru_minflt);
	assert_true(a->ru_majflt <= b->ru_majflt);
	assert_true(a->ru_nswap == b->ru_nswap);
	assert_true(a->ru_inblock <= b->ru_inblock);
	assert_true(a->ru_oublock <= b->ru_oublock);
	assert_true(a->ru_msgsnd == b->ru_msgsnd);
	assert_true(a->ru_msgrcv == b->ru_msgrcv);
	assert_true(a->ru_nsignals == b->ru_nsignals);
	assert_true(a->ru_nvcsw <= b->ru_nvcsw);
	assert_true(a->ru_nivcsw <= b->ru_nivcsw);
}

static void every_other_field_is_the_kernels(void **state)
{
	static const int whose[] = {RUSAGE_THREAD, RUSAGE_SELF,
				    RUSAGE_CHILDREN};
	struct rusage before, usage, after;

	(void)state;
	sleep_ns(NS_PER_MS);
	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		memset(&usage, 0xee, sizeof(usage));
		assert_int_equal(kernel_usage(whose[i], &before), 0);
		assert_int_equal(getrusage(whose[i], &usage), 0);
		assert_int_equal(kernel_usage(whose[i], &after), 0);
		assert_ordered(&before, &usage);
		assert_ordered(&usage, &after);
	}
}

static void other_targets_are_untouched(void **state)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		burn(10 * NS_PER_MS);
		_exit(0);
	}
	assert_child(pid);
	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		struct rusage before, usage, after;

		assert_int_equal(kernel_usage(whose[i], &before), 0);
		assert_int_equal(getrusage(whose[i], &usage), 0);
		assert_int_equal(kernel_usage(whose[i], &after), 0);
		assert_true(timeval_ns(&before.ru_utime) <=
			    timeval_ns(&usage.ru_utime));
		assert_true(timeval_ns(&usage.ru_utime) <=
			    timeval_ns(&after.ru_utime));
		assert_true(timeval_ns(&before.ru_stime) <=
			    timeval_ns(&usage.ru_stime));
		assert_true(timeval_ns(&usage.ru_stime) <=
			    timeval_ns(&after.ru_stime));
	}
}

static void unknown_targets_are_EINVAL(void **state)
{
	static const int whose[] = {99, 2, -2, -99};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		struct rusage usage, same;

		memset(&usage, 0xee, sizeof(usage));
		memset(&same, 0xee, sizeof(same));
		errno = 0;
		assert_int_equal(getrusage(whose[i], &usage), -1);
		assert_int_equal(errno, EINVAL);
		assert_memory_equal(&usage, &same, sizeof(usage));
	}
}

static void bad_pointers_are_EFAULT(void **state)
{
	static const int whose[] = {RUSAGE_THREAD, RUSAGE_SELF,
				    RUSAGE_CHILDREN};
	void *pointers[N_BAD];

	(void)state;
	bad_pointers(pointers);
	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		for (size_t j = 0; j < N_BAD; j++) {
			errno = 0;
			assert_int_equal(getrusage(whose[i], pointers[j]), -1);
			assert_int_equal(errno, EFAULT);
		}
	}
}

static void errno_is_left_alone_on_success(void **state)
{
	struct rusage usage;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		errno = 77;
		assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
		assert_int_equal(errno, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_never_decrease_and_are_in_microseconds),
		cmocka_unit_test(user_and_system_do_not_exceed_the_clock),
		cmocka_unit_test(every_other_field_is_the_kernels),
		cmocka_unit_test(other_targets_are_untouched),
		cmocka_unit_test(unknown_targets_are_EINVAL),
		cmocka_unit_test(bad_pointers_are_EFAULT),
		cmocka_unit_test(errno_is_left_alone_on_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
