/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as SVG: complete without a script, with titles for tooltips.
 * Its script zooms and searches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "facts.h"
#include "names.h"
#include "palette.h"
#include "picture_script.h"
#include "shown.h"
#include "text.h"
#include "write.h"

/* Units of the picture: pixels, where it is not scaled. */
enum {
	WIDTH = 1200,
	MARGIN = 10,
	DRAWN = WIDTH - 2 * MARGIN,
	ROW = 17,
	LINE = 18,
	MAX_ROWS_BELOW = 40,
	BUDGET = 900000,
};

/* Of a monospaced font of 12 units. */
#define COLUMN 7.23

struct picture {
	const struct profile *profile;
	char **names;
	struct shown shown;
	struct facts facts;
	char pruned[256]; /* empty if all is there */
	double largest_change;
	size_t n_rows;
	int graph_y; /* where the rows begin */
	FILE *stream;
};

static size_t cost(const struct profile_node *node, const char *name,
		   bool is_again)
{
	size_t bytes = 0;

	(void)node;
	(void)is_again;
	for (; *name; name++)
		bytes += strchr("<>&\"'", *name) ? 6 : 1;
	/* The frame may show it a second time, in some 160 columns. */
	return 200 + bytes + (bytes < 160 ? bytes : 160);
}

static void write_line(const struct picture *picture, int *y, const char *name,
		       const char *text)
{
	char *clean = text_clean(text, DRAWN / 7);

	*y += LINE;
	fprintf(picture->stream, "<text class=\"t\" x=\"%d\" y=\"%d\">", MARGIN,
		*y);
	if (name)
		fprintf(picture->stream, "<tspan class=\"s\">%s</tspan> ",
			name);
	text_write_xml(picture->stream, clean ? clean : "");
	fputs("</text>\n", picture->stream);
	free(clean);
}

static void write_head(const struct picture *picture)
{
	const struct profile_about *about = &picture->profile->about;
	int y = 26;

	fprintf(picture->stream, "<text class=\"h\" x=\"%d\" y=\"%d\">", MARGIN,
		y);
	text_write_xml(picture->stream, picture->facts.title);
	fputs("</text>\n", picture->stream);
	for (size_t i = 0; i < picture->facts.n_facts; i++)
		write_line(picture, &y, picture->facts.facts[i].name,
			   picture->facts.facts[i].text);
	for (size_t i = 0; i < about->n_notes; i++)
		write_line(picture, &y, NULL, about->notes[i]);
	if (*picture->pruned)
		write_line(picture, &y, NULL, picture->pruned);
	if (picture->profile->is_difference)
		write_line(picture, &y, NULL,
			   "Red: more than before; blue: less. What is gone "
			   "has no width here; a page (.html) shows it, too.");
	/* Where the script puts its tools. */
	fprintf(picture->stream,
		"<g id=\"tools\" style=\"display:none\" data-y=\"%d\">"
		"<text class=\"t tool\" id=\"turn\" x=\"%d\" "
		"y=\"%d\">Turn</text>"
		"<text class=\"t tool\" id=\"reset\" x=\"%d\" y=\"%d\">"
		"Reset</text>"
		"<text class=\"t\" id=\"share\" x=\"%d\" "
		"y=\"%d\"></text></g>\n",
		y + 9, MARGIN + 185, y + 26, MARGIN + 225, y + 26, MARGIN + 270,
		y + 26);
}

static int head_height(const struct picture *picture)
{
	size_t n = picture->facts.n_facts + picture->profile->about.n_notes +
		   (*picture->pruned != '\0') + picture->profile->is_difference;

	return 26 + LINE * (int)n + 44;
}

static unsigned int colour_of(const struct picture *picture,
			      const struct profile_node *node)
{
	if (picture->profile->is_difference)
		return palette_of_change(picture->profile, node,
					 picture->largest_change);
	return palette_of(&picture->profile->frames[node->frame]);
}

static void write_colours(const struct picture *picture, bool is_dark)
{
	bool is_used[N_COLOURS] = {false};

	for (size_t i = 0; i < picture->shown.n_nodes; i++)
		is_used[colour_of(picture, picture->shown.nodes[i])] = true;
	for (unsigned int i = 0; i < N_COLOURS; i++) {
		if (is_used[i])
			fprintf(picture->stream, ".c%u{fill:%s}", i,
				palette_colour(i, is_dark).hex);
	}
}

static void write_style(const struct picture *picture)
{
	static const char style[] =
		"<style>\n"
		".b{fill:#fff}text{font:12px "
		"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
		"fill:#17191c;pointer-events:none}\n"
		".t{font:13px system-ui,sans-serif;fill:#1b1f24}"
		".h{font:bold 18px system-ui,sans-serif;fill:#1b1f24}"
		".s{fill:#565d66}\n"
		"#frames g{cursor:pointer}"
		"#frames g:hover rect{stroke:#000;stroke-width:.8}\n"
		".tool{cursor:pointer;text-decoration:underline;"
		"pointer-events:all}"
		"#frames .match rect{fill:#e879f0}"
		"#frames .other rect{opacity:.35}#frames .other "
		"text{opacity:.75}\n";
	static const char dark[] =
		"\n@media (prefers-color-scheme:dark){"
		".b{fill:#15181c}.t,.h{fill:#e6e9ed}.s{fill:#a5adb8}"
		"#frames g:hover rect{stroke:#fff}"
		"#frames .match rect{fill:#d873e4}"
		"#frames .other text{fill:#e6e9ed}\n";

	fputs(style, picture->stream);
	write_colours(picture, false);
	fputs(dark, picture->stream);
	write_colours(picture, true);
	fputs("}\n</style>\n", picture->stream);
}

/* As much of the name as fits. */
static void write_text(const struct picture *picture, const char *name,
		       double x, double width, int y)
{
	double columns = (width - 6) / COLUMN;
	char *clean;

	if (columns < 3)
		return;
	clean = text_clean(name, (size_t)columns);
	/* Where it is cut, the ellipsis takes a column. */
	if (clean && strcmp(clean, name) != 0) {
		free(clean);
		clean = text_clean(name, (size_t)columns - 1);
	}
	fprintf(picture->stream, "<text x=\"%.2f\" y=\"%d\">", x + 3, y + 12);
	text_write_xml(picture->stream, clean ? clean : "");
	fputs("</text>", picture->stream);
	free(clean);
}

static void describe(const struct picture *picture,
		     const struct profile_node *node, char *text, size_t size)
{
	double change = 100 * diff_of(picture->profile, node->before_total,
				      node->total);
	double after = 100 * diff_of(picture->profile, 0, node->total);

	if (!picture->profile->is_difference) {
		describe_samples(picture->profile, node->total, text, size);
		return;
	}
	snprintf(text, size, "after %.2f %%, before %.2f %%: %+.2f points",
		 after, after - change, change);
}

static void write_frame(const struct picture *picture,
			const struct profile_node *node, double x, size_t level)
{
	const char *name = node->parent ? picture->names[node->frame] : "all";
	uint64_t all = picture->profile->root.total;
	double width = all ? (double)node->total / (double)all * DRAWN : DRAWN;
	char text[160];
	int y;

	/* As in a flame, but where the root would be out of sight. */
	if (picture->n_rows <= MAX_ROWS_BELOW)
		level = picture->n_rows - 1 - level;
	y = picture->graph_y + (int)level * ROW;

	describe(picture, node, text, sizeof(text));
	fputs("<g><title>", picture->stream);
	text_write_xml(picture->stream, name);
	fputc('\n', picture->stream);
	text_write_xml(picture->stream, text);
	fprintf(picture->stream,
		"</title><rect class=\"c%u\" x=\"%.3f\" y=\"%d\" "
		"width=\"%.3f\" height=\"%d\"/>",
		colour_of(picture, node), x + MARGIN, y, width, ROW - 1);
	write_text(picture, name, x + MARGIN, width, y);
	fputs("</g>\n", picture->stream);
}

/*
 * Visits the places that are shown, callers first, and gives the sum of what is
 * to the left of each. Of what is not shown, a caller's part at its right stays
 * empty.
 */
static int write_frames(struct picture *picture, bool count_alone)
{
	const struct shown *shown = &picture->shown;
	double scale = picture->profile->root.total
			       ? DRAWN / (double)picture->profile->root.total
			       : 0;
	/* By level: where the next one begins. */
	uint64_t *next = calloc(shown->n_nodes + 1, sizeof(*next));
	const struct profile_node *last = NULL;
	size_t level = 0;

	if (!next)
		return -ENOMEM;
	for (size_t i = 0; i < shown->n_nodes; i++) {
		const struct profile_node *node = shown->nodes[i];

		level += last != NULL;
		for (; last && last != node->parent; last = last->parent)
			level--;
		last = node;
		if (level >= picture->n_rows)
			picture->n_rows = level + 1;
		if (!count_alone)
			write_frame(picture, node, (double)next[level] * scale,
				    level);
		next[level + 1] = next[level];
		next[level] += node->total;
	}
	free(next);
	return 0;
}

static int write_all(struct picture *picture)
{
	int err = write_frames(picture, true), height;

	if (err)
		return err;
	picture->graph_y = head_height(picture);
	height = picture->graph_y + (int)picture->n_rows * ROW + MARGIN;
	fprintf(picture->stream,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<!-- SPDX-License-Identifier: MIT (the script) -->\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
		WIDTH, height, WIDTH, height);
	text_write_xml(picture->stream, picture->facts.title);
	fputs("</title>\n", picture->stream);
	write_style(picture);
	fputs("<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n",
	      picture->stream);
	write_head(picture);
	fputs("<g id=\"frames\">\n", picture->stream);
	err = write_frames(picture, false);
	fprintf(picture->stream,
		"</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n",
		picture_script);
	return err;
}

int write_svg(const struct profile *profile, FILE *stream)
{
	struct picture picture = {
		.profile = profile,
		.names = names_new(profile, MAX_SHOWN_CHARS),
		.largest_change = palette_largest_change(profile),
		.stream = stream,
	};
	const struct limits limits = {
		.least = 0.1 / DRAWN, /* a tenth of a pixel */
		.budget = BUDGET,
		.cost = cost,
	};
	int err = picture.names ? 0 : -ENOMEM;

	if (!err)
		err = shown_choose(profile, picture.names, &limits,
				   &picture.shown);
	if (!err) {
		facts_of(profile, &picture.facts);
		if (!shown_describe(&picture.shown, picture.pruned,
				    sizeof(picture.pruned)))
			*picture.pruned = '\0';
		err = write_all(&picture);
	}
	shown_free(&picture.shown);
	names_free(profile, picture.names);
	return err;
}
