/* SPDX-License-Identifier: MIT */
/* Puts a profile as JSON into the page picture.html, which draws it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../json.h"
#include "facts.h"
#include "hot.h"
#include "names.h"
#include "palette.h"
#include "picture_common.h"
#include "picture_page.h"
#include "shown.h"
#include "write.h"

/* Bytes of names and places, so that the page has no more than 1 MB. */
enum { DATA_BUDGET = 900000, N_HOT = 30 };

struct page {
	const struct profile *profile;
	char **names;
	struct shown shown;
	struct hot *hot;
	size_t n_hot;
	/* The page's frames; and of each of the profile's, which it is there,
	 * from 1 on. */
	uint32_t *frames, *numbers;
	size_t n_frames;
	struct json json;
};

static size_t digits(uint64_t number)
{
	size_t n = 1;

	for (; number >= 10; number /= 10)
		n++;
	return n;
}

/* What a place and, the first time, its name take in the page. */
static size_t cost(const struct profile_node *node, const char *name,
		   bool is_again)
{
	size_t bytes = 5 + digits(node->frame) + digits(node->total) +
		       digits(node->self);

	if (node->before_total > 0)
		bytes += 2 + digits(node->before_total) + digits(node->before);
	if (is_again)
		return bytes;
	for (; *name; name++)
		bytes += strchr("<>&\"\\", *name) ? 6 : 1;
	return bytes + 6;
}

static void take_frame(struct page *page, uint32_t frame)
{
	if (page->numbers[frame])
		return;
	page->frames[page->n_frames++] = frame;
	page->numbers[frame] = (uint32_t)page->n_frames;
}

static int page_open(struct page *page)
{
	const struct limits limits = {
		.with_before = true, .budget = DATA_BUDGET, .cost = cost};
	const struct profile *profile = page->profile;
	int err;

	page->names = names_new(profile, MAX_SHOWN_CHARS);
	page->hot = hot_new(profile);
	page->frames =
		reallocarray(NULL, profile->n_frames, sizeof(*page->frames));
	page->numbers = calloc(profile->n_frames, sizeof(*page->numbers));
	if (!page->names || !page->hot || !page->frames || !page->numbers)
		return -ENOMEM;
	err = shown_choose(profile, page->names, &limits, &page->shown);
	if (err)
		return err;
	hot_sort(profile, page->hot,
		 profile->is_difference ? HOT_CHANGE : HOT_SELF);
	while (page->n_hot < profile->n_frames && page->n_hot < N_HOT &&
	       page->hot[page->n_hot].self + page->hot[page->n_hot].before > 0)
		page->n_hot++;
	for (size_t i = 0; i < page->shown.n_nodes; i++)
		take_frame(page, page->shown.nodes[i]->frame);
	for (size_t i = 0; i < page->n_hot; i++)
		take_frame(page, page->hot[i].frame);
	return 0;
}

static void page_close(struct page *page)
{
	names_free(page->profile, page->names);
	shown_free(&page->shown);
	free(page->hot);
	free(page->frames);
	free(page->numbers);
}

static void write_about(struct page *page)
{
	const struct profile *profile = page->profile;
	struct json *json = &page->json;
	struct facts facts;
	char text[256];

	facts_of(profile, &facts);
	json_string(json, "version", CPUCLOCK_VERSION);
	json_string(json, "title", facts.title);
	json_begin_array(json, "facts");
	for (size_t i = 0; i < facts.n_facts; i++) {
		json_begin_array(json, NULL);
		json_string(json, NULL, facts.facts[i].name);
		json_string(json, NULL, facts.facts[i].text);
		json_end_array(json);
	}
	json_end_array(json);
	json_begin_array(json, "notes");
	for (size_t i = 0; i < profile->about.n_notes; i++)
		json_string(json, NULL, profile->about.notes[i]);
	if (shown_describe(&page->shown, text, sizeof(text)))
		json_string(json, NULL, text);
	json_end_array(json);
	json_string(json, "unit", unit_of(profile));
	json_integer(json, "sampleNs", profile->about.sample_ns);
}

static void write_palette(struct json *json)
{
	json_begin_array(json, "hues");
	for (unsigned int i = 0; i < N_HUES; i++)
		json_string(json, NULL, hue_words[i]);
	json_end_array(json);
	json_integer(json, "tones", N_TONES);
	json_integer(json, "changes", N_CHANGES);
	json_integer(json, "firstChange", FIRST_CHANGE);
	for (int is_dark = 0; is_dark < 2; is_dark++) {
		json_begin_array(json, is_dark ? "dark" : "light");
		for (unsigned int i = 0; i < N_COLOURS; i++)
			json_string(json, NULL, palette_colour(i, is_dark).hex);
		json_end_array(json);
	}
}

static void write_frames(struct page *page)
{
	json_begin_array(&page->json, "names");
	for (size_t i = 0; i < page->n_frames; i++)
		json_string(&page->json, NULL, page->names[page->frames[i]]);
	json_end_array(&page->json);
	json_begin_array(&page->json, "colours");
	for (size_t i = 0; i < page->n_frames; i++)
		json_integer(
			&page->json, NULL,
			palette_of(&page->profile->frames[page->frames[i]]));
	json_end_array(&page->json);
}

static void write_number(struct page *page, uint64_t number)
{
	json_integer(&page->json, NULL, (int64_t)number);
}

static void write_frame(struct page *page, uint32_t frame)
{
	write_number(page, page->numbers[frame] - 1);
}

static void write_nodes(struct page *page)
{
	const struct profile_node *last = NULL;

	json_begin_array(&page->json, "nodes");
	for (size_t i = 0; i < page->shown.n_nodes; i++) {
		const struct profile_node *node = page->shown.nodes[i];
		uint64_t up = 0;

		for (; last && last != node->parent; last = last->parent)
			up++;
		last = node;
		write_number(page, up);
		write_frame(page, node->frame);
		write_number(page, node->total);
		write_number(page, node->self);
		if (!page->profile->is_difference)
			continue;
		write_number(page, node->before_total);
		write_number(page, node->before);
	}
	json_end_array(&page->json);
}

static void write_hot(struct page *page)
{
	json_begin_array(&page->json, "hot");
	for (size_t i = 0; i < page->n_hot; i++) {
		const struct hot *hot = &page->hot[i];

		json_begin_array(&page->json, NULL);
		write_frame(page, hot->frame);
		write_number(page, hot->self);
		write_number(page, hot->total);
		write_number(page, hot->before);
		json_end_array(&page->json);
	}
	json_end_array(&page->json);
}

static void write_data(struct page *page)
{
	const struct profile *profile = page->profile;

	json_begin_object(&page->json, NULL);
	write_about(page);
	json_bool(&page->json, "difference", profile->is_difference);
	if (profile->is_difference) {
		json_integer(&page->json, "totalAfter",
			     (int64_t)profile->root.total);
		json_integer(&page->json, "totalBefore",
			     (int64_t)profile->root.before_total);
		json_number(&page->json, "largestChange",
			    palette_largest_change(profile));
	}
	write_palette(&page->json);
	write_frames(page);
	write_nodes(page);
	write_hot(page);
	json_end_object(&page->json);
}

/* Writes the page up to a mark, and gives what is behind it. */
static const char *write_up_to(const char *page, const char *mark, FILE *stream)
{
	const char *at = strstr(page, mark);

	fwrite(page, 1, (size_t)(at - page), stream);
	return at + strlen(mark);
}

int write_html(const struct profile *profile, FILE *stream)
{
	struct page page = {
		.profile = profile,
		.json = {.stream = stream, .compact = true},
	};
	const char *rest = picture_page;
	int err = page_open(&page);

	if (!err) {
		rest = write_up_to(rest, "@DATA@", stream);
		write_data(&page);
		rest = write_up_to(rest, "@COMMON@", stream);
		fputs(picture_common, stream);
		fputs(rest, stream);
	}
	page_close(&page);
	return err;
}
