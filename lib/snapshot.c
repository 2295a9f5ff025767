/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clockid.h"
#include "snapshot.h"
#include "sys.h"

/* Fastest first: the order in which the best one is looked for. */
static const struct cpuclock__snapshot_source *const sources[] = {
	&cpuclock__snapshot_bpf,
	&cpuclock__snapshot_bpf_iter,
	&cpuclock__snapshot_proc,
};

#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))
#define ALL_FLAGS (CPUCLOCK_SNAPSHOT_DESCENDANTS | CPUCLOCK_SNAPSHOT_EXITS)

/* ---- Generations: the snapshot before, the last one, the next ------------ */

static const struct cpuclock__generation *
before_last(const struct cpuclock_snapshot *snapshot)
{
	return &snapshot->generations[(snapshot->now + CPUCLOCK__N_GENERATIONS -
				       1) %
				      CPUCLOCK__N_GENERATIONS];
}

static void list_init_threads(struct cpuclock__list *list)
{
	list->record_size = sizeof(struct cpuclock_thread);
	list->id_offset = offsetof(struct cpuclock_thread, tid);
}

static void init(struct cpuclock_snapshot *snapshot)
{
	for (size_t i = 0; i < CPUCLOCK__N_GENERATIONS; i++) {
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
		.summary = source->summary,
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
	struct cpuclock__generation *generation =
		cpuclock__snapshot_next(snapshot);
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
		err = cpuclock__snapshot_settle_ended(snapshot);
	errno = saved;
	if (err)
		return err;

	snapshot->info.time_ns = begin_ns + (end_ns - begin_ns) / 2;
	snapshot->info.duration_ns = end_ns - begin_ns;
	snapshot->now = (snapshot->now + 1) % CPUCLOCK__N_GENERATIONS;
	return 0;
}

const struct cpuclock_thread *
cpuclock_snapshot_thread(const struct cpuclock_snapshot *snapshot, size_t index,
			 const struct cpuclock_thread **ret_before)
{
	const struct cpuclock_thread *thread =
		at(&cpuclock__snapshot_last(snapshot)->threads, index);

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
		at(&cpuclock__snapshot_last(snapshot)->ended, index);

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
		at(&cpuclock__snapshot_last(snapshot)->processes, index);

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
	for (size_t i = 0; i < CPUCLOCK__N_GENERATIONS; i++) {
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
