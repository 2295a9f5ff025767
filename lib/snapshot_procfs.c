/* SPDX-License-Identifier: MIT */
/*
 * proc - walk /proc/PID/task, and read stat and schedstat of each thread.
 *
 * Counts the exact total in nanoseconds, as source `schedstat` does, as of the
 * last timer tick of a thread that is running; user and system are the kernel's
 * scaled split, known to 10 ms and fitted to that total. Needs no privilege.
 *
 * The CPU clock of a process counts the threads that ended, too. It is read
 * before those that live, so what they use meanwhile is never counted twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clockid.h"
#include "snapshot_procfs.h"
#include "sys.h"
#include "task.h"

#define ENTRIES_SIZE 65536

/* A snapshot that is being taken, and of which process. */
struct walk {
	struct cpuclock_snapshot *snapshot;
	struct cpuclock__procfs_reader *reader;
	pid_t pid;
};

/* ---- Folders ------------------------------------------------------------- */

/* include/linux/dirent.h, struct linux_dirent64 */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* 0, if it is not the name of a process or thread. */
static pid_t id_of_name(const char *name)
{
	pid_t id = 0;

	for (; *name >= '0' && *name <= '9' && id <= CPUCLOCK__PID_MAX; name++)
		id = id * 10 + (*name - '0');
	return *name || !cpuclock__pid_is_valid(id) ? 0 : id;
}

static int visit_entries(struct walk *walk, size_t length,
			 int (*visit)(struct walk *walk, pid_t id))
{
	size_t offset = 0;

	while (offset < length) {
		const struct entry *entry =
			(const void *)(walk->reader->entries + offset);
		pid_t id = id_of_name(entry->name);
		int err = id ? visit(walk, id) : 0;

		if (err)
			return err;
		offset += entry->size;
	}
	return 0;
}

/* Calls visit for each id in a folder, until it returns an error. */
static int visit_ids(struct walk *walk, const char *path,
		     int (*visit)(struct walk *walk, pid_t id))
{
	int fd = cpuclock__procfs_files_open(walk->reader, path, O_DIRECTORY);
	long length = fd;
	int err = 0;

	while (length >= 0) {
		length = cpuclock__syscall(SYS_getdents64, fd,
					   (long)walk->reader->entries,
					   ENTRIES_SIZE);
		if (length <= 0)
			break;
		err = visit_entries(walk, (size_t)length, visit);
		if (err)
			break;
	}
	if (fd >= 0)
		cpuclock__syscall(SYS_close, fd, 0, 0);
	return length < 0 ? (int)length : err;
}

/* ---- One process --------------------------------------------------------- */

static int add_thread(struct walk *walk, pid_t tid,
		      const struct cpuclock__procfs_task *task)
{
	const struct cpuclock__procfs_reader *reader = walk->reader;
	const struct cpuclock__task_stat *stat = &task->stat;
	struct cpuclock_thread thread = {
		.pid = walk->pid,
		.tid = tid,
		.start_ns = cpuclock__procfs_ns(stat->times.start_ticks,
						reader->unit_ns),
		.times = cpuclock__procfs_thread_times(task, reader->unit_ns),
		/* Who can run may be running. */
		.stale_ns =
			stat->state == 'R' ? walk->snapshot->info.tick_ns : 0,
		.wait_ns = reader->has_schedstat
				   ? (int64_t)task->schedstat.wait_ns
				   : -1,
		.voluntary_switches = -1,
		.involuntary_switches = -1,
		.cpu = stat->cpu,
		.state = stat->state,
	};

	_Static_assert(sizeof(thread.name) == sizeof(stat->name), "as long");
	memcpy(thread.name, stat->name, sizeof(thread.name));
	return cpuclock__snapshot_add_thread(walk->snapshot, &thread);
}

/* The main thread has been read by then. */
static int visit_thread(struct walk *walk, pid_t tid)
{
	struct cpuclock__procfs_task task;
	int err;

	if (tid == walk->pid)
		return 0;
	err = cpuclock__procfs_files_task(walk->reader, walk->pid, tid, &task);
	return err ? cpuclock__procfs_unless_shortage(err)
		   : add_thread(walk, tid, &task);
}

/* @total_ns is what the clock of the process gave before its threads. */
static int ended_times(struct walk *walk, int64_t total_ns,
		       struct cpuclock_times *ret_ended)
{
	struct cpuclock_times live = cpuclock__snapshot_live(walk->snapshot);
	char path[CPUCLOCK__PATH_SIZE], text[CPUCLOCK__PROCFS_SIZE];
	struct cpuclock__stat stat;
	int length;

	*ret_ended = (struct cpuclock_times){0};
	if (total_ns >= 0 && total_ns <= live.total_ns)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", walk->pid);
	length = cpuclock__procfs_files_read(walk->reader, path, text,
					     sizeof(text));
	if (length < 0)
		return cpuclock__procfs_unless_shortage(length);
	if (!cpuclock__parse_stat(text, (size_t)length, &stat))
		*ret_ended = cpuclock__procfs_ended_times(
			total_ns, &stat, &live, walk->reader->unit_ns);
	return 0;
}

/*
 * A reader of a folder goes on by its place in the list of threads, and misses
 * one for each that has ended before it: those that were there are asked, too.
 */
static int visit_missed(struct walk *walk)
{
	const struct cpuclock__list *before =
		&cpuclock__snapshot_last(walk->snapshot)->threads;
	const struct cpuclock__list *now =
		&cpuclock__snapshot_next(walk->snapshot)->threads;
	const struct cpuclock_thread *thread = before->records;
	int err = 0;

	for (size_t n = before->count; n && !err; n--, thread++) {
		if (thread->pid == walk->pid &&
		    !cpuclock__list_find(now, thread->tid, thread->start_ns))
			err = visit_thread(walk, thread->tid);
	}
	return err;
}

static int add_process(struct walk *walk, int64_t total_ns,
		       const struct cpuclock__procfs_task *main)
{
	struct cpuclock_process process = {
		.pid = walk->pid,
		.parent_pid = main->stat.parent_pid,
		.start_ns = cpuclock__procfs_ns(main->stat.times.start_ticks,
						walk->reader->unit_ns),
		.state = main->stat.state,
	};
	int err = ended_times(walk, total_ns, &process.ended_times);

	if (err)
		return err;
	memcpy(process.name, main->stat.name, sizeof(process.name));
	return cpuclock__snapshot_add_process(walk->snapshot, &process);
}

static int take_process(struct walk *walk, pid_t pid)
{
	int64_t total_ns = cpuclock__clock_gettime(
		cpuclock__make_clockid(pid, false, CPUCLOCK_ID_SCHED));
	struct cpuclock__procfs_task main;
	char path[CPUCLOCK__PATH_SIZE];
	int err = cpuclock__procfs_files_task(walk->reader, pid, pid, &main);

	/* Even when dead it stays, as a zombie, as long as its process. */
	if (err)
		return cpuclock__procfs_unless_shortage(err);
	walk->pid = pid;
	err = add_thread(walk, pid, &main);
	if (!err && main.stat.threads != 1) {
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		err = cpuclock__procfs_unless_shortage(
			visit_ids(walk, path, visit_thread));
		if (!err)
			err = visit_missed(walk);
	}
	return err ? err : add_process(walk, total_ns, &main);
}

/* ---- Which processes ----------------------------------------------------- */

static int visit_process(struct walk *walk, pid_t pid)
{
	struct cpuclock__procfs_candidate candidate = {
		.pid = pid, .membership = CPUCLOCK__MEMBER};
	int err = cpuclock__list_add(&walk->reader->candidates, &candidate);

	return err == -EEXIST ? 0 : err;
}

static int take_listed(struct walk *walk)
{
	struct cpuclock__list *candidates = &walk->reader->candidates;
	int err;

	cpuclock__list_cut(candidates, 0);
	err = visit_ids(walk, "/proc", visit_process);
	if (!err && walk->snapshot->n_pids > 0)
		err = cpuclock__procfs_find_descendants(walk->snapshot,
							walk->reader);
	for (size_t i = 0; !err && i < candidates->count; i++) {
		const struct cpuclock__procfs_candidate *candidate =
			(const struct cpuclock__procfs_candidate *)
				candidates->records +
			i;

		if (candidate->membership == CPUCLOCK__MEMBER)
			err = take_process(walk, candidate->pid);
	}
	return err;
}

/* /proc knows a thread by its TID too, though it does not list it there. */
static int take_given(struct walk *walk)
{
	int err = 0;

	for (size_t i = 0; !err && i < walk->snapshot->n_pids; i++) {
		pid_t pid = walk->snapshot->pids[i];

		if (!cpuclock__task_check(CPUCLOCK_PROCESS, pid))
			err = take_process(walk, pid);
	}
	return err;
}

static int take(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock__procfs_reader *reader = snapshot->state;
	struct walk walk = {.snapshot = snapshot, .reader = reader};
	int err = cpuclock__procfs_probe()->status;

	if (err)
		return err;
	cpuclock__procfs_files_begin(reader);
	if (snapshot->n_pids > 0 &&
	    !(snapshot->flags & CPUCLOCK_SNAPSHOT_DESCENDANTS))
		err = take_given(&walk);
	else
		err = take_listed(&walk);
	if (!err)
		cpuclock__procfs_files_end(reader);
	return err;
}

/* ---- The source ---------------------------------------------------------- */

static void close_proc(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock__procfs_reader *reader = snapshot->state;

	cpuclock__procfs_files_free(reader);
	cpuclock__list_free(&reader->candidates);
	free(reader->entries);
	free(reader);
}

static int make_reader(struct cpuclock__procfs_reader **ret_reader)
{
	struct cpuclock__procfs_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->entries = malloc(ENTRIES_SIZE);
	if (!reader->entries) {
		free(reader);
		return -ENOMEM;
	}
	reader->unit_ns = cpuclock__procfs_tick_ns();
	reader->candidates.record_size =
		sizeof(struct cpuclock__procfs_candidate);
	reader->candidates.id_offset =
		offsetof(struct cpuclock__procfs_candidate, pid);
	cpuclock__procfs_files_init(reader);
	*ret_reader = reader;
	return 0;
}

static int open_proc(struct cpuclock_snapshot *snapshot, const char **ret_why)
{
	const struct cpuclock__verdict *stat = cpuclock__source_proc.probe();
	const struct cpuclock__verdict *schedstat =
		cpuclock__source_schedstat.probe();
	struct cpuclock__procfs_reader *reader;

	if (stat->status) {
		*ret_why = stat->why;
		return stat->status;
	}
	if (cpuclock__procfs_unless_shortage(schedstat->status)) {
		*ret_why = schedstat->why;
		return schedstat->status;
	}
	if (make_reader(&reader)) {
		*ret_why = "out of memory";
		return -ENOMEM;
	}
	reader->has_schedstat = schedstat->status == 0;
	snapshot->state = reader;
	snapshot->info.split_step_ns = reader->unit_ns;
	return 0;
}

const struct cpuclock__snapshot_source cpuclock__snapshot_proc = {
	.name = "proc",
	.summary = "read /proc/PID/task/TID/stat and schedstat of each thread",
	.open = open_proc,
	.take = take,
	.close = close_proc,
};
