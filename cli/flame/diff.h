/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_FLAME_DIFF_H
#define CPUCLOCK_FLAME_DIFF_H

#include "profile.h"

/*
 * Scales the other profile of a difference to the total of this one, as
 * difffolded -n does: what is compared is the share. To be called before
 * profile_finish. 0 or -ENOMEM.
 */
int diff_normalise(struct profile *profile);

#endif
