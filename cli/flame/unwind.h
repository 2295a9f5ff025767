/* SPDX-License-Identifier: MIT */
/* From a sample to the addresses of its callers in user mode. */
#ifndef CPUCLOCK_FLAME_UNWIND_H
#define CPUCLOCK_FLAME_UNWIND_H

#include "processes.h"
#include "registers.h"

#define UNWIND_MAX 1024

/* What was copied of a stack. */
struct stack_copy {
	uint64_t start;
	const uint8_t *bytes;
	size_t size;
};

bool stack_copy_read(const struct stack_copy *copy, uint64_t address,
		     uint64_t *ret_value);

struct sample {
	pid_t pid;
	pid_t tid;
	uint64_t weight;	/* periods of CPU time for which it stands */
	const uint64_t *kernel; /* addresses, the innermost first */
	size_t n_kernel;
	const uint64_t *user; /* by frame pointers, as the kernel found it */
	size_t n_user;
	bool has_registers;
	struct registers registers;
	struct stack_copy stack;
};

/*
 * Addresses of the instruction that runs and of those that called, the
 * innermost first. *ret_complete: up to where the thread began.
 */
size_t unwind(const struct sample *sample, const struct process *process,
	      uint64_t *ret_addresses, bool *ret_complete);

/* Where a mapped address is in its object; false if that is not known. */
bool unwind_locate(const struct process *process, uint64_t address,
		   struct object **ret_object, uint64_t *ret_address);

#endif
