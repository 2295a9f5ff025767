/* SPDX-License-Identifier: MIT */
/* A clockid_t in words: what `decode` and `encode` print. */
#ifndef CPUCLOCK_CLOCKID_TEXT_H
#define CPUCLOCK_CLOCKID_TEXT_H

#include <stdbool.h>

#include "cpuclock.h"

/* Explains the id bit by bit on stdout. */
void clockid_explain(clockid_t clockid);
void clockid_explain_json(clockid_t clockid);

/* "sched", "virt" or "prof", in any case of letters. */
bool clockid_parse_type(const char *word, enum cpuclock_clockid_type *ret_type);

#endif
