/* SPDX-License-Identifier: MIT */
/*
 * Serial numbers for threads: no two threads of a process and its ancestors
 * ever have the same one.
 */
#ifndef CPUCLOCK_SERIAL_H
#define CPUCLOCK_SERIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "forkguard.h"

#define CPUCLOCK__SERIAL_MIN 16

/*
 * The first serial of this process: those below are of threads of its
 * ancestors, as a child of fork inherits them.
 */
uint64_t cpuclock__serial_first(void);

/* May a thread of this process, without a system call, still have it? */
static inline bool cpuclock__serial_holds(uint64_t serial)
{
	/* In a process that has not asked yet, the first reads 0. */
	return atomic_load_explicit(&cpuclock__process->first_serial,
				    memory_order_relaxed) -
		       1 <
	       serial;
}

/* A new one, not below @first. */
uint64_t cpuclock__serial_draw(uint64_t first);

#endif
