/* SPDX-License-Identifier: MIT */
/* Frames by the time in them, wherever they were called from. */
#ifndef CPUCLOCK_FLAME_HOT_H
#define CPUCLOCK_FLAME_HOT_H

#include "profile.h"

struct hot {
	uint32_t frame;
	uint64_t self, before;
	uint64_t total, before_total; /* once, where a frame calls itself */
	double change;		      /* of its own share, in a difference */
};

enum hot_order { HOT_SELF, HOT_TOTAL, HOT_CHANGE /* of self */ };

/* One for each of the profile's frames; NULL if memory is short. */
struct hot *hot_new(const struct profile *profile);
void hot_sort(const struct profile *profile, struct hot *hot,
	      enum hot_order order);

#endif
