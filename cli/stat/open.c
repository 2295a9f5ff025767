/* SPDX-License-Identifier: MIT */
/* What is opened before the work, and closed behind it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmd.h"
#include "../file_limit.h"
#include "work.h"

static int open_stream(struct work *work)
{
	const struct stat_options *options = work->options;
	int err, fd;

	if (options->path) {
		err = outfile_open(&work->file, options->path);
		if (err)
			return cmd_fail(&cmd_stat, "cannot write '%s': %s",
					options->path, strerror(-err));
		work->stream = work->file.stream;
	} else if (options->command) {
		/* Standard output is the command's. With a buffer, unlike
		 * stderr. */
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		work->stream = fd < 0 ? NULL : fdopen(fd, "w");
		if (!work->stream)
			return cmd_fail(&cmd_stat,
					"no stream for the report: %s",
					strerror(errno));
	} else {
		work->stream = stdout;
	}
	return CMD_OK;
}

/* A better source than the one in use, and why it is not. */
static void describe_better(struct work *work, const char *in_use)
{
	struct cpuclock_snapshot_source_info info;
	const char *best = cpuclock_snapshot_source_at(0);

	if (work->options->source || strcmp(best, in_use) == 0 ||
	    cpuclock_snapshot_source_info(best, &info))
		return;
	work->passed_over = best;
	work->why = info.why;
}

static int open_snapshot(struct work *work)
{
	const struct stat_options *options = work->options;
	unsigned int flags = CPUCLOCK_SNAPSHOT_EXITS;
	size_t n_pids = options->n_pids;
	pid_t *pids = calloc(n_pids + 1, sizeof(*pids));
	int err;

	if (!pids)
		return -ENOMEM;
	if (options->command) {
		/* Of this process, and so what loses its parent too. */
		flags |= CPUCLOCK_SNAPSHOT_DESCENDANTS;
		pids[0] = getpid();
		n_pids = 1;
	} else if (n_pids) {
		memcpy(pids, options->pids, n_pids * sizeof(*pids));
		n_pids = stat_unique_pids(pids, n_pids);
	}
	err = watch_open(&work->watch, &work->child, pids,
			 options->command ? 0 : n_pids);
	if (!err)
		err = cpuclock_snapshot_open(pids, n_pids, options->source,
					     flags, &work->snapshot);
	free(pids);
	return err;
}

static int open_source(struct work *work)
{
	const struct stat_options *options = work->options;
	struct cpuclock_snapshot_info info;
	int err = 0;

	child_watch_signals(&work->child, options->command != NULL);
	if (options->command) {
		work->watch.child = &work->child;
		err = child_start(&work->child, options->command);
		if (err)
			return cmd_fail(&cmd_stat, "cannot start a process: %s",
					strerror(-err));
	}
	file_limit_raise();
	err = open_snapshot(work);
	if (err)
		return stat_fail(options->source, err);
	cpuclock_snapshot_info(work->snapshot, &info);
	describe_better(work, info.source);
	stat_drop_privileges(options->command != NULL,
			     strcmp(info.source, "proc") == 0,
			     options->path != NULL);
	return CMD_OK;
}

int work_open(struct work *work)
{
	int status = open_stream(work);

	return status ? status : open_source(work);
}

int work_close(struct work *work, int status)
{
	int err = 0;

	if (work->file.stream && work->n_reports == 0) {
		outfile_abandon(&work->file);
	} else if (work->file.stream) {
		err = outfile_commit(&work->file);
	} else if (work->stream && work->stream != stdout) {
		if (fclose(work->stream) != 0)
			err = -errno;
	}
	if (!err)
		return status;
	cmd_fail(&cmd_stat, "cannot write the report: %s", strerror(-err));
	return status ? status : CMD_FAILURE;
}
