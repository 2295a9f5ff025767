/* SPDX-License-Identifier: MIT */
/* Which processes descend from those of a snapshot, as /proc names parents. */
#include <stdio.h>

#include "snapshot_procfs.h"

static int look_at_parent(struct cpuclock__procfs_reader *reader,
			  struct cpuclock__procfs_candidate *candidate)
{
	char path[CPUCLOCK__PATH_SIZE], text[CPUCLOCK__PROCFS_SIZE];
	struct cpuclock__task_stat stat;
	int length;

	snprintf(path, sizeof(path), "/proc/%d/stat", candidate->pid);
	length = cpuclock__procfs_files_read(reader, path, text, sizeof(text));
	candidate->membership = CPUCLOCK__STRANGER;
	if (length < 0)
		return cpuclock__procfs_unless_shortage(length);
	if (cpuclock__parse_task_stat(text, (size_t)length, &stat))
		return 0;
	candidate->parent_pid = stat.parent_pid;
	candidate->membership = CPUCLOCK__UNKNOWN;
	return 0;
}

/* Each is asked once: the answer is left with all that were on the way. */
static void find_membership(const struct cpuclock__list *candidates,
			    struct cpuclock__procfs_candidate *first)
{
	struct cpuclock__procfs_candidate *candidate = first;
	enum cpuclock__membership found = CPUCLOCK__STRANGER;

	while (candidate && candidate->membership == CPUCLOCK__UNKNOWN) {
		candidate->membership = CPUCLOCK__ASKED;
		candidate = cpuclock__list_find(candidates,
						candidate->parent_pid, 0);
	}
	/* Asked already: parents in a ring, of PIDs that were given anew. */
	if (candidate && candidate->membership == CPUCLOCK__MEMBER)
		found = CPUCLOCK__MEMBER;
	for (candidate = first;
	     candidate && candidate->membership == CPUCLOCK__ASKED;
	     candidate =
		     cpuclock__list_find(candidates, candidate->parent_pid, 0))
		candidate->membership = found;
}

int cpuclock__procfs_find_descendants(const struct cpuclock_snapshot *snapshot,
				      struct cpuclock__procfs_reader *reader)
{
	struct cpuclock__list *candidates = &reader->candidates;
	struct cpuclock__procfs_candidate *candidate = candidates->records;
	int err;

	for (size_t i = 0; i < candidates->count; i++) {
		err = look_at_parent(reader, &candidate[i]);
		if (err)
			return err;
	}
	for (size_t i = 0; i < snapshot->n_pids; i++) {
		struct cpuclock__procfs_candidate *root =
			cpuclock__list_find(candidates, snapshot->pids[i], 0);

		if (root)
			root->membership = CPUCLOCK__MEMBER;
	}
	for (size_t i = 0; i < candidates->count; i++)
		find_membership(candidates, &candidate[i]);
	return 0;
}
