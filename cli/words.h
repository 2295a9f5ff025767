/* SPDX-License-Identifier: MIT */
/* The library's enums and errors in the words that a user types and reads. */
#ifndef CPUCLOCK_WORDS_H
#define CPUCLOCK_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "cpuclock.h"

#define N_KINDS	  4
#define N_TARGETS 4

extern const char *const kind_words[N_KINDS];
extern const char *const target_words[N_TARGETS];

bool parse_kind(const char *word, enum cpuclock_kind *ret_kind);

/* Names of all sources, with blanks between them, for messages and help. */
const char *source_words(void);

/* "thread 12 has ended" and the like, for an error of cpuclock_open or _read.
 */
void describe_error(char *text, size_t size, int err,
		    enum cpuclock_target target, pid_t id, const char *source,
		    enum cpuclock_kind kind);

/* "4 ms", "1 ns", "1.5 us": a time of up to 3 digits with its unit. */
void format_ns(char *text, size_t size, double ns);

#endif
