/* SPDX-License-Identifier: MIT */
/* Names of functions in the kernel: the text of /proc/kallsyms. */
#ifndef CPUCLOCK_FLAME_KALLSYMS_H
#define CPUCLOCK_FLAME_KALLSYMS_H

#include "slice.h"

/*
 * Names the @n addresses, which are sorted and differ: the function that begins
 * last at or before each. A name is a part of @text; one of length 0 is not
 * known. False where the kernel hides its addresses: all are zero.
 */
bool kallsyms_resolve(struct slice text, const uint64_t *addresses, size_t n,
		      struct slice *ret_names);

#endif
