/* SPDX-License-Identifier: MIT */
/*
 * Stacks as they are sampled, by addresses: each place is kept once, and names
 * are looked for at the end, once for each place.
 */
#ifndef CPUCLOCK_FLAME_STACKS_H
#define CPUCLOCK_FLAME_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object.h"
#include "processes.h"

enum place_kind {
	PLACE_ROOT,   /* @text */
	PLACE_LABEL,  /* @text, which is no code */
	PLACE_OBJECT, /* @address, as the symbols of @object have it */
	PLACE_MEMORY, /* @address in the memory of @process */
	PLACE_KERNEL, /* @address */
};

struct place {
	enum place_kind kind;
	union {
		const char *text;
		struct object *object;
		struct process *process;
		const void *owner;
	};
	uint64_t address;
};

/* A place under its callers. Number 0 is none: what stands below all. */
struct stack_node {
	uint32_t parent;
	uint32_t place;
	uint64_t samples; /* that ended here */
};

struct stacks {
	struct place *places;
	uint32_t n_places;
	struct stack_node *nodes;
	uint32_t n_nodes;
	uint32_t *place_table; /* by hash; 0: free */
	uint32_t *node_table;
	uint32_t place_slots;
	uint32_t node_slots;
	char **texts;
	size_t n_texts;
	bool out_of_memory; /* since then nothing more is kept */
};

void stacks_free(struct stacks *stacks);

/* The place above a node; the node itself if memory is short. */
uint32_t stacks_push(struct stacks *stacks, uint32_t node,
		     const struct place *place);

/* One copy of a text, which lives as long as the stacks; NULL if memory is
 * short. */
const char *stacks_text(struct stacks *stacks, const char *text);

void stacks_count(struct stacks *stacks, uint32_t node, uint64_t samples);

#endif
