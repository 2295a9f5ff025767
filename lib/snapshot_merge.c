/* SPDX-License-Identifier: MIT */
/*
 * What a source finds becomes a snapshot: nothing falls, and each thread that
 * ended is shown as such once.
 */
#include <errno.h>

#include "snapshot.h"

/* ---- Nothing falls ------------------------------------------------------- */

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * Raises times to @least, whose parts add up too, in the way in which the
 * kernel keeps its own split from falling (kernel/sched/cputime.c,
 * cputime_adjust).
 */
static void raise_times(struct cpuclock_times *times,
			const struct cpuclock_times *least)
{
	times->total_ns = max(times->total_ns, least->total_ns);
	times->system_ns = max(times->system_ns, least->system_ns);
	times->user_ns = times->total_ns - times->system_ns;
	if (times->user_ns < least->user_ns) {
		times->user_ns = least->user_ns;
		times->system_ns = times->total_ns - times->user_ns;
	}
}

/* The parts of a sum that has room have it too; else the sum stays. */
static void add_times(struct cpuclock_times *sum,
		      const struct cpuclock_times *times)
{
	int64_t total_ns;

	if (__builtin_add_overflow(sum->total_ns, times->total_ns, &total_ns))
		return;
	sum->total_ns = total_ns;
	sum->user_ns += times->user_ns;
	sum->system_ns += times->system_ns;
}

static void raise_thread(struct cpuclock_thread *thread,
			 const struct cpuclock_thread *before)
{
	if (!before)
		return;
	raise_times(&thread->times, &before->times);
	thread->wait_ns = max(thread->wait_ns, before->wait_ns);
	thread->voluntary_switches =
		max(thread->voluntary_switches, before->voluntary_switches);
	thread->involuntary_switches =
		max(thread->involuntary_switches, before->involuntary_switches);
}

/*
 * The times of a process are those of its live threads, which have been raised
 * already, and of the ended ones. Neither the latter nor the sum may fall, so
 * each part of the ended times is at least what either asks for.
 */
static void raise_process(struct cpuclock_process *process,
			  const struct cpuclock_process *before,
			  const struct cpuclock_times *live)
{
	struct cpuclock_times least;

	if (before) {
		least.user_ns = max(before->ended_times.user_ns,
				    before->times.user_ns - live->user_ns);
		least.system_ns =
			max(before->ended_times.system_ns,
			    before->times.system_ns - live->system_ns);
		least.total_ns = least.user_ns + least.system_ns;
		raise_times(&process->ended_times, &least);
	}
	process->times = process->ended_times;
	add_times(&process->times, live);
}

/* ---- What a source calls ------------------------------------------------- */

int cpuclock__snapshot_add_thread(struct cpuclock_snapshot *snapshot,
				  const struct cpuclock_thread *thread)
{
	struct cpuclock_thread raised = *thread;
	int err;

	raise_thread(&raised, cpuclock__snapshot_before(snapshot, thread->tid,
							thread->start_ns));
	err = cpuclock__list_add(&cpuclock__snapshot_next(snapshot)->threads,
				 &raised);
	if (err)
		return err == -EEXIST ? 0 : err;
	add_times(&snapshot->live, &raised.times);
	snapshot->live_threads++;
	return 0;
}

int cpuclock__snapshot_add_process(struct cpuclock_snapshot *snapshot,
				   const struct cpuclock_process *process)
{
	struct cpuclock_process raised = *process;
	int err;

	raise_process(&raised,
		      cpuclock__list_find(
			      &cpuclock__snapshot_last(snapshot)->processes,
			      process->pid, process->start_ns),
		      &snapshot->live);
	raised.threads = snapshot->live_threads;
	snapshot->live = (struct cpuclock_times){0};
	snapshot->live_threads = 0;
	err = cpuclock__list_add(&cpuclock__snapshot_next(snapshot)->processes,
				 &raised);
	return err == -EEXIST ? 0 : err;
}

int cpuclock__snapshot_add_ended(struct cpuclock_snapshot *snapshot,
				 const struct cpuclock_thread *thread)
{
	int err = cpuclock__list_add(&snapshot->pending, thread);
	struct cpuclock_thread *earlier, latest = *thread;

	if (err != -EEXIST)
		return err;
	/* Another end of the same one: execve(2) of another thread ended the
	 * main thread, and took its place and its id. */
	earlier = cpuclock__list_find(&snapshot->pending, thread->tid,
				      thread->start_ns);
	raise_thread(&latest, earlier);
	*earlier = latest;
	return 0;
}

struct cpuclock_times
cpuclock__snapshot_live(const struct cpuclock_snapshot *snapshot)
{
	return snapshot->live;
}

const struct cpuclock_thread *
cpuclock__snapshot_before(const struct cpuclock_snapshot *snapshot, pid_t tid,
			  int64_t start_ns)
{
	return cpuclock__list_find(&cpuclock__snapshot_last(snapshot)->threads,
				   tid, start_ns);
}

/* ---- Threads that ended -------------------------------------------------- */

/*
 * Those that the source has heard of and that are not shown any more. What was
 * ended in the last snapshot already, for it was not shown there, is dropped.
 * There is room for all.
 */
static void settle_pending(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock__generation *generation =
		cpuclock__snapshot_next(snapshot);
	struct cpuclock_thread *pending = snapshot->pending.records;
	size_t kept = 0;

	for (size_t i = 0; i < snapshot->pending.count; i++) {
		struct cpuclock_thread thread = pending[i];

		if (cpuclock__list_find(&generation->threads, thread.tid,
					thread.start_ns)) {
			pending[kept++] = thread;
			continue;
		}
		if (cpuclock__list_find(
			    &cpuclock__snapshot_last(snapshot)->ended,
			    thread.tid, thread.start_ns))
			continue;
		raise_thread(&thread,
			     cpuclock__snapshot_before(snapshot, thread.tid,
						       thread.start_ns));
		cpuclock__list_add(&generation->ended, &thread);
	}
	cpuclock__list_cut(&snapshot->pending, kept);
}

/* Those that are not shown any more and that nobody told of. */
static void settle_vanished(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock__generation *generation =
		cpuclock__snapshot_next(snapshot);
	const struct cpuclock_thread *thread =
		cpuclock__snapshot_last(snapshot)->threads.records;

	for (size_t n = cpuclock__snapshot_last(snapshot)->threads.count; n;
	     n--, thread++) {
		if (!cpuclock__list_find(&generation->threads, thread->tid,
					 thread->start_ns))
			/* Not, if it is there already. */
			cpuclock__list_add(&generation->ended, thread);
	}
}

int cpuclock__snapshot_settle_ended(struct cpuclock_snapshot *snapshot)
{
	int err = cpuclock__list_reserve(
		&cpuclock__snapshot_next(snapshot)->ended,
		snapshot->pending.count +
			cpuclock__snapshot_last(snapshot)->threads.count);

	if (err)
		return err;
	settle_pending(snapshot);
	settle_vanished(snapshot);
	return 0;
}
