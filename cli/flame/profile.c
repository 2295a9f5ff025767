/* SPDX-License-Identifier: MIT */
/*
 * The tree is built through two hash tables: of frames, and of places by their
 * parent and frame. Nothing recurs: a stack may be as deep as memory.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_store.h"
#include "text.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
	return hash ^ hash >> 29;
}

static uint64_t hash_frame(const char *name, size_t length, unsigned int kind)
{
	uint64_t hash = mix(length, kind), word;

	for (; length >= sizeof(word); length -= sizeof(word)) {
		memcpy(&word, name, sizeof(word));
		hash = mix(hash, word);
		name += sizeof(word);
	}
	word = 0;
	memcpy(&word, name, length);
	return mix(hash, word);
}

static uint64_t hash_place(const struct profile_node *parent, uint32_t frame)
{
	return mix(mix(0, (uintptr_t)parent), frame);
}

static uint64_t hash_slot(const struct profile *profile,
			  const struct hash_table *table, uintptr_t slot)
{
	if (table == &profile->store->frames) {
		const struct frame *frame = &profile->frames[slot - 1];

		return hash_frame(frame->name, strlen(frame->name),
				  frame->kind);
	}
	return hash_place(((struct profile_node *)slot)->parent,
			  ((struct profile_node *)slot)->frame);
}

/* Makes sure that one more fits. */
static int grow(const struct profile *profile, struct hash_table *table)
{
	struct hash_table larger = {.n_used = table->n_used};

	if (2 * (table->n_used + 1) <= table->n_slots)
		return 0;
	larger.n_slots = table->n_slots ? 2 * table->n_slots : 1024;
	larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->n_slots; i++) {
		size_t at;

		if (!table->slots[i])
			continue;
		at = hash_slot(profile, table, table->slots[i]);
		while (larger.slots[at & (larger.n_slots - 1)])
			at++;
		larger.slots[at & (larger.n_slots - 1)] = table->slots[i];
	}
	free(table->slots);
	*table = larger;
	return 0;
}

static char *keep_bytes(struct profile_store *store, const char *bytes,
			size_t size)
{
	struct byte_chunk *chunk = store->bytes;
	char *kept;

	if (!chunk || chunk->size - chunk->used < size) {
		size_t room = size > BYTES_PER_CHUNK ? size : BYTES_PER_CHUNK;

		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		*chunk = (struct byte_chunk){.older = store->bytes,
					     .size = room};
		store->bytes = chunk;
	}
	kept = chunk->bytes + chunk->used;
	memcpy(kept, bytes, size);
	chunk->used += size;
	return kept;
}

static int add_frame(struct profile *profile, const char *name, size_t length,
		     enum frame_kind kind)
{
	struct profile_store *store = profile->store;
	size_t capacity = store->frames_capacity;
	struct frame *frames = profile->frames;

	if (profile->n_frames == UINT32_MAX)
		return -ENOMEM;
	if (profile->n_frames == capacity) {
		capacity = capacity ? 2 * capacity : 256;
		frames = reallocarray(frames, capacity, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		profile->frames = frames;
		store->frames_capacity = capacity;
	}
	name = keep_bytes(store, name, length + 1);
	if (!name)
		return -ENOMEM;
	frames[profile->n_frames++] = (struct frame){name, kind};
	return 0;
}

static int find_frame(struct profile *profile, const struct frame *wanted,
		      uint32_t *ret_index)
{
	struct hash_table *table = &profile->store->frames;
	size_t length = strlen(wanted->name), at;
	uintptr_t slot;
	int err = grow(profile, table);

	if (err)
		return err;
	at = hash_frame(wanted->name, length, wanted->kind);
	while ((slot = table->slots[at & (table->n_slots - 1)])) {
		const struct frame *frame = &profile->frames[slot - 1];

		if (frame->kind == wanted->kind &&
		    strcmp(frame->name, wanted->name) == 0) {
			*ret_index = (uint32_t)(slot - 1);
			return 0;
		}
		at++;
	}
	err = add_frame(profile, wanted->name, length, wanted->kind);
	if (err)
		return err;
	table->slots[at & (table->n_slots - 1)] = profile->n_frames;
	table->n_used++;
	*ret_index = (uint32_t)(profile->n_frames - 1);
	return 0;
}

static struct profile_node *new_node(struct profile_store *store)
{
	struct node_chunk *chunk = store->nodes;

	if (!chunk || chunk->used == NODES_PER_CHUNK) {
		chunk = calloc(1, sizeof(*chunk));
		if (!chunk)
			return NULL;
		chunk->older = store->nodes;
		store->nodes = chunk;
	}
	return &chunk->nodes[chunk->used++];
}

static int find_child(struct profile *profile, struct profile_node **node,
		      const struct frame *frame)
{
	struct hash_table *table = &profile->store->places;
	struct profile_node *parent = *node, *child;
	uint32_t index;
	size_t at;
	int err = find_frame(profile, frame, &index);

	if (!err)
		err = grow(profile, table);
	if (err)
		return err;
	at = hash_place(parent, index);
	while ((child = (struct profile_node *)
				table->slots[at & (table->n_slots - 1)])) {
		if (child->parent == parent && child->frame == index) {
			*node = child;
			return 0;
		}
		at++;
	}
	child = new_node(profile->store);
	if (!child)
		return -ENOMEM;
	*child = (struct profile_node){.name = profile->frames[index].name,
				       .kind = frame->kind,
				       .frame = index,
				       .parent = parent,
				       .sibling = parent->child};
	parent->child = child;
	table->slots[at & (table->n_slots - 1)] = (uintptr_t)child;
	table->n_used++;
	profile->n_nodes++;
	*node = child;
	return 0;
}

/* Places that were made before memory ran short have no samples, and are taken
 * out at the end. */
static int place(struct profile *profile, const struct frame *frames,
		 size_t n_frames, struct profile_node **ret_node)
{
	struct profile_node *node = &profile->root;

	for (size_t i = 0; i < n_frames; i++) {
		int err = find_child(profile, &node, &frames[i]);

		if (err)
			return err;
	}
	*ret_node = node;
	return 0;
}

int profile_add(struct profile *profile, const struct frame *frames,
		size_t n_frames, uint64_t samples)
{
	struct profile_node *node;
	int err;

	if (samples > INT64_MAX - profile->store->sum)
		return -EOVERFLOW;
	err = place(profile, frames, n_frames, &node);
	if (err)
		return err;
	node->self += samples;
	profile->store->sum += samples;
	return 0;
}

int profile_add_before(struct profile *profile, const struct frame *frames,
		       size_t n_frames, uint64_t samples)
{
	struct profile_node *node;
	int err;

	if (samples > INT64_MAX - profile->store->sum_before)
		return -EOVERFLOW;
	err = place(profile, frames, n_frames, &node);
	if (err)
		return err;
	node->before += samples;
	profile->store->sum_before += samples;
	profile->is_difference = true;
	return 0;
}

struct profile *profile_new(void)
{
	static const struct profile_about unknown = {
		.wall_ns = -1,
		.rate_hz = -1,
		.sample_ns = -1,
		.cpu_ns = -1,
		.lost = -1,
		.throttled = -1,
		.truncated = -1,
	};
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->about = unknown;
	profile->root.name = "";
	profile->root.kind = FRAME_ROOT;
	profile->n_nodes = 1;
	profile->store = calloc(1, sizeof(*profile->store));
	if (!profile->store || add_frame(profile, "", 0, FRAME_ROOT) != 0) {
		profile_free(profile);
		return NULL;
	}
	return profile;
}

static void free_store(struct profile_store *store)
{
	while (store->nodes) {
		struct node_chunk *older = store->nodes->older;

		free(store->nodes);
		store->nodes = older;
	}
	while (store->bytes) {
		struct byte_chunk *older = store->bytes->older;

		free(store->bytes);
		store->bytes = older;
	}
	free(store->frames.slots);
	free(store->places.slots);
	free(store);
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	if (profile->store)
		free_store(profile->store);
	free(profile->frames);
	for (size_t i = 0; i < profile->about.n_notes; i++)
		free(profile->about.notes[i]);
	free(profile->about.notes);
	free(profile->about.title);
	free(profile->about.unit);
	free(profile);
}

int profile_note(struct profile *profile, const char *format, ...)
{
	struct profile_about *about = &profile->about;
	char **notes, *note, *raw;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&raw, format, args);
	va_end(args);
	if (length < 0)
		return -ENOMEM;
	/* Formats that hold notes want UTF-8, and paths may be anything. */
	note = text_clean(raw, SIZE_MAX);
	free(raw);
	if (!note)
		return -ENOMEM;
	for (size_t i = 0; i < about->n_notes; i++) {
		if (strcmp(about->notes[i], note) == 0) {
			free(note);
			return 0;
		}
	}
	notes = reallocarray(about->notes, about->n_notes + 1, sizeof(*notes));
	if (!notes) {
		free(note);
		return -ENOMEM;
	}
	about->notes = notes;
	about->notes[about->n_notes++] = note;
	return 0;
}
