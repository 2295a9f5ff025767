/* SPDX-License-Identifier: MIT */
/*
 * cpuclock_clockid_encode and _decode against the kernel's definition, against
 * libc's ids, and against each other.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpuclock.h"
#include "support.h"

#define STRANGE_ERRNO 4242

#define PID_LIMIT 4194304
#define FD_LIMIT  268435455

/* Every call leaves errno, and what ret_ points to unless it succeeds. */
static int encode(const struct cpuclock_clockid *id, clockid_t *ret_clockid)
{
	const clockid_t untouched = 0x5a5a5a5a;
	clockid_t clockid = untouched;
	int r;

	errno = STRANGE_ERRNO;
	r = cpuclock_clockid_encode(id, &clockid);
	assert_int_equal(errno, STRANGE_ERRNO);
	assert_true(r <= 0);
	if (r)
		assert_int_equal(clockid, untouched);
	else
		*ret_clockid = clockid;
	return r;
}

static int decode(clockid_t clockid, struct cpuclock_clockid *ret_id)
{
	struct cpuclock_clockid before;
	int r;

	memset(ret_id, 0xa5, sizeof(*ret_id));
	before = *ret_id;
	errno = STRANGE_ERRNO;
	r = cpuclock_clockid_decode(clockid, ret_id);
	assert_int_equal(errno, STRANGE_ERRNO);
	assert_true(r <= 0);
	if (r)
		assert_memory_equal(ret_id, &before, sizeof(before));
	return r;
}

static void assert_encodes(unsigned int type, int per_thread, int32_t value,
			   clockid_t expected)
{
	struct cpuclock_clockid id = {type, per_thread, value};
	clockid_t clockid = 0;

	assert_int_equal(encode(&id, &clockid), 0);
	assert_int_equal(clockid, expected);
}

static void refute_encodes(unsigned int type, int per_thread, int32_t value)
{
	struct cpuclock_clockid id = {type, per_thread, value};
	clockid_t clockid;
	int r;

	r = encode(&id, &clockid);
	if (r != -EINVAL)
		print_error("type %u, per_thread %d, value %d: %d\n", type,
			    per_thread, value, r);
	assert_int_equal(r, -EINVAL);
}

static void assert_decodes(clockid_t clockid, unsigned int type, int per_thread,
			   int32_t value)
{
	struct cpuclock_clockid id;

	assert_int_equal(decode(clockid, &id), 0);
	assert_int_equal(id.type, type);
	assert_int_equal(id.per_thread, per_thread);
	assert_int_equal(id.value, value);
}

static void refute_decodes(clockid_t clockid)
{
	struct cpuclock_clockid id;

	assert_int_equal(decode(clockid, &id), -EINVAL);
}

/* Written out: include/linux/posix-timers.h and what the kernel answers to. */
static const struct row {
	clockid_t clockid;
	enum cpuclock_clockid_type type;
	int per_thread;
	int32_t value;
} rows[] = {
	{-8, CPUCLOCK_ID_PROF, 0, 0},
	{-7, CPUCLOCK_ID_VIRT, 0, 0},
	{-6, CPUCLOCK_ID_SCHED, 0, 0},
	{-5, CPUCLOCK_ID_FD, 0, 0},
	{-4, CPUCLOCK_ID_PROF, 1, 0},
	{-3, CPUCLOCK_ID_VIRT, 1, 0},
	{-2, CPUCLOCK_ID_SCHED, 1, 0},
	{-16, CPUCLOCK_ID_PROF, 0, 1},
	{-10, CPUCLOCK_ID_SCHED, 1, 1},
	{-13, CPUCLOCK_ID_FD, 0, 1},
	{-10010, CPUCLOCK_ID_SCHED, 1, 1251},
	{-33554440, CPUCLOCK_ID_PROF, 0, PID_LIMIT},
	{-33554439, CPUCLOCK_ID_VIRT, 0, PID_LIMIT},
	{-33554438, CPUCLOCK_ID_SCHED, 0, PID_LIMIT},
	{-33554436, CPUCLOCK_ID_PROF, 1, PID_LIMIT},
	{-33554435, CPUCLOCK_ID_VIRT, 1, PID_LIMIT},
	{-33554434, CPUCLOCK_ID_SCHED, 1, PID_LIMIT},
	{INT_MIN + 3, CPUCLOCK_ID_FD, 0, FD_LIMIT},
};

static void ids_are_those_of_the_kernel(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		assert_encodes(row->type, row->per_thread, row->value,
			       row->clockid);
		assert_decodes(row->clockid, row->type, row->per_thread,
			       row->value);
	}
}

static void all_low_bits_set_is_no_clock(void **state)
{
	(void)state;
	refute_decodes(-1);
	refute_decodes(-9);
	refute_decodes(INT_MIN + 7);
}

/* Ids of the kernel that no process can have are taken apart all the same. */
static void value_above_the_pid_limit_is_decoded(void **state)
{
	(void)state;
	assert_decodes(-33554440 - 8, CPUCLOCK_ID_PROF, 0, PID_LIMIT + 1);
	assert_decodes(INT_MIN, CPUCLOCK_ID_PROF, 0, FD_LIMIT);
	assert_decodes(INT_MIN + 6, CPUCLOCK_ID_SCHED, 1, FD_LIMIT);
}

static void ids_of_the_caller_work(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].value || rows[i].type == CPUCLOCK_ID_FD)
			continue;
		if (kernel_ns(rows[i].clockid) == -EPERM)
			skip_because("clock_gettime(2) is refused");
		assert_true(kernel_ns(rows[i].clockid) >= 0);
	}
}

static void edges_go_there_and_back(void **state)
{
	static const int32_t edges[] = {
		0,     1,     2,     255,     256,	     32767,	32768,
		65535, 65536, 99999, 1 << 21, PID_LIMIT - 1, PID_LIMIT,
	};
	struct cpuclock_clockid id = {0, 0, 0}, back;
	unsigned int type;
	clockid_t clockid = 0;
	size_t i;

	(void)state;
	for (type = CPUCLOCK_ID_PROF; type <= CPUCLOCK_ID_FD; type++) {
		for (i = 0; i < 2 * ARRAY_SIZE(edges); i++) {
			id.type = type;
			id.per_thread = (int)i % 2;
			id.value = edges[i / 2];
			if (type == CPUCLOCK_ID_FD && id.per_thread)
				continue;
			assert_int_equal(encode(&id, &clockid), 0);
			assert_true(clockid < 0);
			assert_int_equal(decode(clockid, &back), 0);
			assert_int_equal(back.type, id.type);
			assert_int_equal(back.per_thread, id.per_thread);
			assert_int_equal(back.value, id.value);
		}
	}
}

/* What is true in C is 1 in an id: no bit above bit 2 may be touched. */
static void per_thread_is_any_number_but_zero(void **state)
{
	(void)state;
	assert_encodes(CPUCLOCK_ID_SCHED, 2, 1, -10);
	assert_encodes(CPUCLOCK_ID_SCHED, -1, 1, -10);
	assert_encodes(CPUCLOCK_ID_SCHED, INT_MIN, 1, -10);
	refute_encodes(CPUCLOCK_ID_FD, 2, 1);
	refute_encodes(CPUCLOCK_ID_FD, -1, 1);
}

static void ids_are_those_of_libc(void **state)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	clockid_t clockid;

	(void)state;
	assert_int_equal(pthread_getcpuclockid(pthread_self(), &clockid), 0);
	assert_encodes(CPUCLOCK_ID_SCHED, 1, tid, clockid);
	assert_decodes(clockid, CPUCLOCK_ID_SCHED, 1, tid);

	if (clock_getcpuclockid(getpid(), &clockid))
		skip_because("clock_getcpuclockid(3) fails");
	assert_encodes(CPUCLOCK_ID_SCHED, 0, getpid(), clockid);
	assert_int_equal(clock_getcpuclockid(1, &clockid), 0);
	assert_decodes(clockid, CPUCLOCK_ID_SCHED, 0, 1);
}

static void value_out_of_range_is_refused(void **state)
{
	static const int32_t values[] = {
		-1,
		-2,
		INT_MIN,
		INT_MIN + 1,
		PID_LIMIT + 1,
		PID_LIMIT * 2,
		FD_LIMIT,
		FD_LIMIT + 1,
		1 << 29,
		INT_MAX,
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		unsigned int type;

		for (type = CPUCLOCK_ID_PROF; type < CPUCLOCK_ID_FD; type++) {
			refute_encodes(type, 0, values[i]);
			refute_encodes(type, 1, values[i]);
		}
	}
}

static void descriptor_out_of_range_is_refused(void **state)
{
	(void)state;
	assert_encodes(CPUCLOCK_ID_FD, 0, PID_LIMIT + 1, -33554445);
	assert_encodes(CPUCLOCK_ID_FD, 0, FD_LIMIT, INT_MIN + 3);
	refute_encodes(CPUCLOCK_ID_FD, 0, FD_LIMIT + 1);
	refute_encodes(CPUCLOCK_ID_FD, 0, -1);
	refute_encodes(CPUCLOCK_ID_FD, 0, INT_MIN);
	refute_encodes(CPUCLOCK_ID_FD, 0, INT_MAX);
}

static void descriptor_of_a_thread_is_refused(void **state)
{
	(void)state;
	refute_encodes(CPUCLOCK_ID_FD, 1, 0);
	refute_encodes(CPUCLOCK_ID_FD, 1, 3);
	refute_encodes(CPUCLOCK_ID_FD, 1, FD_LIMIT);
}

static void type_of_no_enum_is_refused(void **state)
{
	static const int types[] = {-1, 4, 5, 6, 7, 8, 32, INT_MIN, INT_MAX};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		refute_encodes((unsigned int)types[i], 0, 1);
		refute_encodes((unsigned int)types[i], 1, 1);
		refute_encodes((unsigned int)types[i], 0, 0);
	}
}

/* Not through the wrapper, as there are 2^31 of them: every 257th and more. */
static void fixed_clocks_are_not_decoded(void **state)
{
	struct cpuclock_clockid id = {0, 0, 0};
	int64_t clockid;

	(void)state;
	for (clockid = 0; clockid < 4096; clockid++)
		refute_decodes((clockid_t)clockid);
	for (clockid = 0; clockid <= INT_MAX; clockid += 257) {
		if (cpuclock_clockid_decode((clockid_t)clockid, &id) != -EINVAL)
			fail_msg("%lld is decoded", (long long)clockid);
	}
	refute_decodes(INT_MAX);
	refute_decodes(INT_MAX - 1);
	assert_int_equal(id.value, 0);
}

/* Ids that go there and back, of a range; the rest must not be clocks. */
static unsigned int check_range(int64_t from, int64_t to, int32_t limit)
{
	unsigned int refused = 0;
	int64_t clockid;

	for (clockid = from; clockid < to; clockid++) {
		struct cpuclock_clockid id;
		clockid_t back = 0;

		if (cpuclock_clockid_decode((clockid_t)clockid, &id)) {
			if ((clockid & 7) != 7)
				fail_msg("%lld refused", (long long)clockid);
			refused++;
			continue;
		}
		if (id.type != CPUCLOCK_ID_FD && id.value > limit) {
			refute_encodes(id.type, id.per_thread, id.value);
			continue;
		}
		if (cpuclock_clockid_encode(&id, &back) || back != clockid)
			fail_msg("%lld becomes %d", (long long)clockid, back);
	}
	return refused;
}

static void all_ids_of_a_range_go_there_and_back(void **state)
{
	(void)state;
	assert_int_equal(check_range(-(1 << 20), 0, PID_LIMIT), 1 << 17);
	/* About the largest PID, and the end of what is negative. */
	assert_int_equal(
		check_range(-33554440 - 4096, -33554440 + 4096, PID_LIMIT),
		1024);
	assert_int_equal(check_range(INT_MIN, INT_MIN + 8192LL, PID_LIMIT),
			 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_those_of_the_kernel),
		cmocka_unit_test(all_low_bits_set_is_no_clock),
		cmocka_unit_test(value_above_the_pid_limit_is_decoded),
		cmocka_unit_test(ids_of_the_caller_work),
		cmocka_unit_test(edges_go_there_and_back),
		cmocka_unit_test(per_thread_is_any_number_but_zero),
		cmocka_unit_test(ids_are_those_of_libc),
		cmocka_unit_test(value_out_of_range_is_refused),
		cmocka_unit_test(descriptor_out_of_range_is_refused),
		cmocka_unit_test(descriptor_of_a_thread_is_refused),
		cmocka_unit_test(type_of_no_enum_is_refused),
		cmocka_unit_test(fixed_clocks_are_not_decoded),
		cmocka_unit_test(all_ids_of_a_range_go_there_and_back),
	};

	return cmocka_run_group_tests_name("clockid", tests, NULL, NULL);
}
