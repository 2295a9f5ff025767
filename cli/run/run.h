/* SPDX-License-Identifier: MIT */
/* The parts of `cpuclock run`. */
#ifndef CPUCLOCK_RUN_H
#define CPUCLOCK_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "../preload/report.h"

struct cmd;

/*
 * Adds the shim to LD_PRELOAD, and the agent to JAVA_TOOL_OPTIONS, behind what
 * is there. Returns CMD_OK, or says what is wrong.
 */
int run_add_preload(void);
int run_add_agent(void);

/* The sampler of `cpuclock flame`, likewise. */
int run_add_sampler(void);

/*
 * Makes a file for programs to map, and names it, by an absolute path of
 * PATH_MAX bytes: in memory if it can be. A descriptor, or -1.
 */
int run_make_file(char *ret_path);

/*
 * Runs the command and waits for it and all that it leaves behind; passes
 * signals on to it meanwhile. *ret_status is what a shell would call its exit
 * status. 0, or -errno if it could not be started.
 */
int run_and_wait(char **command, int *ret_status);

/* The file in which programs count. */
struct tally {
	char path[PATH_MAX];
	struct report *report;
};

/* Makes the file, and names it in the environment. 0, or -errno. */
int tally_open(struct tally *tally);

/* Removes the file; what was counted can still be printed. */
void tally_remove(const struct tally *tally);

/* False if memory was short. */
bool tally_print(const struct tally *tally, FILE *stream);
void tally_print_json(const struct tally *tally, FILE *stream);

#endif
