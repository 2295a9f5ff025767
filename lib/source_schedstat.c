/* SPDX-License-Identifier: MIT */
/*
 * schedstat - open, read and parse /proc/PID/task/TID/schedstat on each read.
 *
 * Counts the exact total in nanoseconds (sum_exec_runtime), and is the only
 * source without privilege that does so for a thread of another process. The
 * kernel does not bring a running thread up to date for it: the value is as of
 * the last timer tick or switch (fs/proc/base.c, proc_pid_schedstat). The file
 * of a process tells of its main thread alone, so there is no process target.
 */
#include <errno.h>

#include "procfs.h"
#include "procparse.h"
#include "task.h"

static int read_schedstat(const char *path,
			  struct cpuclock__schedstat *ret_schedstat)
{
	char text[CPUCLOCK__PROCFS_SIZE];
	int length = cpuclock__procfs_read(path, text, sizeof(text));

	if (length < 0)
		return length;
	return cpuclock__parse_schedstat(text, (size_t)length, ret_schedstat);
}

static const struct cpuclock__verdict *probe(void)
{
	static const struct cpuclock__verdict
		absent = {-EOPNOTSUPP, "the kernel has no schedstat: no "
				       "CONFIG_SCHED_INFO"},
		zero = {-EOPNOTSUPP, "the kernel fills schedstat with zeros: "
				     "no CONFIG_SCHED_INFO"};
	const struct cpuclock__verdict *verdict = cpuclock__procfs_probe();
	struct cpuclock__schedstat schedstat;
	int err;

	if (verdict->status)
		return verdict;
	err = read_schedstat("/proc/thread-self/schedstat", &schedstat);
	if (err == -ENOENT)
		return &absent;
	if (!err && schedstat.cpu_ns == 0 && schedstat.switches == 0)
		return &zero;
	return cpuclock__procfs_verdict(err);
}

static int64_t read_total(const struct cpuclock *clock)
{
	struct cpuclock__schedstat schedstat;
	int err = read_schedstat(clock->path, &schedstat);

	if (err)
		return cpuclock__task_error(clock->target, clock->id, err);
	if (schedstat.cpu_ns > INT64_MAX)
		return -EBADMSG;
	return (int64_t)schedstat.cpu_ns;
}

static int open_schedstat(struct cpuclock *clock)
{
	int64_t time_ns;

	cpuclock__procfs_path(clock, "schedstat");
	time_ns = read_total(clock);
	return time_ns < 0 ? (int)time_ns : 0;
}

static int64_t resolution(enum cpuclock_kind kind)
{
	(void)kind;
	return 1;
}

const struct cpuclock__source cpuclock__source_schedstat = {
	.name = "schedstat",
	.summary = "open, read and parse /proc/PID/task/TID/schedstat",
	.targets = CPUCLOCK__BIT(CPUCLOCK_SELF) |
		   CPUCLOCK__BIT(CPUCLOCK_THREAD) |
		   CPUCLOCK__BIT(CPUCLOCK_FOREIGN),
	.kinds = CPUCLOCK__BIT(CPUCLOCK_TOTAL),
	.system_calls = 3,
	.probe = probe,
	.open = open_schedstat,
	.read = read_total,
	.resolution = resolution,
};
