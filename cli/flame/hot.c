/* SPDX-License-Identifier: MIT */
#include "hot.h"

#include <math.h>
#include <stdlib.h>

#include "diff.h"

static void enter(struct hot *hot, uint32_t *depths,
		  const struct profile_node *node)
{
	struct hot *at = &hot[node->frame];

	at->self += node->self;
	at->before += node->before;
	if (depths[node->frame]++ > 0)
		return;
	at->total += node->total;
	at->before_total += node->before_total;
}

struct hot *hot_new(const struct profile *profile)
{
	struct hot *hot = calloc(profile->n_frames, sizeof(*hot));
	/* How often each frame is in the stack that the walk is at. */
	uint32_t *depths = calloc(profile->n_frames, sizeof(*depths));
	const struct profile_node *node = &profile->root;

	if (!hot || !depths) {
		free(hot);
		free(depths);
		return NULL;
	}
	for (size_t i = 0; i < profile->n_frames; i++)
		hot[i].frame = (uint32_t)i;
	for (;;) {
		enter(hot, depths, node);
		if (node->child) {
			node = node->child;
			continue;
		}
		while (node->parent && !node->sibling) {
			depths[node->frame]--;
			node = node->parent;
		}
		if (!node->parent)
			break;
		depths[node->frame]--;
		node = node->sibling;
	}
	free(depths);
	for (size_t i = 0; i < profile->n_frames; i++)
		hot[i].change = diff_of(profile, hot[i].before, hot[i].self);
	return hot;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int by_self(const void *left, const void *right)
{
	const struct hot *a = left, *b = right;
	int order = compare(a->self, b->self);

	return order ? order : (int)(a->frame > b->frame) * 2 - 1;
}

static int by_total(const void *left, const void *right)
{
	const struct hot *a = left, *b = right;
	int order = compare(a->total, b->total);

	return order ? order : (int)(a->frame > b->frame) * 2 - 1;
}

static int by_change(const void *left, const void *right)
{
	const struct hot *a = left, *b = right;
	double a_change = fabs(a->change), b_change = fabs(b->change);

	if (a_change != b_change)
		return a_change < b_change ? 1 : -1;
	return (int)(a->frame > b->frame) * 2 - 1;
}

void hot_sort(const struct profile *profile, struct hot *hot,
	      enum hot_order order)
{
	static int (*const compares[])(const void *, const void *) = {
		[HOT_SELF] = by_self,
		[HOT_TOTAL] = by_total,
		[HOT_CHANGE] = by_change,
	};

	qsort(hot, profile->n_frames, sizeof(*hot), compares[order]);
}
