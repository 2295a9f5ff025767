/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <errno.h>
#include <stdlib.h>

#include "text.h"

char **names_new(const struct profile *profile, size_t max_chars)
{
	char **names = calloc(profile->n_frames, sizeof(*names));

	for (size_t i = 0; names && i < profile->n_frames; i++) {
		names[i] = text_clean(profile->frames[i].name, max_chars);
		if (!names[i]) {
			names_free(profile, names);
			return NULL;
		}
	}
	return names;
}

void names_free(const struct profile *profile, char **names)
{
	for (size_t i = 0; names && i < profile->n_frames; i++)
		free(names[i]);
	free(names);
}

int path_of(const struct profile_node *node, struct path *path)
{
	const struct profile_node *at;
	size_t depth = 0;

	for (at = node; at->parent; at = at->parent)
		depth++;
	if (depth > path->capacity) {
		const struct profile_node **nodes =
			/* NOLINTNEXTLINE(bugprone-sizeof-expression) */
			reallocarray(path->nodes, 2 * depth, sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		path->nodes = nodes;
		path->capacity = 2 * depth;
	}
	path->n_nodes = depth;
	for (at = node; at->parent; at = at->parent)
		path->nodes[--depth] = at;
	return 0;
}

void path_free(struct path *path)
{
	free(path->nodes);
}
