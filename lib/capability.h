/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_CAPABILITY_H
#define CPUCLOCK_CAPABILITY_H

#include <stdbool.h>

/* Is this capability (capabilities(7)) in effect for the calling thread? */
bool cpuclock__capable(unsigned int capability);

#endif
