/* SPDX-License-Identifier: MIT */
/* The buffer that the kernel shares with the reader of a CPU's events. */
#ifndef CPUCLOCK_FLAME_RING_H
#define CPUCLOCK_FLAME_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t size; /* a power of two */
	size_t mapped;
};

/*
 * Maps one of @size bytes, a power of two of pages. 0, or -errno: -EPERM where
 * so much may not be locked in memory.
 */
int ring_open(struct ring *ring, int fd, size_t size);
void ring_close(struct ring *ring);

/* Passes copies of all records that are there on; each is whole. The callee
 * frees them. */
void ring_drain(struct ring *ring,
		void (*take)(struct perf_event_header *record, void *data),
		void *data);

#endif
