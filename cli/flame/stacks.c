/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "stacks.h"

#define MIN_SLOTS 4096

static uint32_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t value = a * UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ b ^ value >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ c ^ value >> 32) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(value >> 32);
}

static uint32_t hash_place(const struct place *place)
{
	return mix(place->kind, (uintptr_t)place->owner, place->address);
}

static uint32_t hash_node(uint32_t parent, uint32_t place)
{
	return mix(parent, place, 0);
}

static void put(uint32_t *table, uint32_t slots, uint32_t hash, uint32_t number)
{
	while (table[hash & (slots - 1)])
		hash++;
	table[hash & (slots - 1)] = number;
}

/* At least half of the slots stay free. Arrays have room for as many as half
 * of the slots, and begin at number 1. */
static bool grow_places(struct stacks *stacks)
{
	uint32_t slots =
		stacks->place_slots ? stacks->place_slots * 2 : MIN_SLOTS;
	struct place *places =
		realloc(stacks->places, slots / 2 * sizeof(*places));
	uint32_t *table;

	if (!places)
		return false;
	stacks->places = places;
	table = calloc(slots, sizeof(*table));
	if (!table)
		return false;
	for (uint32_t i = 1; i < stacks->n_places; i++)
		put(table, slots, hash_place(&places[i]), i);
	free(stacks->place_table);
	stacks->place_table = table;
	stacks->place_slots = slots;
	return true;
}

static bool grow_nodes(struct stacks *stacks)
{
	uint32_t slots =
		stacks->node_slots ? stacks->node_slots * 2 : MIN_SLOTS;
	struct stack_node *nodes =
		realloc(stacks->nodes, slots / 2 * sizeof(*nodes));
	uint32_t *table;

	if (!nodes)
		return false;
	stacks->nodes = nodes;
	table = calloc(slots, sizeof(*table));
	if (!table)
		return false;
	for (uint32_t i = 1; i < stacks->n_nodes; i++)
		put(table, slots, hash_node(nodes[i].parent, nodes[i].place),
		    i);
	free(stacks->node_table);
	stacks->node_table = table;
	stacks->node_slots = slots;
	return true;
}

static bool have_room(struct stacks *stacks)
{
	if (stacks->out_of_memory)
		return false;
	stacks->out_of_memory = (stacks->n_places >= stacks->place_slots / 2 &&
				 !grow_places(stacks)) ||
				(stacks->n_nodes >= stacks->node_slots / 2 &&
				 !grow_nodes(stacks));
	if (stacks->out_of_memory)
		return false;
	if (stacks->n_places == 0) {
		stacks->places[stacks->n_places++] = (struct place){0};
		stacks->nodes[stacks->n_nodes++] = (struct stack_node){0};
	}
	return true;
}

static uint32_t get_place(struct stacks *stacks, const struct place *place)
{
	uint32_t mask = stacks->place_slots - 1;
	uint32_t hash = hash_place(place);
	uint32_t number;

	for (; (number = stacks->place_table[hash & mask]) != 0; hash++) {
		const struct place *known = &stacks->places[number];

		if (known->kind == place->kind &&
		    known->owner == place->owner &&
		    known->address == place->address)
			return number;
	}
	number = stacks->n_places++;
	stacks->places[number] = *place;
	stacks->place_table[hash & mask] = number;
	return number;
}

uint32_t stacks_push(struct stacks *stacks, uint32_t node,
		     const struct place *place)
{
	uint32_t hash, mask, number, place_number;

	if (!have_room(stacks))
		return node;
	place_number = get_place(stacks, place);
	mask = stacks->node_slots - 1;
	hash = hash_node(node, place_number);
	for (; (number = stacks->node_table[hash & mask]) != 0; hash++) {
		const struct stack_node *known = &stacks->nodes[number];

		if (known->parent == node && known->place == place_number)
			return number;
	}
	number = stacks->n_nodes++;
	stacks->nodes[number] = (struct stack_node){node, place_number, 0};
	stacks->node_table[hash & mask] = number;
	return number;
}

const char *stacks_text(struct stacks *stacks, const char *text)
{
	char **texts;
	char *copy;

	/* The last is the likeliest; there is one for each root. */
	for (size_t i = stacks->n_texts; i > 0; i--) {
		if (strcmp(stacks->texts[i - 1], text) == 0)
			return stacks->texts[i - 1];
	}
	texts = realloc(stacks->texts, (stacks->n_texts + 1) * sizeof(*texts));
	if (!texts)
		return NULL;
	stacks->texts = texts;
	copy = strdup(text);
	if (copy)
		texts[stacks->n_texts++] = copy;
	return copy;
}

void stacks_count(struct stacks *stacks, uint32_t node, uint64_t samples)
{
	if (node != 0)
		stacks->nodes[node].samples += samples;
}

void stacks_free(struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->n_texts; i++)
		free(stacks->texts[i]);
	free(stacks->texts);
	free(stacks->places);
	free(stacks->nodes);
	free(stacks->place_table);
	free(stacks->node_table);
	*stacks = (struct stacks){0};
}
