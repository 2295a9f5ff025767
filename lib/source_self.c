/* SPDX-License-Identifier: MIT */
/*
 * self - clock_gettime(2) on a constant clock id of PID 0, the caller.
 *
 * The kernel skips the PID look-up that an id with a TID in it costs
 * (kernel/time/posix-cpu-timers.c, pid_for_clock). Total is
 * CLOCK_THREAD_CPUTIME_ID, exact, 1 ns, up to date. Ticks is CPUCLOCK_VIRT: in
 * steps of the timer tick and up to one tick stale.
 */
#include <errno.h>

#include "clockid.h"
#include "source.h"
#include "sys.h"

static clockid_t clockid_of(enum cpuclock_kind kind)
{
	if (kind == CPUCLOCK_TICKS)
		return cpuclock__make_clockid(0, true, CPUCLOCK_ID_VIRT);
	return CLOCK_THREAD_CPUTIME_ID;
}

static int64_t read_self(const struct cpuclock *clock)
{
	return cpuclock__clock_gettime(clock->clockid);
}

static int open_self(struct cpuclock *clock)
{
	int64_t time_ns;

	clock->clockid = clockid_of(clock->kind);
	time_ns = read_self(clock);
	return time_ns < 0 ? (int)time_ns : 0;
}

static const struct cpuclock__verdict *probe(void)
{
	static const struct cpuclock__verdict refused = {
		-EPERM,
		"clock_gettime(2) is refused, by a seccomp filter perhaps"};

	return cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID) >= 0
		       ? &cpuclock__works
		       : &refused;
}

static int64_t resolution(enum cpuclock_kind kind)
{
	return cpuclock__clock_getres(clockid_of(kind));
}

const struct cpuclock__source cpuclock__source_self = {
	.name = "self",
	.summary = "clock_gettime on a constant clock id, without PID look-up",
	.targets = CPUCLOCK__BIT(CPUCLOCK_SELF),
	.kinds = CPUCLOCK__BIT(CPUCLOCK_TOTAL) | CPUCLOCK__BIT(CPUCLOCK_TICKS),
	.system_calls = 1,
	.probe = probe,
	.open = open_self,
	.read = read_self,
	.resolution = resolution,
};
