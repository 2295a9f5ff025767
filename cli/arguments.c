/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "clockid.h"
#include "cmd.h"

#define MAX_SECONDS 1e8

int parse_ids(const struct cmd *cmd, const char *option, const char *what,
	      char *list, pid_t **ids, size_t *n_ids)
{
	char *word, *rest = NULL;

	for (word = strtok_r(list, ",", &rest); word;
	     word = strtok_r(NULL, ",", &rest)) {
		int64_t id;
		pid_t *larger;

		if (!cmd_parse_number(word, 1, CPUCLOCK__PID_MAX, &id))
			return cmd_usage(cmd, "'%s' is no %s (1 to %d)", word,
					 what, CPUCLOCK__PID_MAX);
		larger = reallocarray(*ids, *n_ids + 1, sizeof(**ids));
		if (!larger)
			return cmd_fail(cmd, "out of memory");
		*ids = larger;
		larger[(*n_ids)++] = (pid_t)id;
	}
	return *n_ids ? CMD_OK : cmd_usage(cmd, "%s needs a %s", option, what);
}

static bool to_ns(const char *text, int64_t *ret_ns)
{
	double seconds;
	char *end;

	/* strtod would take more: "nan", "0x1p3", blanks. */
	if (!*text || text[strspn(text, "0123456789.")])
		return false;
	seconds = strtod(text, &end);
	if (*end || end == text || seconds < 1e-3 || seconds > MAX_SECONDS)
		return false;
	*ret_ns = (int64_t)(seconds * 1e9);
	return true;
}

int parse_seconds(const struct cmd *cmd, const char *option, const char *text,
		  int64_t *ret_ns)
{
	if (to_ns(text, ret_ns))
		return CMD_OK;
	return cmd_usage(cmd, "%s: '%s' is no time in seconds (0.001 and more)",
			 option, text);
}
