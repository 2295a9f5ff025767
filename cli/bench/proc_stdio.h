/* SPDX-License-Identifier: MIT */
/*
 * The baseline, done with the very calls that JDK up to 25 makes for
 * ThreadMXBean.getCurrentThreadUserTime(): snprintf, fopen, fread of up to 2047
 * bytes, strrchr, sscanf of 13 fields. It stands beside `proc` to show that the
 * old way was not made slow here. No source of the library: it allocates.
 */
#ifndef CPUCLOCK_PROC_STDIO_H
#define CPUCLOCK_PROC_STDIO_H

#include <stdint.h>
#include <sys/types.h>

#include "cpuclock.h"

struct proc_stdio {
	pid_t pid; /* a process, or 0 */
	pid_t tid; /* else a thread of this process */
	enum cpuclock_kind kind;
};

/* @arg is a struct proc_stdio; ns, or -errno. */
int64_t proc_stdio_read(const void *arg);

#endif
