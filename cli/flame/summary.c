/* SPDX-License-Identifier: MIT */
/* What a profile comes to, as text: the hottest frames and paths. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "facts.h"
#include "hot.h"
#include "names.h"
#include "text.h"
#include "write.h"

enum { N_FRAMES_SHOWN = 12, N_PATHS_SHOWN = 6 };

struct summary {
	const struct profile *profile;
	char **names;
	FILE *stream;
	size_t width; /* 0: any */
};

static double percent(const struct summary *summary, uint64_t part)
{
	return 100 * diff_of(summary->profile, 0, part);
}

/* Bytes of the first so many characters. */
static size_t bytes_of(const char *text, size_t chars)
{
	const char *at = text;

	for (; *at; at++) {
		if ((*at & 0xc0) != 0x80 && chars-- == 0)
			break;
	}
	return (size_t)(at - text);
}

static size_t chars_of(const char *text)
{
	size_t chars = 0;

	for (; *text; text++)
		chars += (*text & 0xc0) != 0x80;
	return chars;
}

/* What fits behind so many columns, with an ellipsis where it is cut. */
static void print_cut(const struct summary *summary, size_t used,
		      const char *text)
{
	size_t room = summary->width > used + 8 ? summary->width - used : 8;

	if (summary->width == 0 || chars_of(text) <= room)
		fprintf(summary->stream, "%s\n", text);
	else
		fprintf(summary->stream, "%.*s\xe2\x80\xa6\n",
			(int)bytes_of(text, room - 1), text);
}

static void print_facts(const struct summary *summary)
{
	const struct profile_about *about = &summary->profile->about;
	struct facts facts;

	facts_of(summary->profile, &facts);
	print_cut(summary, 0, facts.title);
	for (size_t i = 0; i < facts.n_facts; i++) {
		fprintf(summary->stream, "  %-11s ", facts.facts[i].name);
		print_cut(summary, 14, facts.facts[i].text);
	}
	for (size_t i = 0; i < about->n_notes; i++) {
		char *note = text_clean(about->notes[i], MAX_SHOWN_CHARS);

		fprintf(summary->stream, "  note: %s\n", note ? note : "");
		free(note);
	}
}

static const char *kind_word(const struct profile *profile, uint32_t frame)
{
	static const char *const words[FRAME_KINDS] = {
		[FRAME_KERNEL] = "k",
		[FRAME_INLINED] = "i",
		[FRAME_JIT] = "j",
	};
	const char *word = words[profile->frames[frame].kind];

	return word ? word : " ";
}

static void print_hot(const struct summary *summary, const struct hot *hot,
		      const char *title)
{
	fprintf(summary->stream, "\n%s\n    self   total\n", title);
	for (size_t i = 0, n = 0; n < N_FRAMES_SHOWN; i++) {
		if (i >= summary->profile->n_frames || hot[i].total == 0)
			break;
		/* The root of all. */
		if (hot[i].frame == 0)
			continue;
		n++;
		fprintf(summary->stream, "  %5.1f%%  %5.1f%%  %s ",
			percent(summary, hot[i].self),
			percent(summary, hot[i].total),
			kind_word(summary->profile, hot[i].frame));
		print_cut(summary, 20, summary->names[hot[i].frame]);
	}
}

static void print_changes(const struct summary *summary, const struct hot *hot)
{
	fprintf(summary->stream,
		"\nMost changed frames, by self\n  before   after  change\n");
	for (size_t i = 0; i < 2L * N_FRAMES_SHOWN; i++) {
		double change = 100 * hot[i].change, after;

		if (i >= summary->profile->n_frames || change == 0)
			break;
		after = percent(summary, hot[i].self);
		fprintf(summary->stream, "  %5.1f%%  %5.1f%%  %+5.1f%%  %s ",
			after - change, after, change,
			kind_word(summary->profile, hot[i].frame));
		print_cut(summary, 28, summary->names[hot[i].frame]);
	}
}

static int by_self(const void *left, const void *right)
{
	const struct profile_node *a =
		*(const struct profile_node *const *)left;
	const struct profile_node *b =
		*(const struct profile_node *const *)right;

	return a->self < b->self ? 1 : a->self > b->self ? -1 : 0;
}

/* Room for "100.0%", and for what joins the outermost and the innermost. */
enum { PATH_COLUMNS = 10, JOIN_COLUMNS = 3 };

/* Where the frames begin that fit between the outermost and the innermost,
 * next to the latter: they tell most. */
static size_t first_fitting(const struct path *path, char **names, size_t width)
{
	size_t first = path->n_nodes - 1, used;

	if (width == 0)
		return 1;
	/* For the mark of what is left out, too. */
	used = PATH_COLUMNS + 2 * JOIN_COLUMNS + 1 +
	       chars_of(names[path->nodes[0]->frame]) +
	       chars_of(names[path->nodes[first]->frame]);
	while (first > 1) {
		used += JOIN_COLUMNS +
			chars_of(names[path->nodes[first - 1]->frame]);
		if (used > width)
			break;
		first--;
	}
	return first;
}

static void print_path(const struct summary *summary, const struct path *path,
		       char **names)
{
	size_t first = first_fitting(path, names, summary->width);

	fprintf(summary->stream, "  %5.1f%%  %s",
		percent(summary, path->nodes[path->n_nodes - 1]->self),
		names[path->nodes[0]->frame]);
	if (first > 1)
		fputs(" > \xe2\x80\xa6", summary->stream);
	for (; first < path->n_nodes; first++)
		fprintf(summary->stream, " > %s",
			names[path->nodes[first]->frame]);
	fputc('\n', summary->stream);
}

static int print_paths(const struct summary *summary)
{
	const struct profile *profile = summary->profile;
	size_t width = summary->width, n = 0;
	const struct profile_node **leaves =
		/* NOLINTNEXTLINE(bugprone-sizeof-expression) */
		reallocarray(NULL, profile->n_nodes, sizeof(*leaves));
	/* Both ends of a path have room in a line. */
	char **names = names_new(profile, width == 0   ? MAX_SHOWN_CHARS
					  : width > 44 ? (width - 24) / 2
						       : 10);
	struct path path = {0};
	int err = leaves && names ? 0 : -ENOMEM;

	for (const struct profile_node *node = &profile->root; !err && node;
	     node = profile_next(node)) {
		if (node->self > 0 && node->parent)
			leaves[n++] = node;
	}
	if (!err && n > 0) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression) */
		qsort(leaves, n, sizeof(*leaves), by_self);
		fputs("\nHottest paths\n", summary->stream);
	}
	for (size_t i = 0; !err && i < n && i < N_PATHS_SHOWN; i++) {
		err = path_of(leaves[i], &path);
		if (!err)
			print_path(summary, &path, names);
	}
	path_free(&path);
	free(leaves);
	names_free(profile, names);
	return err;
}

int write_summary(const struct profile *profile, FILE *stream, size_t width)
{
	struct summary summary = {
		.profile = profile,
		.names = names_new(profile, MAX_SHOWN_CHARS),
		.stream = stream,
		.width = width,
	};
	struct hot *hot = hot_new(profile);
	int err = summary.names && hot ? 0 : -ENOMEM;

	if (!err)
		print_facts(&summary);
	if (!err && profile->is_difference) {
		hot_sort(profile, hot, HOT_CHANGE);
		print_changes(&summary, hot);
	} else if (!err && profile->root.total > 0) {
		hot_sort(profile, hot, HOT_SELF);
		print_hot(&summary, hot, "Hottest frames, by self");
		hot_sort(profile, hot, HOT_TOTAL);
		print_hot(&summary, hot, "Hottest frames, by total");
		err = print_paths(&summary);
	}
	free(hot);
	names_free(profile, summary.names);
	return err;
}
