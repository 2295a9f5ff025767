/* SPDX-License-Identifier: MIT */
#include "snapshot_procfs.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	if (value < low)
		return low;
	return value > high ? high : value;
}

int64_t cpuclock__procfs_ns(uint64_t ticks, int64_t unit_ns)
{
	int64_t time_ns;

	return __builtin_mul_overflow(ticks, unit_ns, &time_ns) ? INT64_MAX
								: time_ns;
}

/* The kernel too calls all of it user time, if it has seen no tick. */
static int64_t system_by_ratio(int64_t total_ns,
			       const struct cpuclock__stat *stat)
{
	unsigned __int128 ticks = stat->system_ticks;

	if (ticks == 0)
		return 0;
	return (int64_t)((unsigned __int128)total_ns * ticks /
			 (ticks + stat->user_ticks));
}

struct cpuclock_times cpuclock__procfs_split(int64_t total_ns,
					     const struct cpuclock__stat *stat,
					     int64_t unit_ns)
{
	/* System time cut to units, and with what was cut off both times. */
	int64_t least =
		min(cpuclock__procfs_ns(stat->system_ticks, unit_ns), total_ns);
	int64_t most =
		total_ns -
		min(cpuclock__procfs_ns(stat->user_ticks, unit_ns), total_ns);
	/* One unit, for user as well, is more than either cut off. */
	int64_t slack = min(most - least, unit_ns);
	int64_t low = most - slack;
	int64_t high = least + slack;
	int64_t system_ns = system_by_ratio(total_ns, stat);

	/* They change places, if total is not of the same moment. */
	system_ns = low <= high ? clamp(system_ns, low, high)
				: clamp(system_ns, high, low);
	return (struct cpuclock_times){
		.total_ns = total_ns,
		.user_ns = total_ns - system_ns,
		.system_ns = system_ns,
	};
}

static int64_t ticks_ns(const struct cpuclock__stat *stat, int64_t unit_ns)
{
	uint64_t ticks;

	if (__builtin_add_overflow(stat->user_ticks, stat->system_ticks,
				   &ticks))
		return INT64_MAX;
	return cpuclock__procfs_ns(ticks, unit_ns);
}

struct cpuclock_times
cpuclock__procfs_thread_times(const struct cpuclock__procfs_task *task,
			      int64_t unit_ns)
{
	int64_t total_ns = (int64_t)task->schedstat.cpu_ns;

	if (total_ns == 0)
		total_ns = ticks_ns(&task->stat.times, unit_ns);
	return cpuclock__procfs_split(total_ns, &task->stat.times, unit_ns);
}

struct cpuclock_times
cpuclock__procfs_ended_times(int64_t total_ns,
			     const struct cpuclock__stat *stat,
			     const struct cpuclock_times *live, int64_t unit_ns)
{
	struct cpuclock_times all, ended = {0};

	if (total_ns < 0)
		total_ns = ticks_ns(stat, unit_ns);
	if (total_ns <= live->total_ns)
		return ended;
	all = cpuclock__procfs_split(total_ns, stat, unit_ns);
	ended.total_ns = total_ns - live->total_ns;
	ended.system_ns =
		clamp(all.system_ns - live->system_ns, 0, ended.total_ns);
	ended.user_ns = ended.total_ns - ended.system_ns;
	return ended;
}
