/* SPDX-License-Identifier: MIT */
/* What the BPF programs and snapshot_bpf.c share: memory that both map. */
#ifndef CPUCLOCK_BPF_RECORD_H
#define CPUCLOCK_BPF_RECORD_H

#include <linux/types.h>

/* A thread as the kernel has it; times are nanoseconds. */
struct snapshot_task {
	__u64 start_ns;		/* start_boottime */
	__u64 process_start_ns; /* of the main thread */
	__u64 exec_ns;		/* sum_exec_runtime */
	__u64 extra_ns; /* on its CPU since that was brought up to date */
	__u64 utime;	/* sampled, not scaled */
	__u64 stime;
	__u64 scaled_utime; /* as /proc last showed them: a lower bound */
	__u64 scaled_stime;
	__u64 run_delay;
	__u64 nvcsw;
	__u64 nivcsw;

	/* Of the threads of its process that have ended. */
	__u64 ended_exec_ns;
	__u64 ended_utime;
	__u64 ended_stime;

	/* In the PID namespace of the process that reads. */
	__u32 tid;
	__u32 tgid;
	__u32 ppid;

	__u32 cpu;
	__u32 state; /* with exit_state */
	__u32 flags;
	char comm[16];
};

enum snapshot_task_flags {
	SNAPSHOT_ON_CPU = 1,
	SNAPSHOT_EXTRA = 2, /* extra_ns holds; without, it is not known */
};

/* A place in the ring of threads that ended: whole if both numbers are 1 + its
 * count from the start. */
struct snapshot_exit {
	__u64 begun;
	struct snapshot_task task;
	__u64 done;
};

#endif
