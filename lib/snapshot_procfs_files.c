/* SPDX-License-Identifier: MIT */
/*
 * The files of /proc that a snapshot reads. Those of a thread stay open as long
 * as it lives, which saves half the cost of reading them again, and as there is
 * room: at most half of the descriptors that the program may have are taken,
 * and 64 are left to it. Such a descriptor is of its thread and of no other: it
 * answers ESRCH once that has ended, whoever has the TID then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "snapshot_procfs.h"
#include "sys.h"

#define LEFT_TO_PROGRAM 64
#define FILES_OF_THREAD 2

struct kept {
	pid_t pid;
	pid_t tid;
	int64_t start_ns;  /* 0: one for a TID */
	int stat_fd;	   /* -1: it has ended */
	int schedstat_fd;  /* -1: the kernel has none */
	unsigned int take; /* when it was last read */
};

_Static_assert(offsetof(struct kept, start_ns) == CPUCLOCK__START_OFFSET,
	       "a record of a list");

void cpuclock__procfs_files_init(struct cpuclock__procfs_reader *reader)
{
	reader->kept.record_size = sizeof(struct kept);
	reader->kept.id_offset = offsetof(struct kept, tid);
	reader->kept_ceiling = SIZE_MAX;
}

int cpuclock__procfs_unless_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM ? err : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		cpuclock__syscall(SYS_close, *fd, 0, 0);
	*fd = -1;
}

static void close_kept(struct kept *kept)
{
	close_fd(&kept->stat_fd);
	close_fd(&kept->schedstat_fd);
}

/* Keeps those of no more threads than that. */
static void shrink(struct cpuclock__procfs_reader *reader, size_t count)
{
	struct kept *kept = reader->kept.records;

	if (count >= reader->kept.count)
		return;
	for (size_t i = count; i < reader->kept.count; i++)
		close_kept(&kept[i]);
	cpuclock__list_cut(&reader->kept, count);
}

void cpuclock__procfs_files_begin(struct cpuclock__procfs_reader *reader)
{
	struct rlimit limit;
	size_t room = 0;

	if (!cpuclock__syscall4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0,
				(long)&limit) &&
	    limit.rlim_cur > LEFT_TO_PROGRAM) {
		room = limit.rlim_cur - LEFT_TO_PROGRAM;
		if (room > limit.rlim_cur / 2)
			room = limit.rlim_cur / 2;
	}
	reader->kept_max = room / FILES_OF_THREAD;
	if (reader->kept_max > reader->kept_ceiling)
		reader->kept_max = reader->kept_ceiling;
	shrink(reader, reader->kept_max);
	reader->take++;
}

void cpuclock__procfs_files_end(struct cpuclock__procfs_reader *reader)
{
	struct kept *kept = reader->kept.records;
	size_t count = 0;

	for (size_t i = 0; i < reader->kept.count; i++) {
		if (kept[i].take == reader->take && kept[i].stat_fd >= 0)
			kept[count++] = kept[i];
		else
			close_kept(&kept[i]);
	}
	if (count < reader->kept.count)
		cpuclock__list_cut(&reader->kept, count);
}

void cpuclock__procfs_files_free(struct cpuclock__procfs_reader *reader)
{
	shrink(reader, 0);
	cpuclock__list_free(&reader->kept);
}

/*
 * The program needs its descriptors for something else: takes half as many for
 * good, for what runs out here runs out for the program too.
 */
static bool give_up_some(struct cpuclock__procfs_reader *reader)
{
	if (reader->kept.count == 0)
		return false;
	reader->kept_ceiling = reader->kept.count / 2;
	reader->kept_max = reader->kept_ceiling;
	shrink(reader, reader->kept_max);
	return true;
}

int cpuclock__procfs_files_open(struct cpuclock__procfs_reader *reader,
				const char *path, int flags)
{
	long fd;

	do {
		fd = cpuclock__syscall(SYS_openat, AT_FDCWD, (long)path,
				       O_RDONLY | O_CLOEXEC | flags);
	} while ((fd == -EMFILE || fd == -ENFILE) && give_up_some(reader));
	return (int)fd;
}

static int read_at_start(int fd, char *buffer, size_t size)
{
	return (int)cpuclock__syscall4(SYS_pread64, fd, (long)buffer,
				       (long)size, 0);
}

int cpuclock__procfs_files_read(struct cpuclock__procfs_reader *reader,
				const char *path, char *buffer, size_t size)
{
	int fd = cpuclock__procfs_files_open(reader, path, 0);
	int length;

	if (fd < 0)
		return fd;
	length = read_at_start(fd, buffer, size);
	close_fd(&fd);
	return length;
}

static int parse_stat(const char *text, int length,
		      struct cpuclock__procfs_task *task)
{
	if (length < 0)
		return length;
	return cpuclock__parse_task_stat(text, (size_t)length, &task->stat);
}

static int parse_schedstat(const char *text, int length,
			   struct cpuclock__procfs_task *task)
{
	int err;

	if (length < 0)
		return length;
	err = cpuclock__parse_schedstat(text, (size_t)length, &task->schedstat);
	if (err)
		return err;
	return task->schedstat.cpu_ns > INT64_MAX ||
			       task->schedstat.wait_ns > INT64_MAX
		       ? -EBADMSG
		       : 0;
}

/*
 * In this order: what the thread uses in between is in the total, which then is
 * not less than its parts; and one that is seen asleep had its time added up.
 */
static int read_kept(const struct kept *kept,
		     struct cpuclock__procfs_task *task)
{
	char text[CPUCLOCK__PROCFS_SIZE];
	int err = parse_stat(
		text, read_at_start(kept->stat_fd, text, sizeof(text)), task);

	if (err || kept->schedstat_fd < 0)
		return err;
	return parse_schedstat(
		text, read_at_start(kept->schedstat_fd, text, sizeof(text)),
		task);
}

static int open_file(struct cpuclock__procfs_reader *reader, pid_t pid,
		     pid_t tid, const char *file)
{
	char path[CPUCLOCK__PATH_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, file);
	return cpuclock__procfs_files_open(reader, path, 0);
}

/* One by one, so that one descriptor is enough. */
static int read_once(struct cpuclock__procfs_reader *reader, pid_t pid,
		     pid_t tid, struct cpuclock__procfs_task *task)
{
	char text[CPUCLOCK__PROCFS_SIZE];
	int fd = open_file(reader, pid, tid, "stat");
	int err;

	if (fd < 0)
		return fd;
	err = parse_stat(text, read_at_start(fd, text, sizeof(text)), task);
	close_fd(&fd);
	if (err || !reader->has_schedstat)
		return err;
	fd = open_file(reader, pid, tid, "schedstat");
	if (fd < 0)
		return fd;
	err = parse_schedstat(text, read_at_start(fd, text, sizeof(text)),
			      task);
	close_fd(&fd);
	return err;
}

/* Fills in a thread's descriptors; after an error there are none. */
static int open_kept(struct cpuclock__procfs_reader *reader, struct kept *kept)
{
	kept->stat_fd = open_file(reader, kept->pid, kept->tid, "stat");
	kept->schedstat_fd = -1;
	if (kept->stat_fd < 0 || !reader->has_schedstat)
		return kept->stat_fd < 0 ? kept->stat_fd : 0;
	kept->schedstat_fd =
		open_file(reader, kept->pid, kept->tid, "schedstat");
	if (kept->schedstat_fd < 0) {
		int err = kept->schedstat_fd;

		close_fd(&kept->stat_fd);
		return err;
	}
	return 0;
}

/* The list has one record for a TID, maybe of the thread that had it before. */
static void keep(struct cpuclock__procfs_reader *reader, struct kept *fresh)
{
	struct kept *old = cpuclock__list_find(&reader->kept, fresh->tid, 0);

	if (old)
		*old = *fresh;
	else if (reader->kept.count >= reader->kept_max ||
		 cpuclock__list_add(&reader->kept, fresh))
		close_kept(fresh);
}

/* As long as there is room, its files stay open. */
static int read_new(struct cpuclock__procfs_reader *reader, pid_t pid,
		    pid_t tid, struct cpuclock__procfs_task *task)
{
	struct kept fresh = {.pid = pid, .tid = tid, .take = reader->take};
	int err = -EMFILE;

	if (reader->kept.count < reader->kept_max ||
	    cpuclock__list_find(&reader->kept, tid, 0))
		err = open_kept(reader, &fresh);
	if (cpuclock__procfs_unless_shortage(err))
		return read_once(reader, pid, tid, task);
	if (err)
		return err;
	err = read_kept(&fresh, task);
	if (err)
		close_kept(&fresh);
	else
		keep(reader, &fresh);
	return err;
}

int cpuclock__procfs_files_task(struct cpuclock__procfs_reader *reader,
				pid_t pid, pid_t tid,
				struct cpuclock__procfs_task *ret_task)
{
	struct kept *old = cpuclock__list_find(&reader->kept, tid, 0);
	struct cpuclock__procfs_task task = {0};
	int err = -ESRCH;

	if (old && old->stat_fd >= 0) {
		old->take = reader->take;
		err = read_kept(old, &task);
		if (err)
			close_kept(old);
	}
	if (err)
		err = read_new(reader, pid, tid, &task);
	if (!err)
		*ret_task = task;
	return err;
}
