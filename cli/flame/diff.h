/* SPDX-License-Identifier: MIT */
/* A difference compares shares: the totals of two profiles tell how long each
 * was sampled, not what changed. */
#ifndef CPUCLOCK_FLAME_DIFF_H
#define CPUCLOCK_FLAME_DIFF_H

#include "profile.h"

/* By how much a share grew, from -1 to 1; of a finished profile. */
double diff_of(const struct profile *profile, uint64_t before, uint64_t after);

/* Samples of the other profile, as if that had the total of this one. */
double diff_scaled(const struct profile *profile, uint64_t before);

#endif
