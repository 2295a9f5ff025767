/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "snapshot_task.h"

/* include/linux/sched.h: the bits that are shown, in the order of proc(5)'s
 * letters, and two that change what is shown. */
enum {
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_REPORT = 0x7f,
	TASK_NOLOAD = 0x400,
	TASK_IDLE = TASK_UNINTERRUPTIBLE | TASK_NOLOAD,
	TASK_RTLOCK_WAIT = 0x1000,
	TASK_FROZEN = 0x8000,
};

/* As task_state_index (include/linux/sched.h) has it. */
static char state_letter(uint32_t state)
{
	static const char letters[] = "RSDTtXZP";
	uint32_t shown = state & TASK_REPORT;

	if ((state & TASK_IDLE) == TASK_IDLE)
		return 'I';
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		shown = TASK_UNINTERRUPTIBLE;
	return letters[shown ? 32 - __builtin_clz(shown) : 0];
}

struct cpuclock_times cpuclock__scale(int64_t total_ns, uint64_t utime,
				      uint64_t stime, int64_t min_user_ns,
				      int64_t min_system_ns)
{
	struct cpuclock_times times = {.total_ns = total_ns};

	if (stime == 0)
		times.system_ns = 0;
	else if (utime == 0)
		times.system_ns = total_ns;
	else
		times.system_ns = (int64_t)((unsigned __int128)stime *
					    (uint64_t)total_ns /
					    ((unsigned __int128)utime + stime));
	if (times.system_ns < min_system_ns)
		times.system_ns = min_system_ns;
	if (times.system_ns > total_ns - min_user_ns)
		times.system_ns = total_ns - min_user_ns;
	times.user_ns = total_ns - times.system_ns;
	return times;
}

/* Behind the end of a name is what the record held before. The new one holds
 * zeros. */
static void copy_name(char *name, const char *comm)
{
	memcpy(name, comm, strnlen(comm, CPUCLOCK_NAME_SIZE - 1));
}

void cpuclock__task_thread(const struct snapshot_task *task,
			   int64_t max_extra_ns,
			   struct cpuclock_thread *ret_thread)
{
	int64_t extra_ns = (int64_t)task->extra_ns;
	int64_t user_ns = (int64_t)task->scaled_utime;
	int64_t system_ns = (int64_t)task->scaled_stime;
	int64_t total_ns;

	if (extra_ns > max_extra_ns)
		extra_ns = max_extra_ns;
	total_ns = (int64_t)task->exec_ns + extra_ns;
	/* What was shown already had happened. */
	if (total_ns < user_ns + system_ns)
		total_ns = user_ns + system_ns;
	*ret_thread = (struct cpuclock_thread){
		.pid = (pid_t)task->tgid,
		.tid = (pid_t)task->tid,
		.start_ns = (int64_t)task->start_ns,
		.times = cpuclock__scale(total_ns, task->utime, task->stime,
					 user_ns, system_ns),
		.wait_ns = (int64_t)task->run_delay,
		.voluntary_switches = (int64_t)task->nvcsw,
		.involuntary_switches = (int64_t)task->nivcsw,
		.cpu = (int)task->cpu,
		.state = state_letter(task->state),
	};
	copy_name(ret_thread->name, task->comm);
}

void cpuclock__task_process(const struct snapshot_task *task,
			    struct cpuclock_process *ret_process)
{
	*ret_process = (struct cpuclock_process){
		.pid = (pid_t)task->tgid,
		.parent_pid = (pid_t)task->ppid,
		.start_ns = (int64_t)task->process_start_ns,
		.ended_times = cpuclock__scale((int64_t)task->ended_exec_ns,
					       task->ended_utime,
					       task->ended_stime, 0, 0),
		.state = state_letter(task->state),
	};
	copy_name(ret_process->name, task->comm);
}
