/* SPDX-License-Identifier: MIT */
/* A library whose constructors read clocks before the shim's have run. */
#ifndef CPUCLOCK_TESTS_EARLY_H
#define CPUCLOCK_TESTS_EARLY_H

#include <stdint.h>

extern int early_calls;	   /* that were made */
extern int early_failures; /* of these */
extern int64_t early_ns;   /* the thread's time then */

#endif
