/* SPDX-License-Identifier: MIT */
/* Folded stacks, which FlameGraph, inferno and speedscope read. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diff.h"
#include "names.h"
#include "write.h"

static const char *const suffixes[FRAME_KINDS] = {
	[FRAME_KERNEL] = "_[k]",
	[FRAME_INLINED] = "_[i]",
	[FRAME_JIT] = "_[j]",
};

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789.")] == '\0';
}

/*
 * Between frames stands ';', so none may hold it. And what follows the last
 * blank is the count: FlameGraph takes two numbers for those of a difference.
 */
static void write_frame(FILE *stream, const char *name, enum frame_kind kind,
			bool is_last)
{
	const char *suffix = suffixes[kind] ? suffixes[kind] : "";
	const char *blank = strrchr(name, ' ');

	if (name[strspn(name, " ")] == '\0')
		name = "[unknown]";
	if (!is_last || *suffix || !blank || !is_number(blank + 1))
		blank = NULL;
	for (; *name; name++) {
		if (*name == ';')
			fputc(':', stream);
		else
			fputc(name == blank ? '_' : *name, stream);
	}
	fputs(suffix, stream);
}

static void write_path(FILE *stream, const struct path *path, char **names)
{
	if (path->n_nodes == 0)
		fputs("[unknown]", stream);
	for (size_t i = 0; i < path->n_nodes; i++) {
		const struct profile_node *node = path->nodes[i];

		if (i > 0)
			fputc(';', stream);
		write_frame(stream, names[node->frame], node->kind,
			    i + 1 == path->n_nodes);
	}
}

/* Scaled, as difffolded -n does it; what is rounded away is made up for by the
 * next, so that the sums are the same. */
static uint64_t next_before(const struct profile *profile, uint64_t *sum,
			    uint64_t before)
{
	double written = round(diff_scaled(profile, *sum));

	*sum += before;
	return (uint64_t)(round(diff_scaled(profile, *sum)) - written);
}

int write_folded(const struct profile *profile, FILE *stream)
{
	char **names = names_new(profile, SIZE_MAX);
	const struct profile_node *node = &profile->root;
	struct path path = {0};
	uint64_t sum = 0;
	int err = names ? 0 : -ENOMEM;

	for (; node && !err; node = profile_next(node)) {
		if (node->self == 0 && node->before == 0)
			continue;
		err = path_of(node, &path);
		if (err)
			break;
		write_path(stream, &path, names);
		if (profile->is_difference)
			fprintf(stream, " %" PRIu64,
				next_before(profile, &sum, node->before));
		fprintf(stream, " %" PRIu64 "\n", node->self);
	}
	path_free(&path);
	names_free(profile, names);
	return err;
}
