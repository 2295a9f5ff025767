/* SPDX-License-Identifier: MIT */
/* Functions that a compiler put into others, as debug information has them. */
#ifndef CPUCLOCK_FLAME_INLINES_H
#define CPUCLOCK_FLAME_INLINES_H

#include "object.h"

#define INLINES_MAX 64

/*
 * Their names at an address, the outermost first; they live as long as the
 * object, and are mangled as those of its symbols.
 */
size_t inlines_find(struct object *object, uint64_t address,
		    const char *ret_names[INLINES_MAX]);
void inlines_close(struct inlines *inlines);

/* Was there so much to read that it stopped? */
bool inlines_gave_up(void);

#endif
