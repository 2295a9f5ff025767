/* SPDX-License-Identifier: MIT */
/* What a profile is kept in; for profile.c and profile_finish.c alone. */
#ifndef CPUCLOCK_FLAME_PROFILE_STORE_H
#define CPUCLOCK_FLAME_PROFILE_STORE_H

#include "profile.h"

#define NODES_PER_CHUNK 1024
#define BYTES_PER_CHUNK ((size_t)64 << 10)

struct node_chunk {
	struct node_chunk *older;
	size_t used;
	struct profile_node nodes[NODES_PER_CHUNK];
};

struct byte_chunk {
	struct byte_chunk *older;
	size_t used, size;
	char bytes[];
};

/* Open addressing; a place of 0 is free, others are an entry's number + 1 or a
 * pointer. Never more than half full. */
struct hash_table {
	uintptr_t *slots;
	size_t n_slots; /* a power of two */
	size_t n_used;
};

struct profile_store {
	struct node_chunk *nodes;
	struct byte_chunk *bytes;
	struct hash_table frames, places;
	size_t frames_capacity;
	uint64_t sum, sum_before;
};

#endif
