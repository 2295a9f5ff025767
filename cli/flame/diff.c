/* SPDX-License-Identifier: MIT */
#include "diff.h"

#include <inttypes.h>
#include <math.h>

#include "facts.h"

int diff_normalise(struct profile *profile)
{
	struct profile_node *node;
	uint64_t before = 0, after = 0;

	/* Of two profiles without samples it is a difference, too. */
	profile->is_difference = true;
	for (node = &profile->root; node;
	     node = (struct profile_node *)profile_next(node)) {
		before += node->before;
		after += node->self;
	}
	for (node = &profile->root; node && before && after;
	     node = (struct profile_node *)profile_next(node))
		node->before =
			(uint64_t)llround((double)node->before *
					  ((double)after / (double)before));
	return profile_note(profile,
			    "difference: %" PRIu64
			    " before, scaled to the %" PRIu64 " %s after",
			    before, after, unit_of(profile));
}
