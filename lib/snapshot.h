/* SPDX-License-Identifier: MIT */
/*
 * Snapshots, inside: what a source of them is, and the lists that it fills.
 *
 * snapshot.c keeps this snapshot and the one before, finds the same thread in
 * both, and sees to it that nothing falls; a source looks at the system.
 */
#ifndef CPUCLOCK_SNAPSHOT_H
#define CPUCLOCK_SNAPSHOT_H

#include <stdbool.h>

#include "cpuclock.h"
#include "source.h"

/*
 * Records of one kind, and how to find them by id and start time, where each
 * has an int64_t start_ns at CPUCLOCK__START_OFFSET and its id in front of it.
 * snapshot_list.c knows no more of them.
 */
struct cpuclock__list {
	void *records;
	size_t record_size;
	size_t id_offset; /* of a pid_t */
	size_t count;
	size_t capacity; /* a power of two, or 0 */
	uint32_t *slots; /* 1 + index of a record, by hash; 0 is free */
	size_t n_slots;	 /* twice the capacity */
};

#define CPUCLOCK__START_OFFSET offsetof(struct cpuclock_thread, start_ns)
_Static_assert(CPUCLOCK__START_OFFSET ==
		       offsetof(struct cpuclock_process, start_ns),
	       "one kind of list holds both");

/* NULL if there is none. */
void *cpuclock__list_find(const struct cpuclock__list *list, pid_t id,
			  int64_t start_ns);

/* Makes room, so that @more records can be added without an error. 0, or
 * -ENOMEM. */
int cpuclock__list_reserve(struct cpuclock__list *list, size_t more);

/* Adds a copy. 0, -ENOMEM, or -EEXIST: there is one of that id and time. */
int cpuclock__list_add(struct cpuclock__list *list, const void *record);

/* Forgets all but the first @count, which may have been moved. */
void cpuclock__list_cut(struct cpuclock__list *list, size_t count);

void cpuclock__list_free(struct cpuclock__list *list);

#define CPUCLOCK__N_GENERATIONS 3

/* One snapshot. */
struct cpuclock__generation {
	struct cpuclock__list threads;
	struct cpuclock__list processes;
	struct cpuclock__list ended;
};

struct cpuclock_snapshot {
	const struct cpuclock__snapshot_source *source;
	void *state; /* of the source */
	pid_t *pids;
	size_t n_pids; /* 0: all */
	unsigned int flags;
	/*
	 * The one before, the last one and the one that is being taken: if that
	 * fails, both others are still there.
	 */
	struct cpuclock__generation generations[CPUCLOCK__N_GENERATIONS];
	unsigned int now;	       /* which of them is the last one */
	struct cpuclock__list pending; /* that ended, but may be shown again */
	struct cpuclock_times live;    /* see cpuclock__snapshot_live */
	int live_threads;
	struct cpuclock_snapshot_info info;
};

struct cpuclock__snapshot_source {
	const char *name;
	const char *summary;

	/*
	 * Makes snapshot->state, by trying all that take needs. *ret_why says
	 * why not, a static string, after an error; it is -errno. Fills in what
	 * of snapshot->info does not change: split_step_ns,
	 * knows_exits.
	 */
	int (*open)(struct cpuclock_snapshot *snapshot, const char **ret_why);

	/*
	 * Adds each thread and process, and the threads that ended if it knows
	 * of such, to lists that are empty; of a process first the threads, by
	 * which its times are summed up, then itself. 0, or -errno.
	 */
	int (*take)(struct cpuclock_snapshot *snapshot);

	void (*close)(struct cpuclock_snapshot *snapshot);
};

extern const struct cpuclock__snapshot_source cpuclock__snapshot_bpf;
extern const struct cpuclock__snapshot_source cpuclock__snapshot_bpf_iter;
extern const struct cpuclock__snapshot_source cpuclock__snapshot_proc;

/*
 * Adds a record that a source found. Its times are raised to those of the
 * snapshot before, if they are lower. 0, or -ENOMEM.
 * One that was added already, by id and start time, is left out.
 *
 * Of a process the source gives all but times and threads, which are summed up
 * from the threads that were added since the last process, and ended_times.
 */
int cpuclock__snapshot_add_thread(struct cpuclock_snapshot *snapshot,
				  const struct cpuclock_thread *thread);
int cpuclock__snapshot_add_process(struct cpuclock_snapshot *snapshot,
				   const struct cpuclock_process *process);

/*
 * A thread that ended, with its last times. One that is still in the snapshot
 * is kept back until it is not, also if take then fails. So a source that hears
 * of exits asks for them after it has looked at the threads: one that is missed
 * there is taken for ended as it was, and not shown as ended again.
 */
int cpuclock__snapshot_add_ended(struct cpuclock_snapshot *snapshot,
				 const struct cpuclock_thread *thread);

/* Sum of the threads that were added since the last process. */
struct cpuclock_times
cpuclock__snapshot_live(const struct cpuclock_snapshot *snapshot);

/* A thread of the snapshot before; NULL if it was not there. */
const struct cpuclock_thread *
cpuclock__snapshot_before(const struct cpuclock_snapshot *snapshot, pid_t tid,
			  int64_t start_ns);

/* ---- Between snapshot.c and snapshot_merge.c ----------------------------- */

static inline const struct cpuclock__generation *
cpuclock__snapshot_last(const struct cpuclock_snapshot *snapshot)
{
	return &snapshot->generations[snapshot->now];
}

static inline struct cpuclock__generation *
cpuclock__snapshot_next(struct cpuclock_snapshot *snapshot)
{
	return &snapshot->generations[(snapshot->now + 1) %
				      CPUCLOCK__N_GENERATIONS];
}

/* Once a source has added all: finds what ended. 0, or -ENOMEM. */
int cpuclock__snapshot_settle_ended(struct cpuclock_snapshot *snapshot);

#endif
