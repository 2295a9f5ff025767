/* SPDX-License-Identifier: MIT */
/*
 * rusage - getrusage(RUSAGE_THREAD), brought up to date by a read of
 * CLOCK_THREAD_CPUTIME_ID just before.
 *
 * Total is that clock: exact, 1 ns. User and system are the split that the
 * kernel scales to the total (kernel/sched/cputime.c, cputime_adjust), in steps
 * of 1 us (user takes what total has beyond), up to date; the error is that of
 * sampling at the timer tick. Without the clock read a running thread would be
 * up to one tick stale: getrusage scales to the stored sum_exec_runtime, which
 * the clock updates.
 */
#include "forkguard.h"
#include "source.h"
#include "split.h"
#include "sys.h"

static __thread struct {
	uint64_t bound;
	/* The answer that it is of, or one of just before. */
	int64_t user_ns;
	int64_t system_ns;
	uint64_t generation;
} last __attribute__((tls_model("initial-exec")));

int cpuclock__rusage_self(struct cpuclock_times *ret_times)
{
	uint64_t generation = cpuclock__enter_process();
	uint64_t bound;
	struct cpuclock_times times;
	struct rusage usage;

	/* What a child of fork has of its parent bounds nothing. */
	if (last.generation != generation) {
		last.bound = 0;
		last.generation = generation;
	}
	bound = __atomic_load_n(&last.bound, __ATOMIC_RELAXED);
	/* If a signal handler answered in between, its answer is the bound. */
	do {
		int64_t total_ns =
			cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID);
		int err;

		if (total_ns < 0)
			return (int)total_ns;
		err = cpuclock__getrusage(RUSAGE_THREAD, &usage);
		if (err)
			return err;
		times = cpuclock__split(total_ns, &usage);
		cpuclock__split_keep(&times, bound, last.user_ns,
				     last.system_ns);
	} while (!__atomic_compare_exchange_n(
		&last.bound, &bound, cpuclock__split_bound(&times), 0,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));

	last.user_ns = times.user_ns;
	last.system_ns = times.system_ns;
	*ret_times = times;
	return 0;
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
	return kind == CPUCLOCK_SYSTEM ? 1000 : 1;
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
