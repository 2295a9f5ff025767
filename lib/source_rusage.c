/* SPDX-License-Identifier: MIT */
/*
 * rusage - getrusage(RUSAGE_THREAD), brought up to date by a read of
 * CLOCK_THREAD_CPUTIME_ID just before.
 *
 * Total is that clock: exact, 1 ns. User and system are the split that the
 * kernel scales to the total (kernel/sched/cputime.c, cputime_adjust), in steps
 * of 1 us, up to date; the error is that of sampling at the timer tick. Without
 * the clock read a running thread would be up to one tick stale: getrusage
 * scales to the stored sum_exec_runtime, which the clock updates.
 */
#include <sys/resource.h>

#include "source.h"
#include "sys.h"

/*
 * getrusage cuts user and system to whole microseconds, which leaves up to 2 us
 * of the total to hand out. Handing them to user lets user shrink when system
 * completes a microsecond, so a thread's last answer bounds its next one: the
 * low halves of user and system, in one word that a signal handler cannot see
 * half-written. Zero is a bound too, and harmless; so are the bounds that a
 * child of fork inherits, by the limit of SPLIT_SLACK_NS.
 */
static __thread uint64_t last_split __attribute__((tls_model("initial-exec")));

/* No true bound lies further above what the kernel says than this. */
#define SPLIT_SLACK_NS INT64_C(1000000)

static int64_t timeval_ns(const struct timeval *tv)
{
	return tv->tv_sec * CPUCLOCK__NSEC_PER_SEC + tv->tv_usec * 1000;
}

/*
 * Reads clock and split of one instant. A tick between the two calls makes the
 * split newer than the clock, as does every call on a nohz_full CPU: then the
 * clock is read again.
 */
static int read_kernel(struct cpuclock_times *ret_times)
{
	int64_t total_ns = cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID);
	struct rusage usage;

	for (int tries = 0; tries < 4; tries++) {
		int64_t sum_ns;
		int err = cpuclock__getrusage(RUSAGE_THREAD, &usage);

		if (err)
			return err;
		sum_ns = timeval_ns(&usage.ru_utime) +
			 timeval_ns(&usage.ru_stime);
		if (sum_ns > total_ns)
			total_ns = cpuclock__clock_gettime(
				CLOCK_THREAD_CPUTIME_ID);
		if (total_ns < 0)
			return (int)total_ns;
		if (sum_ns <= total_ns && total_ns - sum_ns < SPLIT_SLACK_NS)
			break;
	}

	ret_times->total_ns = total_ns;
	ret_times->system_ns = timeval_ns(&usage.ru_stime);
	if (ret_times->system_ns > total_ns)
		ret_times->system_ns = total_ns;
	ret_times->user_ns = total_ns - ret_times->system_ns;
	return 0;
}

/* The last value whose low half this was, given about where it must lie. */
static int64_t bound_near(int64_t time_ns, uint32_t low)
{
	int64_t limit = time_ns + SPLIT_SLACK_NS;
	int64_t bound = (limit & ~INT64_C(0xffffffff)) | low;

	return bound > limit ? bound - (INT64_C(1) << 32) : bound;
}

/* Moves the split, not the total, so that neither part falls below its bound.
 */
static void keep_bounds(struct cpuclock_times *times, uint64_t last)
{
	int64_t user_min = bound_near(times->user_ns, (uint32_t)(last >> 32));
	int64_t system_min = bound_near(times->system_ns, (uint32_t)last);
	int64_t system_ns = times->system_ns;

	if (system_ns < system_min)
		system_ns = system_min;
	if (system_ns > times->total_ns - user_min)
		system_ns = times->total_ns - user_min;
	/* Bounds of this thread leave room for each other; others need not. */
	if (system_ns < system_min || system_ns < 0)
		return;

	times->system_ns = system_ns;
	times->user_ns = times->total_ns - system_ns;
}

int cpuclock__rusage_self(struct cpuclock_times *ret_times)
{
	uint64_t last = __atomic_load_n(&last_split, __ATOMIC_RELAXED);
	struct cpuclock_times times;
	uint64_t next;

	/* If a signal handler answered in between, its answer is the bound. */
	do {
		int err = read_kernel(&times);

		if (err)
			return err;
		keep_bounds(&times, last);
		next = (uint64_t)times.user_ns << 32 |
		       (uint32_t)times.system_ns;
	} while (!__atomic_compare_exchange_n(&last_split, &last, next, 0,
					      __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));

	*ret_times = times;
	return 0;
}

int cpuclock_self(struct cpuclock_times *ret_times)
{
	return cpuclock__rusage_self(ret_times);
}

int64_t cpuclock_user(void)
{
	struct cpuclock_times times;
	int err = cpuclock__rusage_self(&times);

	return err ? err : times.user_ns;
}

int64_t cpuclock_system(void)
{
	struct cpuclock_times times;
	int err = cpuclock__rusage_self(&times);

	return err ? err : times.system_ns;
}

static int64_t read_rusage(const struct cpuclock *clock)
{
	struct cpuclock_times times;
	int err = cpuclock__rusage_self(&times);

	if (err)
		return err;
	switch (clock->kind) {
	case CPUCLOCK_USER:
		return times.user_ns;
	case CPUCLOCK_SYSTEM:
		return times.system_ns;
	default:
		return times.total_ns;
	}
}

static const struct cpuclock__verdict *probe(void)
{
	static const struct cpuclock__verdict refused = {
		-EPERM, "getrusage(RUSAGE_THREAD) or clock_gettime(2) is "
			"refused, by a seccomp filter perhaps"};
	struct cpuclock_times times;

	return cpuclock__rusage_self(&times) == 0 ? &cpuclock__works : &refused;
}

static int64_t resolution(enum cpuclock_kind kind)
{
	return kind == CPUCLOCK_TOTAL ? 1 : 1000;
}

const struct cpuclock__source cpuclock__source_rusage = {
	.name = "rusage",
	.summary = "getrusage(RUSAGE_THREAD), made exact by a clock read",
	.targets = CPUCLOCK__BIT(CPUCLOCK_SELF),
	.kinds = CPUCLOCK__BIT(CPUCLOCK_TOTAL) | CPUCLOCK__BIT(CPUCLOCK_USER) |
		 CPUCLOCK__BIT(CPUCLOCK_SYSTEM),
	.system_calls = 2,
	.probe = probe,
	.read = read_rusage,
	.resolution = resolution,
};
