/* SPDX-License-Identifier: MIT */
/* Kernel tracepoints, counted and sampled on the calling thread by perf. */
#ifndef CPUCLOCK_TRACEPOINT_H
#define CPUCLOCK_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Opens the folder of tracefs; where it is not mounted, a mount of it that has
 * no place in the file system and ends with the descriptor (fsmount(2), since
 * Linux 5.2). Returns a descriptor, or -errno and why.
 */
int tracefs_open(const char **ret_why);

/*
 * Opens a tracepoint such as "kmem/kmalloc" on the calling thread, disabled.
 * With period 0 it only counts, with 1 each hit is sampled with its raw data.
 * Returns a descriptor, or -errno: -ENOENT if the kernel has none of the name.
 */
int tracepoint_open(int tracefs, const char *name, uint64_t period);

/* Can tracepoints be counted here? If not, why not, in a static string. */
bool tracepoints_work(const char **ret_why);

/* Where a number stands in the raw data of a tracepoint. */
struct tracepoint_field {
	size_t offset;
	size_t size;
};

/* 0, or -ENOENT where the format has no such field. */
int tracepoint_field(int tracefs, const char *name, const char *field,
		     struct tracepoint_field *ret_field);

/* Finds a field in the text of a tracepoint's "format" file. */
int tracepoint_parse_field(const char *text, const char *field,
			   struct tracepoint_field *ret_field);

/* The ring of samples of one tracepoint_open(…, 1). */
struct sample_ring {
	void *pages;
	size_t size; /* of the data pages */
};

int sample_ring_open(int fd, struct sample_ring *ret_ring);

/*
 * Takes all samples out: how many, and the sum of a field. Returns 0, or
 * -EOVERFLOW if the kernel had to drop some.
 */
int sample_ring_sum(struct sample_ring *ring,
		    const struct tracepoint_field *field, uint64_t *ret_count,
		    uint64_t *ret_sum);
void sample_ring_close(struct sample_ring *ring);

#endif
