/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"

int ring_open(struct ring *ring, int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *start = mmap(NULL, page + size, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);

	if (start == MAP_FAILED)
		return -errno;
	ring->page = start;
	ring->data = (const uint8_t *)start + page;
	ring->size = size;
	ring->mapped = page + size;
	return 0;
}

void ring_close(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->mapped);
	ring->page = NULL;
}

/* It may go on at the beginning. */
static void copy(const struct ring *ring, uint64_t from, void *to, size_t size)
{
	size_t offset = from & (ring->size - 1);
	size_t first = ring->size - offset < size ? ring->size - offset : size;

	memcpy(to, ring->data + offset, first);
	memcpy((uint8_t *)to + first, ring->data, size - first);
}

void ring_drain(struct ring *ring,
		void (*take)(struct perf_event_header *record, void *data),
		void *data)
{
	uint64_t head =
		__atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header, *record;

		copy(ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		record = malloc(header.size);
		if (record) {
			copy(ring, tail, record, header.size);
			take(record, data);
		}
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}
