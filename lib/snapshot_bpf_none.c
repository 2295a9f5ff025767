/* SPDX-License-Identifier: MIT */
/* In place of snapshot_bpf.c where it could not be built. */
#include <errno.h>

#include "snapshot.h"

static int open_bpf(struct cpuclock_snapshot *snapshot, const char **ret_why)
{
	(void)snapshot;
	*ret_why = "cpuclock was built without it: that takes clang, bpftool "
		   "and the headers of libbpf";
	return -ENOSYS;
}

const struct cpuclock__snapshot_source cpuclock__snapshot_bpf = {
	.name = "bpf",
	.summary = "a BPF program that walks all tasks, in one system call",
	.open = open_bpf,
};

const struct cpuclock__snapshot_source cpuclock__snapshot_bpf_iter = {
	.name = "bpf-iter",
	.summary = "a BPF program run for each task by a file's reads",
	.open = open_bpf,
};
