/* SPDX-License-Identifier: MIT */
/*
 * proc - open, read and parse /proc/PID/task/TID/stat on each read.
 *
 * The old way, as JDK up to 25 does it, and the only one that splits the time
 * of another thread. Counts the scaled split (kernel/sched/cputime.c,
 * cputime_adjust) in ticks of USER_HZ, 10 ms, cut off, so that short-lived
 * threads read as 0; total is the sum of the two. The kernel does not bring a
 * running thread up to date for it: up to one timer tick stale.
 */
#include <errno.h>

#include "procfs.h"
#include "procparse.h"
#include "sys.h"
#include "task.h"

static int read_stat(const char *path, struct cpuclock__stat *ret_stat)
{
	char text[CPUCLOCK__PROCFS_SIZE];
	int length = cpuclock__procfs_read(path, text, sizeof(text));

	if (length < 0)
		return length;
	return cpuclock__parse_stat(text, (size_t)length, ret_stat);
}

static const struct cpuclock__verdict *probe(void)
{
	const struct cpuclock__verdict *verdict = cpuclock__procfs_probe();
	struct cpuclock__stat stat;

	if (verdict->status)
		return verdict;
	return cpuclock__procfs_verdict(
		read_stat("/proc/thread-self/stat", &stat));
}

static int open_proc(struct cpuclock *clock)
{
	struct cpuclock__stat stat;
	int err;

	cpuclock__procfs_path(clock, "stat");
	err = read_stat(clock->path, &stat);
	if (err)
		return cpuclock__task_error(clock->target, clock->id, err);
	clock->start_ticks = stat.start_ticks;
	return 0;
}

static int64_t ticks_of(enum cpuclock_kind kind,
			const struct cpuclock__stat *stat, uint64_t *ret_ticks)
{
	switch (kind) {
	case CPUCLOCK_USER:
		*ret_ticks = stat->user_ticks;
		return 0;
	case CPUCLOCK_SYSTEM:
		*ret_ticks = stat->system_ticks;
		return 0;
	default:
		if (__builtin_add_overflow(stat->user_ticks, stat->system_ticks,
					   ret_ticks))
			return -EBADMSG;
		return 0;
	}
}

static int64_t read_proc(const struct cpuclock *clock)
{
	struct cpuclock__stat stat;
	uint64_t ticks;
	int64_t time_ns;
	int err = read_stat(clock->path, &stat);

	if (err)
		return cpuclock__task_error(clock->target, clock->id, err);
	/* Another start time: the id was given to a new thread. */
	if (clock->target != CPUCLOCK_SELF &&
	    stat.start_ticks != clock->start_ticks)
		return -ESRCH;
	if (ticks_of(clock->kind, &stat, &ticks) ||
	    __builtin_mul_overflow(ticks, cpuclock__procfs_tick_ns(), &time_ns))
		return -EBADMSG;
	return time_ns;
}

static int64_t resolution(enum cpuclock_kind kind)
{
	(void)kind;
	return cpuclock__procfs_tick_ns();
}

const struct cpuclock__source cpuclock__source_proc = {
	.name = "proc",
	.summary = "open, read and parse /proc/PID/task/TID/stat",
	.targets = CPUCLOCK__BIT(CPUCLOCK_SELF) |
		   CPUCLOCK__BIT(CPUCLOCK_THREAD) |
		   CPUCLOCK__BIT(CPUCLOCK_PROCESS) |
		   CPUCLOCK__BIT(CPUCLOCK_FOREIGN),
	.kinds = CPUCLOCK__BIT(CPUCLOCK_TOTAL) | CPUCLOCK__BIT(CPUCLOCK_USER) |
		 CPUCLOCK__BIT(CPUCLOCK_SYSTEM),
	.system_calls = 3,
	.probe = probe,
	.open = open_proc,
	.read = read_proc,
	.resolution = resolution,
};
