/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "clockid.h"
#include "sys.h"
#include "task.h"

/* A signal of number 0 is not sent: it only asks whether there is such a
 * task. A refusal (EPERM) means that there is. */
static bool exists(pid_t tid)
{
	return cpuclock__syscall(SYS_tkill, tid, 0, 0) != -ESRCH;
}

/* The thread clock of a TID is known within its own process only. */
static bool is_own_thread(pid_t tid)
{
	return cpuclock__clock_getres(cpuclock__make_clockid(
		       tid, true, CPUCLOCK_ID_SCHED)) >= 0;
}

/* clock_getres(2) takes the process clock of no thread but the leader; zombies
 * count (kernel/time/posix-cpu-timers.c, pid_for_clock). */
static bool is_process(pid_t pid)
{
	return cpuclock__clock_getres(cpuclock__make_clockid(
		       pid, false, CPUCLOCK_ID_SCHED)) != -EINVAL;
}

static bool have_proc(void)
{
	return cpuclock__syscall(SYS_faccessat, AT_FDCWD,
				 (long)"/proc/self/stat", F_OK) == 0;
}

int cpuclock__task_check(enum cpuclock_target target, pid_t id)
{
	switch (target) {
	case CPUCLOCK_SELF:
		return 0;
	case CPUCLOCK_THREAD:
		if (is_own_thread(id))
			return 0;
		return exists(id) ? -EPERM : -ESRCH;
	case CPUCLOCK_PROCESS:
		if (is_process(id))
			return 0;
		return exists(id) ? -EINVAL : -ESRCH;
	case CPUCLOCK_FOREIGN:
		return exists(id) ? 0 : -ESRCH;
	}
	return -EINVAL;
}

int cpuclock__task_error(enum cpuclock_target target, pid_t id, int err)
{
	int why;

	switch (err) {
	case -EINVAL:
		why = cpuclock__task_check(target, id);
		return why ? why : err;
	case -ESRCH:
	case -ENOENT:
		why = cpuclock__task_check(target, id);
		if (why)
			return why;
		return have_proc() ? -EACCES : -EOPNOTSUPP;
	case -EPERM:
		return -EACCES;
	default:
		return err;
	}
}
