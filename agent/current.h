/* SPDX-License-Identifier: MIT */
/* The calling thread's CPU time, by the source and user time asked for. */
#ifndef AGENT_CURRENT_H
#define AGENT_CURRENT_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

/*
 * Chooses the sources. False, and a sentence on what is wrong, if the one that
 * is named gives neither time here. Not MT-Safe; others may read meanwhile.
 */
bool current_choose(const struct options *options, char *ret_why, int why_size);

/* In nanoseconds, or -errno. */
int64_t current_total(void);
int64_t current_user(void);

/* The names of what answers: "fast:rseq". They can take some ms to find. */
const char *current_total_source(void);
const char *current_user_source(void);

#endif
