/* SPDX-License-Identifier: MIT */
#include "diff.h"

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

double diff_of(const struct profile *profile, uint64_t before, uint64_t after)
{
	return share(after, profile->root.total) -
	       share(before, profile->root.before_total);
}

double diff_scaled(const struct profile *profile, uint64_t before)
{
	/* Where there is no total to scale to, the counts are as good. */
	if (profile->root.total == 0)
		return (double)before;
	return share(before, profile->root.before_total) *
	       (double)profile->root.total;
}
