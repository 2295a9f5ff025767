/* SPDX-License-Identifier: MIT */
/*
 * What the kernel does for one call: system calls, and memory that it takes
 * from its slab allocator, both seen through tracepoints on the thread that
 * calls.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench.h"
#include "tracepoint.h"

#define CALLS 64

/* Every way into the slab allocator; older kernels have the last two. */
static const char *const allocations[] = {
	"kmem/kmalloc",
	"kmem/kmem_cache_alloc",
	"kmem/kmalloc_node",
	"kmem/kmem_cache_alloc_node",
};

#define N_ALLOCATIONS (sizeof(allocations) / sizeof(allocations[0]))

struct probes {
	int system_calls;
	int allocations[N_ALLOCATIONS]; /* -1 where the kernel has none */
	struct tracepoint_field bytes[N_ALLOCATIONS];
	struct sample_ring rings[N_ALLOCATIONS];
};

struct work {
	double system_calls;
	double allocations;
	double allocated_bytes;
};

static int open_allocation(int tracefs, size_t i, struct probes *probes)
{
	int fd = tracepoint_open(tracefs, allocations[i], 1);
	int err;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	err = tracepoint_field(tracefs, allocations[i], "bytes_alloc",
			       &probes->bytes[i]);
	if (!err)
		err = sample_ring_open(fd, &probes->rings[i]);
	if (err) {
		close(fd);
		return err;
	}
	probes->allocations[i] = fd;
	return 0;
}

static void close_probes(struct probes *probes)
{
	for (size_t i = 0; i < N_ALLOCATIONS; i++) {
		if (probes->allocations[i] < 0)
			continue;
		sample_ring_close(&probes->rings[i]);
		close(probes->allocations[i]);
	}
	if (probes->system_calls >= 0)
		close(probes->system_calls);
}

static int open_probes(int tracefs, struct probes *probes)
{
	int err = 0;

	for (size_t i = 0; i < N_ALLOCATIONS; i++)
		probes->allocations[i] = -1;
	probes->system_calls =
		tracepoint_open(tracefs, "raw_syscalls/sys_enter", 0);
	if (probes->system_calls < 0)
		return probes->system_calls;
	for (size_t i = 0; i < N_ALLOCATIONS && !err; i++)
		err = open_allocation(tracefs, i, probes);
	return err;
}

static void switch_probes(const struct probes *probes, unsigned long request)
{
	for (size_t i = 0; i < N_ALLOCATIONS; i++) {
		if (probes->allocations[i] >= 0)
			ioctl(probes->allocations[i], request, 0);
	}
	/* Last, so that the memory counted above is not its own; the ioctls it
	 * sees itself are found by a run without calls. */
	ioctl(probes->system_calls, request, 0);
}

/* Counts over @n calls; the figures are sums, not yet per call. */
static int count(struct probes *probes, const struct bench_call *call, int n,
		 struct work *ret_work)
{
	struct work work = {0};
	uint64_t hits = 0;
	int err = 0;

	ioctl(probes->system_calls, PERF_EVENT_IOC_RESET, 0);
	switch_probes(probes, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < n && !err; i++)
		err = call->call(call->arg) < 0 ? -EIO : 0;
	switch_probes(probes, PERF_EVENT_IOC_DISABLE);

	if (read(probes->system_calls, &hits, sizeof(hits)) != sizeof(hits))
		err = -EIO;
	work.system_calls = (double)hits;
	for (size_t i = 0; i < N_ALLOCATIONS; i++) {
		uint64_t n_allocations, bytes;

		if (probes->allocations[i] < 0)
			continue;
		/* Also after an error: what is left would go to the next. */
		if (sample_ring_sum(&probes->rings[i], &probes->bytes[i],
				    &n_allocations, &bytes))
			err = -EOVERFLOW;
		work.allocations += (double)n_allocations;
		work.allocated_bytes += (double)bytes;
	}
	*ret_work = work;
	return err;
}

/* The difference to a run without calls is what the calls did. */
static void measure(struct probes *probes, struct bench_row *row,
		    pid_t other_tid)
{
	struct bench_call call = {0};
	struct work with, without;

	if (bench_row_prepare(row, other_tid, &call) != 0)
		return;
	call.call(call.arg);
	if (count(probes, &call, 0, &without) == 0 &&
	    count(probes, &call, CALLS, &with) == 0) {
		row->system_calls =
			(with.system_calls - without.system_calls) / CALLS;
		row->allocations =
			(with.allocations - without.allocations) / CALLS;
		row->allocated_bytes =
			(with.allocated_bytes - without.allocated_bytes) /
			CALLS;
	}
	if (call.release)
		call.release(call.arg);
}

static void measure_rows(struct bench *bench, struct probes *probes)
{
	pid_t other_tid;
	struct sleeper *sleeper = sleeper_start(&other_tid);

	if (!sleeper)
		return;
	for (size_t i = 0; i < bench->n_rows; i++) {
		if (bench->rows[i].selected)
			measure(probes, &bench->rows[i], other_tid);
	}
	sleeper_end(sleeper);
}

void bench_kernel_work(struct bench *bench)
{
	struct probes probes;
	const char *why;
	int tracefs;

	bench->kernel_work_why = NULL;
	if (!tracepoints_work(&why)) {
		bench->kernel_work_why = why;
		return;
	}
	tracefs = tracefs_open(&why);
	if (open_probes(tracefs, &probes) == 0)
		measure_rows(bench, &probes);
	else
		bench->kernel_work_why = "the kernel's tracepoints of memory "
					 "cannot be sampled";
	close_probes(&probes);
	close(tracefs);
}
