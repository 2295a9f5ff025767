/* SPDX-License-Identifier: MIT */
#include "shown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "diff.h"

struct candidate {
	const struct profile_node *node;
	size_t order;
	double share;
};

static double share_of(const struct profile *profile,
		       const struct profile_node *node,
		       const struct limits *limits)
{
	double after = diff_of(profile, 0, node->total);
	double before = -diff_of(profile, node->before_total, 0);

	return limits->with_before && before > after ? before : after;
}

/* A caller has as much as what it calls, and comes before it. */
static int by_share(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	return a->order < b->order ? -1 : 1;
}

static int by_order(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return a->order < b->order ? -1 : 1;
}

/* Those that have a width at all, and the root. */
static struct candidate *candidates_new(const struct profile *profile,
					const struct limits *limits,
					size_t *ret_n)
{
	struct candidate *candidates =
		calloc(profile->n_nodes, sizeof(*candidates));
	const struct profile_node *node = &profile->root;
	size_t n = 0;

	for (; candidates && node; node = profile_next(node)) {
		double share = share_of(profile, node, limits);

		if (share == 0 && node->parent)
			continue;
		candidates[n] = (struct candidate){node, n, share};
		n++;
	}
	*ret_n = n;
	return candidates;
}

/* How many of the candidates, by their share, are within the limits. */
static size_t count_affordable(const struct candidate *candidates, size_t n,
			       char **names, bool *is_known,
			       const struct limits *limits)
{
	size_t spent = 0, i;

	for (i = 0; i < n; i++) {
		uint32_t frame = candidates[i].node->frame;

		spent += limits->cost(candidates[i].node, names[frame],
				      is_known[frame]);
		is_known[frame] = true;
		/* The root is in whatever it costs. */
		if (i > 0 && (spent > limits->budget ||
			      candidates[i].share < limits->least))
			break;
	}
	return i;
}

int shown_choose(const struct profile *profile, char **names,
		 const struct limits *limits, struct shown *ret_shown)
{
	struct shown shown = {0};
	struct candidate *candidates =
		candidates_new(profile, limits, &shown.n_all);
	bool *is_known = calloc(profile->n_frames, sizeof(*is_known));
	size_t n;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression) */
	shown.nodes = calloc(profile->n_nodes, sizeof(*shown.nodes));
	if (!candidates || !is_known || !shown.nodes) {
		free(candidates);
		free(is_known);
		free(shown.nodes);
		return -ENOMEM;
	}
	qsort(candidates, shown.n_all, sizeof(*candidates), by_share);
	n = count_affordable(candidates, shown.n_all, names, is_known, limits);
	if (n < shown.n_all)
		shown.below = candidates[n].share;
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

bool shown_describe(const struct shown *shown, char *text, size_t size)
{
	if (shown->n_nodes == shown->n_all)
		return false;
	snprintf(text, size,
		 "%zu of %zu places are shown; of the others none has more "
		 "than %.2g %% of all. Written as .folded, all are there.",
		 shown->n_nodes - 1, shown->n_all - 1, 100 * shown->below);
	return true;
}
