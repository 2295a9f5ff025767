/* SPDX-License-Identifier: MIT */
/* Whose threads: from names to processes, and what is wrong with a PID. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../cmd.h"
#include "../words.h"
#include "stat.h"

int stat_fail(const char *source, int err)
{
	struct cpuclock_snapshot_source_info info;

	if (source && cpuclock_snapshot_source_info(source, &info) == 0 &&
	    info.status)
		return cmd_fail(&cmd_stat, "source %s does not work here: %s",
				source, info.why);
	if (err == -EOPNOTSUPP)
		return cmd_fail(&cmd_stat,
				"no source works here: /proc is not mounted; "
				"`cpuclock info` shows more");
	if (err == -EMFILE || err == -ENFILE)
		return cmd_fail(&cmd_stat,
				"no file descriptor is left; raise the limit "
				"(ulimit -n)");
	return cmd_fail(&cmd_stat, "cannot take a snapshot: %s",
			strerror(-err));
}

/* Longer ones cannot be; the kernel has cut them. */
static bool has_name(const struct cpuclock_process *process, const char *name)
{
	return strncmp(process->name, name, CPUCLOCK_NAME_SIZE - 1) == 0;
}

static bool add_pid(struct stat_options *options, pid_t pid)
{
	pid_t *pids =
		reallocarray(options->pids, options->n_pids + 1, sizeof(*pids));

	if (!pids)
		return false;
	options->pids = pids;
	pids[options->n_pids++] = pid;
	return true;
}

static int find_name(struct stat_options *options, const char *name,
		     const struct cpuclock_snapshot *snapshot)
{
	const struct cpuclock_process *process;
	bool found = false;

	for (size_t i = 0;
	     (process = cpuclock_snapshot_process(snapshot, i, NULL)); i++) {
		if (!has_name(process, name))
			continue;
		found = true;
		if (!add_pid(options, process->pid))
			return cmd_fail(&cmd_stat, "out of memory");
	}
	if (!found)
		return cmd_fail(&cmd_stat, "no process is named '%s'", name);
	return CMD_OK;
}

int stat_find_names(struct stat_options *options)
{
	struct cpuclock_snapshot *snapshot = NULL;
	int status = CMD_OK;
	int err;

	if (options->n_names == 0)
		return CMD_OK;
	err = cpuclock_snapshot_open(NULL, 0, options->source, 0, &snapshot);
	if (!err)
		err = cpuclock_snapshot_take(snapshot);
	if (err)
		status = stat_fail(options->source, err);
	for (size_t i = 0; !status && i < options->n_names; i++)
		status = find_name(options, options->names[i], snapshot);
	cpuclock_snapshot_close(snapshot);
	return status;
}

static int compare_pids(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

size_t stat_unique_pids(pid_t *pids, size_t n_pids)
{
	size_t n = 0;

	qsort(pids, n_pids, sizeof(*pids), compare_pids);
	for (size_t i = 0; i < n_pids; i++) {
		if (n == 0 || pids[n - 1] != pids[i])
			pids[n++] = pids[i];
	}
	return n;
}

static int fail_missing(pid_t pid)
{
	struct cpuclock *clock = NULL;
	char why[256];
	int err = cpuclock_open(CPUCLOCK_PROCESS, pid, CPUCLOCK_TOTAL, "posix",
				&clock);

	cpuclock_close(clock);
	if (err == -EINVAL)
		return cmd_fail(&cmd_stat,
				"%d is a thread, not a process; -p takes "
				"processes",
				(int)pid);
	describe_error(why, sizeof(why), err ? err : -EACCES, CPUCLOCK_PROCESS,
		       pid, NULL, CPUCLOCK_TOTAL);
	return cmd_fail(&cmd_stat, "%s", why);
}

int stat_check_targets(const struct stat_options *options,
		       const struct cpuclock_snapshot *snapshot)
{
	const struct cpuclock_process *process;
	size_t count = 0;
	pid_t *pids;
	int status = CMD_OK;

	while (cpuclock_snapshot_process(snapshot, count, NULL))
		count++;
	pids = calloc(count + 1, sizeof(*pids));
	if (!pids)
		return cmd_fail(&cmd_stat, "out of memory");
	for (size_t i = 0;
	     i < count &&
	     (process = cpuclock_snapshot_process(snapshot, i, NULL));
	     i++)
		pids[i] = process->pid;
	qsort(pids, count, sizeof(*pids), compare_pids);
	for (size_t i = 0; !status && i < options->n_given; i++) {
		if (!bsearch(&options->pids[i], pids, count, sizeof(*pids),
			     compare_pids))
			status = fail_missing(options->pids[i]);
	}
	free(pids);
	return status;
}
