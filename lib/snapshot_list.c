/* SPDX-License-Identifier: MIT */
/* Lists of threads or processes that are found by (id, start time). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

#define FIRST_CAPACITY 64
#define MAX_CAPACITY   ((size_t)1 << 30) /* slots have 32 bits */

static void *record_at(const struct cpuclock__list *list, size_t index)
{
	return (char *)list->records + index * list->record_size;
}

static pid_t id_of(const struct cpuclock__list *list, const void *record)
{
	pid_t id;

	memcpy(&id, (const char *)record + list->id_offset, sizeof(id));
	return id;
}

static int64_t start_of(const void *record)
{
	int64_t start_ns;

	memcpy(&start_ns, (const char *)record + CPUCLOCK__START_OFFSET,
	       sizeof(start_ns));
	return start_ns;
}

/*
 * Ids come in rows and start times in steps of 10 ms: each bit of both has to
 * reach the low bits, or neighbours would share their slots.
 */
static uint64_t hash(pid_t id, int64_t start_ns)
{
	uint64_t h = (uint64_t)start_ns * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 32 ^ (uint32_t)id) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

/* The slot of a record, or the free one where it is to go. */
static uint32_t *slot_of(const struct cpuclock__list *list, pid_t id,
			 int64_t start_ns)
{
	size_t mask = list->n_slots - 1;
	size_t i = (size_t)hash(id, start_ns) & mask;

	/* At least half of them are free. */
	for (; list->slots[i]; i = (i + 1) & mask) {
		const void *record = record_at(list, list->slots[i] - 1);

		if (id_of(list, record) == id && start_of(record) == start_ns)
			break;
	}
	return &list->slots[i];
}

void *cpuclock__list_find(const struct cpuclock__list *list, pid_t id,
			  int64_t start_ns)
{
	uint32_t slot = list->count ? *slot_of(list, id, start_ns) : 0;

	return slot ? record_at(list, slot - 1) : NULL;
}

void cpuclock__list_cut(struct cpuclock__list *list, size_t count)
{
	list->count = count;
	if (list->n_slots)
		memset(list->slots, 0, list->n_slots * sizeof(*list->slots));
	for (size_t i = 0; i < count; i++) {
		const void *record = record_at(list, i);

		*slot_of(list, id_of(list, record), start_of(record)) =
			(uint32_t)i + 1;
	}
}

int cpuclock__list_reserve(struct cpuclock__list *list, size_t more)
{
	size_t capacity = list->capacity ? list->capacity : FIRST_CAPACITY;
	uint32_t *slots;
	void *records;

	if (more > MAX_CAPACITY - list->count)
		return -ENOMEM;
	while (capacity < list->count + more)
		capacity *= 2;
	if (capacity == list->capacity)
		return 0;

	records = realloc(list->records, capacity * list->record_size);
	if (!records)
		return -ENOMEM;
	list->records = records;
	slots = realloc(list->slots, 2 * capacity * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	list->slots = slots;
	list->n_slots = 2 * capacity;
	list->capacity = capacity;
	cpuclock__list_cut(list, list->count);
	return 0;
}

int cpuclock__list_add(struct cpuclock__list *list, const void *record)
{
	int err = cpuclock__list_reserve(list, 1);
	uint32_t *slot;

	if (err)
		return err;
	slot = slot_of(list, id_of(list, record), start_of(record));
	if (*slot)
		return -EEXIST;
	memcpy(record_at(list, list->count), record, list->record_size);
	*slot = (uint32_t)++list->count;
	return 0;
}

void cpuclock__list_free(struct cpuclock__list *list)
{
	free(list->records);
	free(list->slots);
}
