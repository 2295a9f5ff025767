/* SPDX-License-Identifier: MIT */
/*
 * fast - an anchor carried forward by the cycle counter while an epoch holds.
 *
 * Total is CLOCK_THREAD_CPUTIME_ID, in steps of the counter: never behind the
 * anchor, and ahead of the kernel by no more than the window of 1 ms, in which
 * interrupts and stolen time go uncounted. User and system are the kernel's
 * split as of the anchor, carried forward by the proportion since the one
 * before. See fast.h; where no epoch works, `self` and `rusage` answer.
 */
#include "cycles.h"
#include "epoch.h"
#include "fast.h"

int64_t cpuclock_total(void)
{
	return cpuclock__fast_total();
}

int cpuclock_self(struct cpuclock_times *ret_times)
{
	return cpuclock__fast_self(ret_times);
}

int64_t cpuclock_user(void)
{
	struct cpuclock_times times;
	int err = cpuclock__fast_self(&times);

	return err ? err : times.user_ns;
}

int64_t cpuclock_system(void)
{
	struct cpuclock_times times;
	int err = cpuclock__fast_self(&times);

	return err ? err : times.system_ns;
}

const char *cpuclock_self_source(void)
{
	const struct cpuclock__epoch *epoch = cpuclock__epoch_chosen();

	return epoch ? epoch->name : cpuclock__source_self.name;
}

static int64_t read_fast(const struct cpuclock *clock)
{
	switch (clock->kind) {
	case CPUCLOCK_USER:
		return cpuclock_user();
	case CPUCLOCK_SYSTEM:
		return cpuclock_system();
	default:
		return cpuclock__fast_total();
	}
}

/* The step of the counter, some ten ns on arm64, rounded up; 1 ns at least. */
static int64_t resolution(enum cpuclock_kind kind)
{
	uint64_t rate = cpuclock__cycles_rate();

	(void)kind;
	return rate ? (int64_t)((rate - 1) >> CPUCLOCK__RATE_SHIFT) + 1 : 1;
}

const struct cpuclock__source cpuclock__source_fast = {
	.name = "fast",
	.summary = "an anchor carried forward by the cycle counter",
	.targets = CPUCLOCK__BIT(CPUCLOCK_SELF),
	.kinds = CPUCLOCK__BIT(CPUCLOCK_TOTAL) | CPUCLOCK__BIT(CPUCLOCK_USER) |
		 CPUCLOCK__BIT(CPUCLOCK_SYSTEM),
	.system_calls = 0,
	.probe = cpuclock__epoch_verdict,
	.verdict_changes = true,
	.read = read_fast,
	.resolution = resolution,
};
