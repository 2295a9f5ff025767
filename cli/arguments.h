/* SPDX-License-Identifier: MIT */
/* Values of options that several commands have. */
#ifndef CPUCLOCK_ARGUMENTS_H
#define CPUCLOCK_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cmd;

/*
 * Adds the ids of a list such as "12,13" to those that are there, in memory of
 * malloc; the list is cut apart. @option and @what ("PID") are for the message.
 * CMD_OK, or says what is wrong.
 */
int parse_ids(const struct cmd *cmd, const char *option, const char *what,
	      char *list, pid_t **ids, size_t *n_ids);

/* Seconds, with decimals or without, in ns. CMD_OK, or says what is wrong. */
int parse_seconds(const struct cmd *cmd, const char *option, const char *text,
		  int64_t *ret_ns);

#endif
