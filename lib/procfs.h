/* SPDX-License-Identifier: MIT */
/* What those that read /proc share: paths, one read of a file, its unit. */
#ifndef CPUCLOCK_PROCFS_H
#define CPUCLOCK_PROCFS_H

#include "source.h"

/* The longest stat line, of 52 numbers and a name of 64 bytes, fits twice. */
#define CPUCLOCK__PROCFS_SIZE 2048

/* Fills clock->path with the target's @file. */
void cpuclock__procfs_path(struct cpuclock *clock, const char *file);

/*
 * Opens, reads and closes a file of /proc: three system calls. Returns the
 * number of bytes, or -errno as the kernel gave it.
 */
int cpuclock__procfs_read(const char *path, char *buffer, size_t size);

/* The unit of times in stat, of USER_HZ. No system call. */
int64_t cpuclock__procfs_tick_ns(void);

/* Is there a /proc, and does it show the PID namespace of this process? */
const struct cpuclock__verdict *cpuclock__procfs_probe(void);

/* The verdict on "/proc/thread-self/..." for what such a read returned. */
const struct cpuclock__verdict *cpuclock__procfs_verdict(int result);

#endif
