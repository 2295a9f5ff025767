/* SPDX-License-Identifier: MIT */
/*
 * What the shim answers with: the library's clock of the calling thread, or the
 * source that CPUCLOCK_SOURCE names.
 */
#ifndef CPUCLOCK_ANSWER_H
#define CPUCLOCK_ANSWER_H

#include <stdbool.h>

#include "cpuclock.h"

/*
 * The contracts of cpuclock_total and cpuclock_self; negative if the call is to
 * be passed on, which is so until the shim's constructors have run.
 */
extern int64_t (*answer_total)(void);
extern int (*answer_times)(struct cpuclock_times *ret_times);

/* As answer_total, and counts in the report whether the kernel was asked. */
int64_t answer_total_counted(bool was_asked);

#endif
