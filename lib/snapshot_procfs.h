/* SPDX-License-Identifier: MIT */
/* What the files of the source `proc` of snapshots share. */
#ifndef CPUCLOCK_SNAPSHOT_PROCFS_H
#define CPUCLOCK_SNAPSHOT_PROCFS_H

#include "procfs.h"
#include "procparse.h"
#include "snapshot.h"

/* What /proc lists, and who of them is wanted. */
enum cpuclock__membership {
	CPUCLOCK__UNKNOWN,
	CPUCLOCK__ASKED, /* whether its parent is one */
	CPUCLOCK__MEMBER,
	CPUCLOCK__STRANGER,
};

struct cpuclock__procfs_candidate {
	pid_t pid;
	pid_t parent_pid;
	int64_t start_ns; /* 0: one for a PID */
	enum cpuclock__membership membership;
};

_Static_assert(offsetof(struct cpuclock__procfs_candidate, start_ns) ==
		       CPUCLOCK__START_OFFSET,
	       "a record of a list");

/* The state of a reader. */
struct cpuclock__procfs_reader {
	bool has_schedstat;
	int64_t unit_ns; /* of the times in stat */
	char *entries;	 /* of a folder, as the kernel lists them */

	struct cpuclock__list candidates; /* by PID */

	struct cpuclock__list kept; /* descriptors, by TID */
	size_t kept_max;	    /* threads that may have some */
	size_t kept_ceiling;	    /* found out by running short of them */
	unsigned int take;	    /* number of this snapshot */
};

/* What /proc says of a thread. */
struct cpuclock__procfs_task {
	struct cpuclock__task_stat stat;
	struct cpuclock__schedstat schedstat; /* zeros, if there is none */
};

/* ---- snapshot_procfs_files.c --------------------------------------------- */

void cpuclock__procfs_files_init(struct cpuclock__procfs_reader *reader);

/* Before the first file of a snapshot, and after the last if none failed. */
void cpuclock__procfs_files_begin(struct cpuclock__procfs_reader *reader);
void cpuclock__procfs_files_end(struct cpuclock__procfs_reader *reader);

void cpuclock__procfs_files_free(struct cpuclock__procfs_reader *reader);

/* A descriptor, or -errno; gives up descriptors that are kept, if it must. */
int cpuclock__procfs_files_open(struct cpuclock__procfs_reader *reader,
				const char *path, int flags);

/* Opens, reads and closes, as cpuclock__procfs_read. */
int cpuclock__procfs_files_read(struct cpuclock__procfs_reader *reader,
				const char *path, char *buffer, size_t size);

/* 0, or -errno; see cpuclock__procfs_unless_shortage. */
int cpuclock__procfs_files_task(struct cpuclock__procfs_reader *reader,
				pid_t pid, pid_t tid,
				struct cpuclock__procfs_task *ret_task);

/* The error, if it is of more than one thread or process; else 0: what has
 * ended meanwhile, or is hidden or garbled, is left out. */
int cpuclock__procfs_unless_shortage(int err);

/* ---- snapshot_procfs_descendants.c --------------------------------------- */

/* Marks those of the candidates that are processes of the snapshot, or descend
 * from them. 0, or -errno. */
int cpuclock__procfs_find_descendants(const struct cpuclock_snapshot *snapshot,
				      struct cpuclock__procfs_reader *reader);

/* ---- snapshot_procfs_times.c --------------------------------------------- */

/* A number of units, or the largest time if that is too many. */
int64_t cpuclock__procfs_ns(uint64_t ticks, int64_t unit_ns);

/*
 * Splits a total by the times in stat. These are the kernel's own split, of
 * about the same total, each cut to whole units: so user is between what stat
 * says and one unit more, and so is system. Within that, their ratio decides.
 */
struct cpuclock_times cpuclock__procfs_split(int64_t total_ns,
					     const struct cpuclock__stat *stat,
					     int64_t unit_ns);

/* The times of a thread; as of stat, if the kernel keeps no schedstat. */
struct cpuclock_times
cpuclock__procfs_thread_times(const struct cpuclock__procfs_task *task,
			      int64_t unit_ns);

/*
 * What threads that ended have used: what @live leaves of the total of their
 * process. @stat is that of the process, and stands in for its total if that is
 * not known (negative).
 */
struct cpuclock_times cpuclock__procfs_ended_times(
	int64_t total_ns, const struct cpuclock__stat *stat,
	const struct cpuclock_times *live, int64_t unit_ns);

#endif
