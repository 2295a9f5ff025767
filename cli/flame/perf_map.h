/* SPDX-License-Identifier: MIT */
/* Names of code that a run-time made: the text of a /tmp/perf-PID.map. */
#ifndef CPUCLOCK_FLAME_PERF_MAP_H
#define CPUCLOCK_FLAME_PERF_MAP_H

#include "slice.h"

/*
 * Names the @n addresses, which are sorted and differ, by lines "START SIZE
 * NAME", both numbers in hexadecimal. Later lines win: code moves. Names are
 * parts of @text; those of length 0 are not known. Lines that are something
 * else are passed over.
 */
void perf_map_resolve(struct slice text, const uint64_t *addresses, size_t n,
		      struct slice *ret_names);

#endif
