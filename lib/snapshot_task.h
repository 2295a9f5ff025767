/* SPDX-License-Identifier: MIT */
/* A thread as the BPF programs saw it, as records of a snapshot. */
#ifndef CPUCLOCK_SNAPSHOT_TASK_H
#define CPUCLOCK_SNAPSHOT_TASK_H

#include "bpf/record.h"
#include "cpuclock.h"

/*
 * At most @max_extra_ns are added for what has passed since the kernel looked.
 * stale_ns becomes 0.
 */
void cpuclock__task_thread(const struct snapshot_task *task,
			   int64_t max_extra_ns,
			   struct cpuclock_thread *ret_thread);

/* The process of a task, its main thread if there is one; times are 0. */
void cpuclock__task_process(const struct snapshot_task *task,
			    struct cpuclock_process *ret_process);

/*
 * User and system time by the kernel's rule (kernel/sched/cputime.c,
 * cputime_adjust): the total is split as the samples are, and neither part is
 * below the bounds.
 */
struct cpuclock_times cpuclock__scale(int64_t total_ns, uint64_t utime,
				      uint64_t stime, int64_t min_user_ns,
				      int64_t min_system_ns);

#endif
