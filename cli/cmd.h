/* SPDX-License-Identifier: MIT */
/* The table of commands, and what they share in reading their options. */
#ifndef CPUCLOCK_CMD_H
#define CPUCLOCK_CMD_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	CMD_OK = 0,
	CMD_FAILURE = 1,
	CMD_USAGE = 2,
	CMD_NOT_EXECUTABLE = 126,
	CMD_NOT_FOUND = 127,
	CMD_SIGNALLED = 128, /* and the number of the signal */
};

struct cmd {
	const char *name;
	const char *summary;
	const char *usage; /* what --help prints */
	int (*run)(int argc, char **argv);
};

extern const struct cmd cmd_info;
extern const struct cmd cmd_read;
extern const struct cmd cmd_decode;
extern const struct cmd cmd_encode;
extern const struct cmd cmd_bench;
extern const struct cmd cmd_check;
extern const struct cmd cmd_run;
extern const struct cmd cmd_stat;
extern const struct cmd cmd_flame;

/* "cpuclock NAME: ..." on stderr, in one line; returns CMD_FAILURE. Without a
 * command: "cpuclock: ...". */
int cmd_fail(const struct cmd *cmd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for a mistake in the arguments, with a hint; returns CMD_USAGE. */
int cmd_usage(const struct cmd *cmd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Says what getopt_long refused ('?' or ':'); returns CMD_USAGE. */
int cmd_bad_option(const struct cmd *cmd, int result, char **argv);

/* Prints the command's --help; returns CMD_OK. */
int cmd_help(const struct cmd *cmd);

/* Writes what was printed so far to standard output. False if it cannot be,
 * which is said when the command returns. */
bool cmd_flush(void);

/* Before another program is executed: SIGPIPE as it was when this one began. */
void cmd_restore_sigpipe(void);

/* A whole decimal number of a range, nothing before or behind it. */
bool cmd_parse_number(const char *text, int64_t min, int64_t max,
		      int64_t *ret_value);

#endif
