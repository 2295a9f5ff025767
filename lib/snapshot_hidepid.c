/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capability.h"
#include "snapshot_hidepid.h"
#include "sys.h"

/* A line of mountinfo (proc(5)): "... /proc ... - proc proc rw,hidepid=2". */
static bool hides(const char *line)
{
	const char *type = strstr(line, " - proc ");
	const char *option = type ? strstr(type, "hidepid=") : NULL;

	return option && strstr(line, " /proc ") &&
	       strncmp(option, "hidepid=0", 9) != 0 &&
	       strncmp(option, "hidepid=off", 11) != 0;
}

bool cpuclock__hidepid_restricts(void)
{
	FILE *mounts;
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	/* Who may trace every process sees every process (fs/proc/base.c,
	 * has_pid_permissions). */
	if (cpuclock__capable(CAP_SYS_PTRACE))
		return false;
	mounts = fopen("/proc/self/mountinfo", "re");
	if (!mounts)
		return false;
	while (!found && getline(&line, &size, mounts) > 0)
		found = hides(line);
	free(line);
	fclose(mounts);
	return found;
}

bool cpuclock__hidepid_shows(pid_t pid)
{
	char path[sizeof("/proc/4194304/stat")];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return cpuclock__syscall4(SYS_newfstatat, AT_FDCWD, (long)path,
				  (long)&status, 0) == 0;
}
