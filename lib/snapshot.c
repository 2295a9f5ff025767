/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clockid.h"
#include "snapshot.h"
#include "sys.h"

/* Fastest first: the order in which the best one is looked for. */
static const struct cpuclock__snapshot_source *const sources[] = {
	&cpuclock__snapshot_proc,
};

#define N_SOURCES     (sizeof(sources) / sizeof(sources[0]))
#define N_GENERATIONS 3
#define ALL_FLAGS     (CPUCLOCK_SNAPSHOT_DESCENDANTS | CPUCLOCK_SNAPSHOT_EXITS)

/* ---- Generations: the snapshot before, the last one, the next ------------ */

static const struct cpuclock__generation *
before_last(const struct cpuclock_snapshot *snapshot)
{
	return &snapshot->generations[(snapshot->now + N_GENERATIONS - 1) %
				      N_GENERATIONS];
}

static const struct cpuclock__generation *
last(const struct cpuclock_snapshot *snapshot)
{
	return &snapshot->generations[snapshot->now];
}

static struct cpuclock__generation *next(struct cpuclock_snapshot *snapshot)
{
	return &snapshot->generations[(snapshot->now + 1) % N_GENERATIONS];
}

static void list_init_threads(struct cpuclock__list *list)
{
	list->record_size = sizeof(struct cpuclock_thread);
	list->id_offset = offsetof(struct cpuclock_thread, tid);
}

static void init(struct cpuclock_snapshot *snapshot)
{
	for (size_t i = 0; i < N_GENERATIONS; i++) {
		struct cpuclock__generation *generation =
			&snapshot->generations[i];

		list_init_threads(&generation->threads);
		list_init_threads(&generation->ended);
		generation->processes.record_size =
			sizeof(struct cpuclock_process);
		generation->processes.id_offset =
			offsetof(struct cpuclock_process, pid);
	}
	list_init_threads(&snapshot->pending);
}

static const void *at(const struct cpuclock__list *list, size_t index)
{
	return index < list->count
		       ? (const char *)list->records + index * list->record_size
		       : NULL;
}

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
	err = cpuclock__list_add(&next(snapshot)->threads, &raised);
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
		      cpuclock__list_find(&last(snapshot)->processes,
					  process->pid, process->start_ns),
		      &snapshot->live);
	raised.threads = snapshot->live_threads;
	snapshot->live = (struct cpuclock_times){0};
	snapshot->live_threads = 0;
	err = cpuclock__list_add(&next(snapshot)->processes, &raised);
	return err == -EEXIST ? 0 : err;
}

int cpuclock__snapshot_add_ended(struct cpuclock_snapshot *snapshot,
				 const struct cpuclock_thread *thread)
{
	int err = cpuclock__list_add(&snapshot->pending, thread);

	return err == -EEXIST ? 0 : err;
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
	return cpuclock__list_find(&last(snapshot)->threads, tid, start_ns);
}

/* ---- Threads that ended -------------------------------------------------- */

/*
 * Those that the source has heard of and that are not shown any more. What was
 * ended in the last snapshot already, for it was not shown there, is dropped.
 * There is room for all.
 */
static void settle_pending(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock__generation *generation = next(snapshot);
	struct cpuclock_thread *pending = snapshot->pending.records;
	size_t kept = 0;

	for (size_t i = 0; i < snapshot->pending.count; i++) {
		struct cpuclock_thread thread = pending[i];

		if (cpuclock__list_find(&generation->threads, thread.tid,
					thread.start_ns)) {
			pending[kept++] = thread;
			continue;
		}
		if (cpuclock__list_find(&last(snapshot)->ended, thread.tid,
					thread.start_ns))
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
	struct cpuclock__generation *generation = next(snapshot);
	const struct cpuclock_thread *thread = last(snapshot)->threads.records;

	for (size_t n = last(snapshot)->threads.count; n; n--, thread++) {
		if (!cpuclock__list_find(&generation->threads, thread->tid,
					 thread->start_ns))
			/* Not, if it is there already. */
			cpuclock__list_add(&generation->ended, thread);
	}
}

static int settle_ended(struct cpuclock_snapshot *snapshot)
{
	int err = cpuclock__list_reserve(&next(snapshot)->ended,
					 snapshot->pending.count +
						 last(snapshot)->threads.count);

	if (err)
		return err;
	settle_pending(snapshot);
	settle_vanished(snapshot);
	return 0;
}

/* ---- Public calls -------------------------------------------------------- */

/* The step of CPUCLOCK_VIRT, whatever it counts, is the timer tick. */
static int64_t tick_ns(void)
{
	int64_t tick = cpuclock__clock_getres(
		cpuclock__make_clockid(0, true, CPUCLOCK_ID_VIRT));

	return tick > 0 ? tick : cpuclock__clock_getres(CLOCK_MONOTONIC_COARSE);
}

static const struct cpuclock__snapshot_source *find_source(const char *name)
{
	for (size_t i = 0; name && i < N_SOURCES; i++) {
		if (strcmp(sources[i]->name, name) == 0)
			return sources[i];
	}
	return NULL;
}

static int open_source(struct cpuclock_snapshot *snapshot,
		       const struct cpuclock__snapshot_source *source,
		       const char **ret_why)
{
	snapshot->source = source;
	snapshot->info = (struct cpuclock_snapshot_info){
		.source = source->name,
		.tick_ns = tick_ns(),
	};
	return source->open(snapshot, ret_why);
}

/* The first that works, or -errno of the last. */
static int open_best(struct cpuclock_snapshot *snapshot)
{
	const char *why;
	int err = -EOPNOTSUPP;

	for (size_t i = 0; err && i < N_SOURCES; i++)
		err = open_source(snapshot, sources[i], &why);
	return err;
}

static int check_arguments(const pid_t *pids, size_t n_pids, const char *name,
			   unsigned int flags)
{
	if (flags & ~(unsigned int)ALL_FLAGS ||
	    (flags & CPUCLOCK_SNAPSHOT_DESCENDANTS && n_pids == 0))
		return -EINVAL;
	for (size_t i = 0; i < n_pids; i++) {
		if (!pids || !cpuclock__pid_is_valid(pids[i]))
			return -EINVAL;
	}
	return name && !find_source(name) ? -ENOENT : 0;
}

static int open_snapshot(const pid_t *pids, size_t n_pids, const char *name,
			 unsigned int flags,
			 struct cpuclock_snapshot **ret_snapshot)
{
	struct cpuclock_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	const char *why;
	int err = -ENOMEM;

	if (!snapshot)
		return -ENOMEM;
	init(snapshot);
	snapshot->n_pids = n_pids;
	snapshot->flags = flags;
	snapshot->pids = calloc(n_pids ? n_pids : 1, sizeof(*pids));
	if (snapshot->pids) {
		if (n_pids)
			memcpy(snapshot->pids, pids, n_pids * sizeof(*pids));
		err = name ? open_source(snapshot, find_source(name), &why)
			   : open_best(snapshot);
	}
	if (err) {
		free(snapshot->pids);
		free(snapshot);
		return err;
	}
	*ret_snapshot = snapshot;
	return 0;
}

int cpuclock_snapshot_open(const pid_t *pids, size_t n_pids, const char *name,
			   unsigned int flags,
			   struct cpuclock_snapshot **ret_snapshot)
{
	int saved = errno;
	int err = check_arguments(pids, n_pids, name, flags);

	if (!err)
		err = open_snapshot(pids, n_pids, name, flags, ret_snapshot);
	errno = saved;
	return err;
}

int cpuclock_snapshot_take(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock__generation *generation = next(snapshot);
	int64_t begin_ns = cpuclock__clock_gettime(CLOCK_MONOTONIC);
	int64_t end_ns;
	int saved = errno;
	int err;

	cpuclock__list_cut(&generation->threads, 0);
	cpuclock__list_cut(&generation->processes, 0);
	cpuclock__list_cut(&generation->ended, 0);
	snapshot->live = (struct cpuclock_times){0};
	snapshot->live_threads = 0;
	err = snapshot->source->take(snapshot);
	end_ns = cpuclock__clock_gettime(CLOCK_MONOTONIC);
	if (!err)
		err = settle_ended(snapshot);
	errno = saved;
	if (err)
		return err;

	snapshot->info.time_ns = begin_ns + (end_ns - begin_ns) / 2;
	snapshot->info.duration_ns = end_ns - begin_ns;
	snapshot->now = (snapshot->now + 1) % N_GENERATIONS;
	return 0;
}

const struct cpuclock_thread *
cpuclock_snapshot_thread(const struct cpuclock_snapshot *snapshot, size_t index,
			 const struct cpuclock_thread **ret_before)
{
	const struct cpuclock_thread *thread =
		at(&last(snapshot)->threads, index);

	if (thread && ret_before)
		*ret_before =
			cpuclock__list_find(&before_last(snapshot)->threads,
					    thread->tid, thread->start_ns);
	return thread;
}

const struct cpuclock_thread *
cpuclock_snapshot_ended(const struct cpuclock_snapshot *snapshot, size_t index,
			const struct cpuclock_thread **ret_before)
{
	const struct cpuclock_thread *thread =
		at(&last(snapshot)->ended, index);

	if (thread && ret_before)
		*ret_before =
			cpuclock__list_find(&before_last(snapshot)->threads,
					    thread->tid, thread->start_ns);
	return thread;
}

const struct cpuclock_process *
cpuclock_snapshot_process(const struct cpuclock_snapshot *snapshot,
			  size_t index,
			  const struct cpuclock_process **ret_before)
{
	const struct cpuclock_process *process =
		at(&last(snapshot)->processes, index);

	if (process && ret_before)
		*ret_before =
			cpuclock__list_find(&before_last(snapshot)->processes,
					    process->pid, process->start_ns);
	return process;
}

int cpuclock_snapshot_info(const struct cpuclock_snapshot *snapshot,
			   struct cpuclock_snapshot_info *ret_info)
{
	*ret_info = snapshot->info;
	return 0;
}

void cpuclock_snapshot_close(struct cpuclock_snapshot *snapshot)
{
	int saved = errno;

	if (!snapshot)
		return;
	snapshot->source->close(snapshot);
	for (size_t i = 0; i < N_GENERATIONS; i++) {
		cpuclock__list_free(&snapshot->generations[i].threads);
		cpuclock__list_free(&snapshot->generations[i].processes);
		cpuclock__list_free(&snapshot->generations[i].ended);
	}
	cpuclock__list_free(&snapshot->pending);
	free(snapshot->pids);
	free(snapshot);
	errno = saved;
}

const char *cpuclock_snapshot_source_at(size_t index)
{
	return index < N_SOURCES ? sources[index]->name : NULL;
}

int cpuclock_snapshot_source_info(
	const char *name, struct cpuclock_snapshot_source_info *ret_info)
{
	const struct cpuclock__snapshot_source *source = find_source(name);
	struct cpuclock_snapshot trial = {0};
	const char *why = NULL;
	int saved = errno;
	int err;

	if (!source)
		return -ENOENT;
	init(&trial);
	err = open_source(&trial, source, &why);
	if (!err)
		source->close(&trial);
	errno = saved;
	*ret_info = (struct cpuclock_snapshot_source_info){
		.name = source->name,
		.summary = source->summary,
		.status = err,
		.why = err ? why : NULL,
	};
	return 0;
}
