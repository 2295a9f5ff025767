/* SPDX-License-Identifier: MIT */
/* Which places a picture of a limited size shows: those with most samples. */
#ifndef CPUCLOCK_FLAME_SHOWN_H
#define CPUCLOCK_FLAME_SHOWN_H

#include <stdbool.h>

#include "profile.h"

struct shown {
	const struct profile_node **nodes; /* callers first, as profile_next */
	size_t n_nodes;
	size_t n_all;
	double below; /* of those left out, the largest share */
};

/* What limits a picture. */
struct limits {
	bool with_before; /* widths of a difference are those of either side */
	double least;	  /* share of a place */
	size_t budget;	  /* of what the places cost; told is whether a place of
			     the same frame is in */
	size_t (*cost)(const struct profile_node *node, const char *name,
		       bool is_again);
};

/* Takes the places with the largest shares, with their callers, until a limit
 * is reached. 0 or -ENOMEM. */
int shown_choose(const struct profile *profile, char **names,
		 const struct limits *limits, struct shown *ret_shown);
void shown_free(struct shown *shown);

/* "12 of 345 places are shown ...", or false if that is all. */
bool shown_describe(const struct shown *shown, char *text, size_t size);

#endif
