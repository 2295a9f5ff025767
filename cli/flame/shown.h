/* SPDX-License-Identifier: MIT */
/* Which places a picture of a limited size shows: those with most samples. */
#ifndef CPUCLOCK_FLAME_SHOWN_H
#define CPUCLOCK_FLAME_SHOWN_H

#include <stdbool.h>

#include "profile.h"

struct shown {
	const struct profile_node **nodes; /* callers first, as profile_next */
	size_t n_nodes;
	uint64_t below; /* none that is left out has more samples */
};

/*
 * Takes places, with their callers, that have at least so many samples, until
 * their cost exceeds the budget. The cost is told whether a place of the same
 * frame is in. 0 or -ENOMEM.
 */
int shown_choose(const struct profile *profile, char **names, uint64_t least,
		 size_t budget,
		 size_t (*cost)(const struct profile_node *node,
				const char *name, bool is_again),
		 struct shown *ret_shown);
void shown_free(struct shown *shown);

/* "12 of 345 places are shown ...", or false if that is all. */
bool shown_describe(const struct profile *profile, const struct shown *shown,
		    char *text, size_t size);

#endif
