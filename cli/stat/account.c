/* SPDX-License-Identifier: MIT */
/*
 * Differences of snapshots, added up for each thread and process.
 *
 * What a process has used by its own clock, less what those of its threads have
 * used that were seen, is the time of threads that ended unseen. Both sums are
 * kept as they are until they are shown: when a snapshot looks at a thread a
 * little earlier than at its process, the next one makes up for it.
 */
#include <errno.h>
#include <string.h>

#include "stat.h"

/* Start times of `proc` come in such steps. */
#define START_STEP_NS INT64_C(10000000)

/* ---- Processes */

static struct account_process *process_at(const struct account *account,
					  int64_t index)
{
	return (struct account_process *)account->processes.records + index;
}

/*
 * Index of the youngest process that had the thread's PID when it started; -1
 * if there is none, or only an earlier one than that of a main thread.
 */
static int64_t find_process(const struct account *account,
			    const struct cpuclock_thread *thread)
{
	pid_t pid = thread->pid;
	int64_t start_ns = thread->start_ns;
	const struct cpuclock_process *latest =
		cpuclock__list_find(&account->latest, pid, 0);
	int64_t index = latest ? latest->threads : -1;

	while (index >= 0 && process_at(account, index)->process.start_ns >
				     start_ns + START_STEP_NS)
		index = process_at(account, index)->older;
	if (index >= 0 && thread->tid == pid &&
	    start_ns > process_at(account, index)->process.start_ns +
			       START_STEP_NS)
		return -1;
	return index;
}

/* Remembers the process as the holder of its PID; *ret_older had it before. */
static int set_latest(struct account *account, pid_t pid, int64_t *ret_older)
{
	struct cpuclock_process *latest =
		cpuclock__list_find(&account->latest, pid, 0);
	struct cpuclock_process first = {
		.pid = pid, .threads = (int)account->processes.count};

	*ret_older = -1;
	if (!latest)
		return cpuclock__list_add(&account->latest, &first);
	*ret_older = latest->threads;
	latest->threads = first.threads;
	return 0;
}

/* The record of a process, a new one if need be; NULL if memory is short. */
static struct account_process *
open_process(struct account *account, const struct cpuclock_process *process)
{
	struct account_process first = {
		.process = *process,
		.seen = no_usage,
		.last_take = account->takes - 1,
		.foreign = account->closed,
	};
	struct account_process *found = cpuclock__list_find(
		&account->processes, process->pid, process->start_ns);

	if (found)
		return found;
	if (set_latest(account, process->pid, &first.older) ||
	    cpuclock__list_add(&account->processes, &first))
		return NULL;
	return process_at(account, (int64_t)account->processes.count - 1);
}

static int add_processes(struct account *account,
			 const struct cpuclock_snapshot *snapshot)
{
	const struct cpuclock_process *now, *before;

	for (size_t i = 0;
	     (now = cpuclock_snapshot_process(snapshot, i, &before)); i++) {
		struct account_process *process;

		if (now->pid == account->hidden)
			continue;
		process = open_process(account, now);
		if (!process)
			return -ENOMEM;
		process->process = *now;
		process->last_take = account->takes;
		process->latest = now->times;
		if (before)
			times_subtract(&process->latest, &before->times);
		times_add(&process->times, &process->latest);
		account->live_processes += !process->foreign;
	}
	return 0;
}

/* A thread whose process came and went between two snapshots. */
static struct account_process *
open_unseen_process(struct account *account,
		    const struct cpuclock_thread *thread)
{
	struct cpuclock_process process = {.pid = thread->pid,
					   .start_ns = thread->start_ns,
					   .state = thread->state};

	memcpy(process.name, thread->name, sizeof(process.name));
	return open_process(account, &process);
}

/* ---- Threads */

/*
 * Has it used more than its process, and more than they were looked at apart? A
 * thread that executes a program gets the TID and the start time of the main
 * thread (de_thread of fs/exec.c): its counters are not to be held against
 * those.
 */
static bool is_another(const struct account *account,
		       const struct account_process *process,
		       const struct usage *usage,
		       const struct cpuclock_thread *before)
{
	return before && before->tid == before->pid &&
	       process->last_take == account->takes &&
	       usage->times.total_ns > process->latest.total_ns +
					       account->spread_ns +
					       before->stale_ns;
}

static int add_thread(struct account *account,
		      const struct cpuclock_thread *now,
		      const struct cpuclock_thread *before, bool ended)
{
	struct account_thread first = {.thread = *now, .usage = no_usage};
	struct usage usage = usage_since(now, before);
	int64_t index = find_process(account, now);
	struct account_process *process;
	struct account_thread *thread;
	int err;

	process = index >= 0 ? process_at(account, index)
			     : open_unseen_process(account, now);
	err = cpuclock__list_add(&account->threads, &first);
	if (!process || (err && err != -EEXIST))
		return -ENOMEM;
	thread =
		cpuclock__list_find(&account->threads, now->tid, now->start_ns);
	if (is_another(account, process, &usage, before))
		usage_limit(&usage, process->latest.total_ns);
	thread->thread = *now;
	thread->ended = ended;
	thread->foreign = process->foreign;
	account->live_threads += !ended && !thread->foreign;
	usage_add(&thread->usage, &usage);
	usage_add(&process->seen, &usage);
	return 0;
}

/* Main threads first: by them it is known that a PID was given anew. */
static int add_ended(struct account *account,
		     const struct cpuclock_snapshot *snapshot, bool main)
{
	const struct cpuclock_thread *now, *before;
	int err = 0;

	for (size_t i = 0;
	     !err && (now = cpuclock_snapshot_ended(snapshot, i, &before));
	     i++) {
		if (now->pid != account->hidden &&
		    (now->tid == now->pid) == main)
			err = add_thread(account, now, before, true);
	}
	return err;
}

static int add_threads(struct account *account,
		       const struct cpuclock_snapshot *snapshot)
{
	const struct cpuclock_thread *now, *before;
	int err = 0;

	for (size_t i = 0;
	     !err && (now = cpuclock_snapshot_thread(snapshot, i, &before));
	     i++) {
		if (now->pid == account->hidden)
			continue;
		if (now->stale_ns > account->stale_ns)
			account->stale_ns = now->stale_ns;
		err = add_thread(account, now, before, false);
	}
	if (!err)
		err = add_ended(account, snapshot, true);
	return err ? err : add_ended(account, snapshot, false);
}

static void count_gone(struct account *account)
{
	account->gone = account->gone_unseen = 0;
	for (size_t i = 0; i < account->processes.count; i++) {
		const struct account_process *process =
			process_at(account, (int64_t)i);

		if (!account_has(account, process) ||
		    process->last_take == account->takes)
			continue;
		account->gone++;
		/* A zombie whose other threads work on uses more. */
		account->gone_unseen += process->process.state != 'Z' ||
					process->process.threads > 1;
	}
}

/* ---- Between files */

void account_init(struct account *account, pid_t hidden)
{
	*account = (struct account){
		.threads = {.record_size = sizeof(struct account_thread),
			    .id_offset = offsetof(struct cpuclock_thread, tid)},
		.processes = {.record_size = sizeof(struct account_process),
			      .id_offset =
				      offsetof(struct cpuclock_process, pid)},
		.latest = {.record_size = sizeof(struct cpuclock_process),
			   .id_offset = offsetof(struct cpuclock_process, pid)},
		.hidden = hidden,
	};
}

int account_begin(struct account *account,
		  const struct cpuclock_snapshot *snapshot, bool closed)
{
	const struct cpuclock_process *process;
	struct cpuclock_snapshot_info info;

	account->takes = account->first_take = 1;
	for (size_t i = 0;
	     (process = cpuclock_snapshot_process(snapshot, i, NULL)); i++) {
		struct account_process *opened = open_process(account, process);

		if (!opened)
			return -ENOMEM;
		opened->last_take = account->takes;
	}
	account->closed = closed;
	cpuclock_snapshot_info(snapshot, &info);
	account->knows_exits = info.knows_exits;
	account->begin_ns = info.time_ns;
	account->scan_ns = info.duration_ns;
	return 0;
}

bool account_has(const struct account *account,
		 const struct account_process *process)
{
	return !process->foreign && process->last_take >= account->first_take;
}

int account_add(struct account *account,
		const struct cpuclock_snapshot *snapshot)
{
	struct cpuclock_snapshot_info info;
	int err;

	cpuclock_snapshot_info(snapshot, &info);
	account->end_ns = info.time_ns;
	account->spread_ns = account->scan_ns + info.duration_ns;
	account->scan_ns = info.duration_ns;
	account->knows_exits = info.knows_exits;
	account->stale_ns = 0;
	account->live_threads = 0;
	account->live_processes = 0;
	account->takes++;
	err = add_processes(account, snapshot);
	if (!err)
		err = add_threads(account, snapshot);
	count_gone(account);
	return err;
}

void account_clear(struct account *account)
{
	for (size_t i = 0; i < account->processes.count; i++) {
		struct account_process *process =
			process_at(account, (int64_t)i);

		account->earlier_ns += account_process_times(process).total_ns;
		process->times = (struct cpuclock_times){0};
		process->seen = no_usage;
	}
	cpuclock__list_cut(&account->threads, 0);
	/* Of those that were asked for, it has to be known which they are. */
	if (!account->closed) {
		cpuclock__list_cut(&account->processes, 0);
		cpuclock__list_cut(&account->latest, 0);
	}
	account->first_take = account->takes;
	account->begin_ns = account->end_ns;
}

void account_free(struct account *account)
{
	cpuclock__list_free(&account->threads);
	cpuclock__list_free(&account->processes);
	cpuclock__list_free(&account->latest);
}

struct cpuclock_times
account_process_exited(const struct account_process *process)
{
	return usage_rest(&process->times, &process->seen.times);
}

/* Not its own clock's split, but one that the rows of its threads add up to. */
struct cpuclock_times
account_process_times(const struct account_process *process)
{
	struct cpuclock_times times = account_process_exited(process);

	times_add(&times, &process->seen.times);
	return times;
}
