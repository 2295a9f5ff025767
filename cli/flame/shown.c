/* SPDX-License-Identifier: MIT */
#include "shown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct candidate {
	const struct profile_node *node;
	size_t order;
	uint64_t weight;
};

/* Widths of a difference can be those of either profile. */
static uint64_t weight_of(const struct profile_node *node)
{
	return node->total > node->before_total ? node->total
						: node->before_total;
}

/* A caller has as much as what it calls, and comes before it. */
static int by_weight(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return a->order < b->order ? -1 : 1;
}

static int by_order(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return a->order < b->order ? -1 : 1;
}

static struct candidate *candidates_new(const struct profile *profile)
{
	struct candidate *candidates =
		calloc(profile->n_nodes, sizeof(*candidates));
	const struct profile_node *node = &profile->root;

	for (size_t i = 0; candidates && node; i++) {
		candidates[i] = (struct candidate){
			.node = node, .order = i, .weight = weight_of(node)};
		node = profile_next(node);
	}
	return candidates;
}

int shown_choose(const struct profile *profile, char **names, uint64_t least,
		 size_t budget,
		 size_t (*cost)(const struct profile_node *node,
				const char *name, bool is_again),
		 struct shown *ret_shown)
{
	struct candidate *candidates = candidates_new(profile);
	bool *is_known = calloc(profile->n_frames, sizeof(*is_known));
	struct shown shown = {
		.nodes = reallocarray(
			NULL, profile->n_nodes,
			/* NOLINTNEXTLINE(bugprone-sizeof-expression) */
			sizeof(*shown.nodes)),
	};
	size_t n = 0;

	if (!candidates || !is_known || !shown.nodes) {
		free(candidates);
		free(is_known);
		free(shown.nodes);
		return -ENOMEM;
	}
	qsort(candidates, profile->n_nodes, sizeof(*candidates), by_weight);
	for (; n < profile->n_nodes; n++) {
		const struct profile_node *node = candidates[n].node;
		size_t price =
			cost(node, names[node->frame], is_known[node->frame]);

		/* The root is in whatever it costs. */
		if (n > 0 && (price > budget || candidates[n].weight < least))
			break;
		budget -= price < budget ? price : budget;
		is_known[node->frame] = true;
	}
	if (n < profile->n_nodes)
		shown.below = candidates[n].weight;
	qsort(candidates, n, sizeof(*candidates), by_order);
	for (size_t i = 0; i < n; i++)
		shown.nodes[i] = candidates[i].node;
	shown.n_nodes = n;
	free(candidates);
	free(is_known);
	*ret_shown = shown;
	return 0;
}

void shown_free(struct shown *shown)
{
	free(shown->nodes);
}

bool shown_describe(const struct profile *profile, const struct shown *shown,
		    char *text, size_t size)
{
	uint64_t all = weight_of(&profile->root);

	if (shown->n_nodes == profile->n_nodes)
		return false;
	snprintf(text, size,
		 "%zu of %zu places are shown; of the others none has more "
		 "than %.2g %% of all. Written as .folded, all are there.",
		 shown->n_nodes - 1, profile->n_nodes - 1,
		 100.0 * (double)shown->below / (double)(all ? all : 1));
	return true;
}
