/* SPDX-License-Identifier: MIT */
/* proc - walk /proc/PID/task, with kept descriptors. To come. */
#include <errno.h>

#include "snapshot.h"

static int open_proc(struct cpuclock_snapshot *snapshot, const char **ret_why)
{
	(void)snapshot;
	*ret_why = "not written yet";
	return -EOPNOTSUPP;
}

static int take(struct cpuclock_snapshot *snapshot)
{
	(void)snapshot;
	return -EOPNOTSUPP;
}

static void close_proc(struct cpuclock_snapshot *snapshot)
{
	(void)snapshot;
}

const struct cpuclock__snapshot_source cpuclock__snapshot_proc = {
	.name = "proc",
	.summary = "read /proc/PID/task/TID/stat and schedstat of each thread",
	.open = open_proc,
	.take = take,
	.close = close_proc,
};
