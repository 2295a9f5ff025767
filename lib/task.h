/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_TASK_H
#define CPUCLOCK_TASK_H

#include "cpuclock.h"

/* Does the id exist, and is it one of this kind of target? 0, or -errno. */
int cpuclock__task_check(enum cpuclock_target target, pid_t id);

/*
 * Why can a target not be read? The kernel answers EINVAL (clock ids) or
 * ENOENT (/proc) for ended, foreign and hidden ones alike; this tells them
 * apart with the errors of cpuclock_open. @err is what the kernel said, and
 * returned where it was the truth.
 */
int cpuclock__task_error(enum cpuclock_target target, pid_t id, int err);

#endif
