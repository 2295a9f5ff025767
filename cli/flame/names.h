/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_FLAME_NAMES_H
#define CPUCLOCK_FLAME_NAMES_H

#include "profile.h"

/* The clean text of each of the profile's frames; NULL if memory is short. */
char **names_new(const struct profile *profile, size_t max_chars);
void names_free(const struct profile *profile, char **names);

/* Callers of a node, the outermost first, then the node itself. */
struct path {
	const struct profile_node **nodes;
	size_t n_nodes, capacity;
};

/* 0 or -ENOMEM. A path can be used again for another node. */
int path_of(const struct profile_node *node, struct path *path);
void path_free(struct path *path);

#endif
