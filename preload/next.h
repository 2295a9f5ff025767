/* SPDX-License-Identifier: MIT */
/*
 * The functions that the shim stands in front of: those of the next library in
 * line that has them, which is libc or, say, a sanitizer's. For callers before
 * the shim's first constructor they are the system calls.
 */
#ifndef CPUCLOCK_NEXT_H
#define CPUCLOCK_NEXT_H

#include <sys/resource.h>
#include <time.h>

extern int (*next_clock_gettime)(clockid_t clockid, struct timespec *ret_time);
extern int (*next_getrusage)(int who, struct rusage *ret_usage);

#endif
