/* SPDX-License-Identifier: MIT */
/* Where the shim, the sampler and the agent are, and how a command gets them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmd.h"
#include "run.h"

#define PRELOAD "libcpuclock-preload.so"
#define AGENT	"libcpuclock-agent.so"
#define SAMPLER "libcpuclock-sampler.so"

/* The folder of this command's own file; empty if there is no /proc. */
static void find_own_folder(char *folder, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", folder, size - 1);
	char *slash;

	folder[length < 0 ? 0 : length] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
}

static bool try_place(const char *place, const char *name, char *ret_path)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", place, name) >=
	    sizeof(path))
		return false;
	return access(path, R_OK) == 0 && realpath(path, ret_path);
}

/*
 * Next to the command: in its build tree, or installed, wherever the whole
 * installation was moved to. Else where it was to be installed.
 */
static int find(const struct cmd *cmd, const char *name,
		const char *build_folder, char *ret_path)
{
	char folder[PATH_MAX];
	char place[PATH_MAX + 256];

	find_own_folder(folder, sizeof(folder));
	if (*folder) {
		snprintf(place, sizeof(place), "%s/../%s", folder,
			 build_folder);
		if (try_place(place, name, ret_path))
			return CMD_OK;
		snprintf(place, sizeof(place), "%s/../%s", folder,
			 CPUCLOCK_LIBDIR);
		if (try_place(place, name, ret_path))
			return CMD_OK;
	}
	if (try_place(CPUCLOCK_FULL_LIBDIR, name, ret_path))
		return CMD_OK;
	return cmd_fail(cmd,
			"%s is neither beside this command nor in %s; install "
			"it",
			name, CPUCLOCK_FULL_LIBDIR);
}

/* Refuses a path with what has another meaning in the variable. */
static int check_path(const struct cmd *cmd, const char *path,
		      const char *forbidden, const char *variable)
{
	const char *found = strpbrk(path, forbidden);

	if (!found)
		return CMD_OK;
	return cmd_fail(cmd,
			"%s cannot name '%s', which has '%c' in it; install "
			"it elsewhere",
			variable, path, *found);
}

/* Behind what is there: others may have to be the first. */
static int append(const char *variable, const char *separator,
		  const char *prefix, const char *path)
{
	const char *old = getenv(variable);
	char *value;
	int err;

	if (!old || !*old)
		old = separator = "";
	if (asprintf(&value, "%s%s%s%s", old, separator, prefix, path) < 0)
		return cmd_fail(&cmd_run, "out of memory");
	err = setenv(variable, value, 1);
	free(value);
	return err ? cmd_fail(&cmd_run, "out of memory") : CMD_OK;
}

static int add_library(const struct cmd *cmd, const char *name)
{
	char path[PATH_MAX];
	int status = find(cmd, name, "preload", path);

	/* ld.so(8): blanks and colons separate; $ begins $ORIGIN and its like.
	 */
	if (!status)
		status = check_path(cmd, path, " \t\n\v\f\r:$", "LD_PRELOAD");
	return status ? status : append("LD_PRELOAD", ":", "", path);
}

int run_add_preload(void)
{
	return add_library(&cmd_run, PRELOAD);
}

int run_add_sampler(void)
{
	return add_library(&cmd_flame, SAMPLER);
}

int run_add_agent(void)
{
	char path[PATH_MAX];
	int status = find(&cmd_run, AGENT, "agent", path);

	/* The options of the agent begin behind the first '='. */
	if (!status)
		status = check_path(&cmd_run, path,
				    " \t\n\v\f\r'\"=", "JAVA_TOOL_OPTIONS");
	return status ? status
		      : append("JAVA_TOOL_OPTIONS", " ", "-agentpath:", path);
}
