/* SPDX-License-Identifier: MIT */
/*
 * Colours of frames: the hue tells the kind, in the field's convention; the
 * tone comes of the name, so that a function looks the same in every picture.
 */
#ifndef CPUCLOCK_FLAME_PALETTE_H
#define CPUCLOCK_FLAME_PALETTE_H

#include <stdbool.h>

#include "profile.h"

enum {
	N_HUES = 7,
	N_TONES = 6,
	N_CHANGES = 17, /* from shrunk by most to grown by most */
	FIRST_CHANGE = N_HUES * N_TONES,
	N_COLOURS = FIRST_CHANGE + N_CHANGES,
};

struct colour {
	char hex[8]; /* "#rrggbb" */
};

/* What frames of a hue are, in a word. */
extern const char *const hue_words[N_HUES];

/* A number below FIRST_CHANGE, of which the hue is that / N_TONES. */
unsigned int palette_of(const struct frame *frame);

/* A number from FIRST_CHANGE on; in proportion to the root of the change. */
unsigned int palette_of_change(const struct profile *profile,
			       const struct profile_node *node, double largest);

/* The largest change of a place's share; 1 if there is none. */
double palette_largest_change(const struct profile *profile);

struct colour palette_colour(unsigned int number, bool is_dark);

#endif
