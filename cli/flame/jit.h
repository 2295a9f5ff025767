/* SPDX-License-Identifier: MIT */
/* Names for code in memory, by the maps that run-times write of it. */
#ifndef CPUCLOCK_FLAME_JIT_H
#define CPUCLOCK_FLAME_JIT_H

#include "profile.h"
#include "slice.h"
#include "stacks.h"

struct jit_map {
	const struct process *process;
	uint64_t *addresses;
	struct slice *names; /* parts of what is kept */
	size_t n;
	char **kept;
	size_t n_kept;
};

struct jit {
	struct jit_map *maps;
	size_t n_maps;
};

/* A process that runs such code: its map is held, as a container takes its file
 * systems with it when it ends. */
void jit_hold(struct process *process);

/* Reads the maps of the processes with such code; false if memory is short. */
bool jit_open(struct jit *jit, const struct stacks *stacks,
	      struct profile *profile);
void jit_close(struct jit *jit);

/* Of length 0 if it is not known. */
struct slice jit_find(const struct jit *jit, const struct place *place);

#endif
