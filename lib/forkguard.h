/* SPDX-License-Identifier: MIT */
/*
 * What a child of fork, by whatever call, finds filled with zeros
 * (MADV_WIPEONFORK, since Linux 4.14), so that it takes nothing of its parent's
 * threads for its own.
 */
#ifndef CPUCLOCK_FORKGUARD_H
#define CPUCLOCK_FORKGUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpuclock__process {
	_Atomic uint64_t generation;   /* 0 until asked for */
	_Atomic uint64_t limit;	       /* fast.c: its window in cycles, or 0 */
	_Atomic uint64_t rate;	       /* fast.c: as cpuclock__cycles_rate */
	_Atomic pid_t pid;	       /* 0 until known */
	_Atomic uint64_t first_serial; /* serial.c: of this process, or 0 */
	atomic_int choosing;	       /* fast.c: a thread chooses an epoch */
	atomic_flag measuring; /* cycles.c: a thread measures the rate */
};

/* Never NULL; one that stays all zeros where the kernel has no such memory. */
extern struct cpuclock__process *cpuclock__process;

/* Not yet known to be missing, until the library's constructors have run. */
bool cpuclock__have_forkguard(void);
bool cpuclock__forkguard_is_missing(void);

/* A generation that no process has. */
#define CPUCLOCK__NO_GENERATION 1

/* The generation of this process, which no ancestor of it had. */
uint64_t cpuclock__enter_process(void);

/*
 * Is the caller another process that shares this one's memory, its thread-local
 * variables included: a child of vfork or of clone with CLONE_VM? One system
 * call.
 */
bool cpuclock__is_guest(void);

/* Is it, without a system call, still that process? */
static inline bool cpuclock__is_generation(uint64_t generation)
{
	return generation ==
	       atomic_load_explicit(&cpuclock__process->generation,
				    memory_order_relaxed);
}

#endif
