/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile_store.h"

static int by_name(const void *left, const void *right)
{
	const struct profile_node *a =
		*(const struct profile_node *const *)left;
	const struct profile_node *b =
		*(const struct profile_node *const *)right;
	int order = strcmp(a->name, b->name);

	return order ? order : (int)a->kind - (int)b->kind;
}

/* Links the children anew, by name, and without those that have no samples. */
static void sort_children(struct profile_node *node,
			  struct profile_node **children)
{
	struct profile_node **link = &node->child;
	size_t n = 0;

	for (struct profile_node *child = node->child; child;
	     child = child->sibling) {
		if (child->total || child->before_total)
			children[n++] = child;
	}
	if (n > 1)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression) */
		qsort(children, n, sizeof(*children), by_name);
	for (size_t i = 0; i < n; i++) {
		*link = children[i];
		link = &children[i]->sibling;
	}
	*link = NULL;
}

/* A child is younger than its parent: from the youngest on, each one's sum is
 * whole when it is added to its parent's. */
static void sum_up(struct profile *profile)
{
	struct node_chunk *chunk;

	profile->root.total = profile->root.before_total = 0;
	for (chunk = profile->store->nodes; chunk; chunk = chunk->older) {
		for (size_t i = 0; i < chunk->used; i++)
			chunk->nodes[i].total = chunk->nodes[i].before_total =
				0;
	}
	for (chunk = profile->store->nodes; chunk; chunk = chunk->older) {
		for (size_t i = chunk->used; i-- > 0;) {
			struct profile_node *node = &chunk->nodes[i];

			node->total += node->self;
			node->before_total += node->before;
			node->parent->total += node->total;
			node->parent->before_total += node->before_total;
		}
	}
	profile->root.total += profile->root.self;
	profile->root.before_total += profile->root.before;
}

int profile_finish(struct profile *profile)
{
	struct profile_node **children =
		/* NOLINTNEXTLINE(bugprone-sizeof-expression) */
		reallocarray(NULL, profile->n_nodes, sizeof(*children));
	const struct profile_node *at = &profile->root;

	if (!children)
		return -ENOMEM;
	sum_up(profile);
	sort_children(&profile->root, children);
	for (struct node_chunk *chunk = profile->store->nodes; chunk;
	     chunk = chunk->older) {
		for (size_t i = 0; i < chunk->used; i++)
			sort_children(&chunk->nodes[i], children);
	}
	free(children);
	profile->n_stacks = profile->n_nodes = 0;
	for (; at; at = profile_next(at)) {
		profile->n_nodes++;
		profile->n_stacks += at->self || at->before;
	}
	return 0;
}

const struct profile_node *profile_next(const struct profile_node *node)
{
	if (node->child)
		return node->child;
	while (node && !node->sibling)
		node = node->parent;
	return node ? node->sibling : NULL;
}

double profile_ns(const struct profile *profile, uint64_t samples)
{
	int64_t sample_ns = profile->about.sample_ns;

	return sample_ns < 0 ? -1 : (double)samples * (double)sample_ns;
}
