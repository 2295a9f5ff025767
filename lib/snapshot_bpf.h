/* SPDX-License-Identifier: MIT */
/* The sources of snapshots that use BPF: what opening leaves for taking. */
#ifndef CPUCLOCK_SNAPSHOT_BPF_H
#define CPUCLOCK_SNAPSHOT_BPF_H

#include <errno.h> /* before the skeleton, which needs it */
#include <string.h>

#include <snapshot.skel.h>

#include "bpf/record.h"
#include "snapshot.h"

/* Places in the ring of threads that ended, a power of two. */
#define CPUCLOCK__RING_SIZE 16384

struct cpuclock__bpf_state {
	struct programs *programs;
	struct snapshot_task *records; /* mapped */
	size_t n_records;
	struct snapshot_exit *exits; /* mapped; NULL: not asked for */
	uint64_t exits_read;
	struct snapshot_task *copy; /* of what did not fit at once */
	size_t copy_size;
	bool walks;
	bool restricted;
	int64_t lag_ns; /* of the last calibration */
};

/* The contract of a source's take. */
int cpuclock__bpf_take(struct cpuclock_snapshot *snapshot);

#endif
