/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "living.h"
#include "procparse.h"
#include "slurp.h"

static bool read_stat(pid_t pid, struct cpuclock__task_stat *ret_stat)
{
	char path[64];
	size_t length;
	char *text;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = slurp(path, 4096, &length);
	ok = text && cpuclock__parse_task_stat(text, length, ret_stat) == 0;
	free(text);
	return ok;
}

static bool has_ended(const struct cpuclock__task_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

bool is_living(pid_t id, bool of_process)
{
	struct cpuclock__task_stat stat;

	return read_stat(id, &stat) &&
	       (!has_ended(&stat) || (of_process && stat.threads > 1));
}

static pid_t first_other(pid_t pid)
{
	char path[64];
	DIR *folder;
	const struct dirent *entry;
	pid_t found = pid;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return pid;
	while (found == pid && (entry = readdir(folder))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct cpuclock__task_stat stat;

		if (tid > 0 && tid != pid && read_stat(tid, &stat) &&
		    !has_ended(&stat))
			found = tid;
	}
	closedir(folder);
	return found;
}

pid_t living_thread(pid_t pid)
{
	struct cpuclock__task_stat stat;

	if (!read_stat(pid, &stat) || !has_ended(&stat) || stat.threads < 2)
		return pid;
	return first_other(pid);
}
