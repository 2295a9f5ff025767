/* SPDX-License-Identifier: MIT */
/* A stack that a reader puts together, and lines of a text. For readers. */
#ifndef CPUCLOCK_FLAME_STACK_H
#define CPUCLOCK_FLAME_STACK_H

#include <stdint.h>

#include "read.h"

/* Bytes of a text, not ended by NUL. */
struct slice {
	const char *at;
	size_t size;
};

/* The next line of the text, without its end, be that LF or CR LF; false at the
 * end of the text. */
bool next_line(struct slice *text, struct slice *ret_line);

/* Names may move as more come: frames point to them once the stack is added. */
struct stack {
	struct frame *frames;
	size_t *starts; /* of their names */
	size_t n_frames, capacity;
	char *names;
	size_t n_names, names_capacity;
};

/* Adds a frame; a NUL in its name becomes '?'. 0 or -ENOMEM. */
int stack_push(struct stack *stack, struct slice name, enum frame_kind kind);

/* The other way round: what was pushed first becomes the innermost. */
void stack_reverse(struct stack *stack);

/* Adds what the filter lets pass to the profile, and empties the stack. */
int stack_add(struct stack *stack, const struct read_filter *filter,
	      uint64_t samples, struct profile *profile);

void stack_clear(struct stack *stack);
void stack_free(struct stack *stack);

#endif
