/* SPDX-License-Identifier: MIT */
/*
 * posix - clock_gettime(2) on the clock id of a thread or process.
 *
 * What pthread_getcpuclockid(3) gives, with the clock type in its low bits
 * (JDK 26). Total is CPUCLOCK_SCHED: exact, 1 ns, up to date also for a running
 * thread, whose run queue is locked for it. For a process other running threads
 * count as of their last tick or switch. Ticks is CPUCLOCK_VIRT: in steps of
 * the timer tick and up to one tick stale.
 */
#include <errno.h>
#include <pthread.h>

#include "clockid.h"
#include "source.h"
#include "sys.h"
#include "task.h"

#define TYPE_BITS 3U

static enum cpuclock_clockid_type type_of(enum cpuclock_kind kind)
{
	return kind == CPUCLOCK_TICKS ? CPUCLOCK_ID_VIRT : CPUCLOCK_ID_SCHED;
}

static clockid_t own_clockid(enum cpuclock_kind kind)
{
	clockid_t clockid;

	/* Asks the kernel nothing, and fails for no thread that runs. */
	if (pthread_getcpuclockid(pthread_self(), &clockid) != 0)
		return cpuclock__make_clockid(0, true, type_of(kind));
	return (clockid_t)(((uint32_t)clockid & ~TYPE_BITS) |
			   (uint32_t)type_of(kind));
}

static int64_t read_own(enum cpuclock_kind kind)
{
	int64_t time_ns = cpuclock__clock_gettime(own_clockid(kind));

	/* After a raw clone libc still has the TID of the parent. */
	if (time_ns == -EINVAL)
		return cpuclock__clock_gettime(
			cpuclock__make_clockid(0, true, type_of(kind)));
	return time_ns;
}

static int64_t read_posix(const struct cpuclock *clock)
{
	int64_t time_ns;

	if (clock->target == CPUCLOCK_SELF)
		return read_own(clock->kind);
	time_ns = cpuclock__clock_gettime(clock->clockid);
	if (time_ns == -EINVAL)
		return cpuclock__task_error(clock->target, clock->id, -EINVAL);
	return time_ns;
}

static int open_posix(struct cpuclock *clock)
{
	int64_t time_ns;

	clock->clockid = cpuclock__make_clockid(
		clock->id, clock->target == CPUCLOCK_THREAD,
		type_of(clock->kind));
	time_ns = read_posix(clock);
	return time_ns < 0 ? (int)time_ns : 0;
}

static const struct cpuclock__verdict *probe(void)
{
	static const struct cpuclock__verdict
		refused = {-EPERM, "clock_gettime(2) is refused, by a seccomp "
				   "filter perhaps"},
		unknown = {-EINVAL, "the kernel does not know clock ids of "
				    "single threads"};
	int64_t time_ns = cpuclock__clock_gettime(own_clockid(CPUCLOCK_TOTAL));

	if (time_ns >= 0)
		return &cpuclock__works;
	return time_ns == -EINVAL ? &unknown : &refused;
}

static int64_t resolution(enum cpuclock_kind kind)
{
	return cpuclock__clock_getres(
		cpuclock__make_clockid(0, true, type_of(kind)));
}

const struct cpuclock__source cpuclock__source_posix = {
	.name = "posix",
	.summary = "clock_gettime on the thread's or process's clock id",
	.targets = CPUCLOCK__BIT(CPUCLOCK_SELF) |
		   CPUCLOCK__BIT(CPUCLOCK_THREAD) |
		   CPUCLOCK__BIT(CPUCLOCK_PROCESS),
	.kinds = CPUCLOCK__BIT(CPUCLOCK_TOTAL) | CPUCLOCK__BIT(CPUCLOCK_TICKS),
	.system_calls = 1,
	.probe = probe,
	.open = open_posix,
	.read = read_posix,
	.resolution = resolution,
};
