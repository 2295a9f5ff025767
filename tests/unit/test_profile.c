/* SPDX-License-Identifier: MIT */
/* cli/flame/profile and what is made of it alone: sums, order, hot frames. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flame/diff.h"
#include "flame/hot.h"
#include "flame/names.h"
#include "flame/profile.h"
#include "flame/shown.h"
#include "flame/text.h"
#include "support.h"

enum { MAX_WORDS = 16 };

/* Splits "a b c" into frames, which point into copy. */
static size_t split(char *copy, struct frame *frames)
{
	size_t n = 0;
	char *word;

	while ((word = strsep(&copy, " ")))
		frames[n++] = (struct frame){word, FRAME_NATIVE};
	assert_true(n <= MAX_WORDS);
	return n;
}

static void add(struct profile *profile, const char *stack, uint64_t samples)
{
	struct frame frames[MAX_WORDS];
	char *copy = strdup(stack);

	assert_int_equal(
		profile_add(profile, frames, split(copy, frames), samples), 0);
	/* Names are copied. */
	memset(copy, 'x', strlen(stack));
	free(copy);
}

static void add_before(struct profile *profile, const char *stack,
		       uint64_t samples)
{
	struct frame frames[MAX_WORDS];
	char *copy = strdup(stack);

	assert_int_equal(profile_add_before(profile, frames,
					    split(copy, frames), samples),
			 0);
	free(copy);
}

static struct profile *new_profile(void)
{
	struct profile *profile = profile_new();

	assert_non_null(profile);
	return profile;
}

/* "name self/total" of each place, in order, after its level in dots. */
static void assert_tree(const struct profile *profile, const char *expected)
{
	const struct profile_node *node = profile->root.child;
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	for (; node; node = profile_next(node)) {
		const struct profile_node *at = node->parent;

		for (; at->parent; at = at->parent)
			fputc('.', stream);
		fprintf(stream, "%s %d/%d ", node->name, (int)node->self,
			(int)node->total);
	}
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
}

static void stacks_share_the_frames_that_they_have_in_common(void **state)
{
	struct profile *profile = new_profile();

	(void)state;
	add(profile, "main parse lex", 3);
	add(profile, "main draw", 2);
	add(profile, "main parse", 1);
	add(profile, "main parse lex", 4);
	assert_int_equal(profile_finish(profile), 0);
	assert_tree(profile, "main 0/10 .draw 2/2 .parse 1/8 ..lex 7/7 ");
	assert_int_equal(profile->root.total, 10);
	assert_int_equal(profile->n_stacks, 3);
	assert_int_equal(profile->n_nodes, 5);
	profile_free(profile);
}

static void siblings_are_in_the_order_of_their_names(void **state)
{
	struct profile *profile = new_profile();

	(void)state;
	add(profile, "c", 1);
	add(profile, "a", 2);
	add(profile, "b", 3);
	assert_int_equal(profile_finish(profile), 0);
	assert_tree(profile, "a 2/2 b 3/3 c 1/1 ");
	profile_free(profile);
}

static void a_name_of_two_kinds_is_two_frames(void **state)
{
	struct profile *profile = new_profile();
	struct frame native = {"memcpy", FRAME_NATIVE};
	struct frame kernel = {"memcpy", FRAME_KERNEL};

	(void)state;
	assert_int_equal(profile_add(profile, &native, 1, 1), 0);
	assert_int_equal(profile_add(profile, &kernel, 1, 1), 0);
	assert_int_equal(profile_finish(profile), 0);
	assert_tree(profile, "memcpy 1/1 memcpy 1/1 ");
	profile_free(profile);
}

static void stacks_without_samples_leave_no_places(void **state)
{
	struct profile *profile = new_profile();

	(void)state;
	add(profile, "main idle deep", 0);
	add(profile, "main busy", 1);
	assert_int_equal(profile_finish(profile), 0);
	assert_tree(profile, "main 0/1 .busy 1/1 ");
	profile_free(profile);
}

static void an_empty_profile_is_one(void **state)
{
	struct profile *profile = new_profile();
	struct hot *hot;

	(void)state;
	assert_int_equal(profile_finish(profile), 0);
	assert_tree(profile, "");
	assert_int_equal(profile->root.total, 0);
	assert_int_equal(profile->about.lost, -1);
	hot = hot_new(profile);
	assert_non_null(hot);
	free(hot);
	profile_free(profile);
	profile_free(NULL);
}

static void more_samples_than_a_number_holds_are_refused(void **state)
{
	struct profile *profile = new_profile();
	struct frame frame = {"f", FRAME_NATIVE};

	(void)state;
	assert_int_equal(profile_add(profile, &frame, 1, INT64_MAX), 0);
	assert_int_equal(profile_add(profile, &frame, 1, 1), -EOVERFLOW);
	assert_int_equal(profile_finish(profile), 0);
	assert_int_equal(profile->root.total, INT64_MAX);
	profile_free(profile);
}

static void a_stack_may_be_a_hundred_thousand_deep(void **state)
{
	enum { DEPTH = 100000 };
	struct profile *profile = new_profile();
	struct frame *frames = calloc(DEPTH, sizeof(*frames));
	struct path path = {0};
	const struct profile_node *last = NULL;
	struct hot *hot;

	(void)state;
	for (size_t i = 0; i < DEPTH; i++)
		frames[i] =
			(struct frame){i % 2 ? "odd" : "even", FRAME_NATIVE};
	assert_int_equal(profile_add(profile, frames, DEPTH, 7), 0);
	assert_int_equal(profile_finish(profile), 0);
	assert_int_equal(profile->n_nodes, DEPTH + 1);
	for (const struct profile_node *node = &profile->root; node;
	     node = profile_next(node))
		last = node;
	assert_int_equal(last->total, 7);
	assert_int_equal(path_of(last, &path), 0);
	assert_int_equal(path.n_nodes, DEPTH);
	path_free(&path);
	hot = hot_new(profile);
	assert_non_null(hot);
	free(hot);
	free(frames);
	profile_free(profile);
}

static void a_hundred_thousand_stacks_are_kept_apart(void **state)
{
	enum { STACKS = 100000 };
	struct profile *profile = new_profile();

	(void)state;
	for (unsigned int i = 0; i < STACKS; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "main f%u g%u h%u", i % 10,
			 i % 1000, i);
		add(profile, stack, 1);
	}
	assert_int_equal(profile_finish(profile), 0);
	assert_int_equal(profile->n_stacks, STACKS);
	assert_int_equal(profile->root.total, STACKS);
	profile_free(profile);
}

static void recursion_counts_once_in_a_frames_total(void **state)
{
	struct profile *profile = new_profile();
	struct hot *hot;

	(void)state;
	add(profile, "main f g f g f", 5);
	add(profile, "main f", 2);
	assert_int_equal(profile_finish(profile), 0);
	hot = hot_new(profile);
	assert_non_null(hot);
	hot_sort(profile, hot, HOT_SELF);
	assert_string_equal(profile->frames[hot[0].frame].name, "f");
	assert_int_equal(hot[0].self, 7);
	assert_int_equal(hot[0].total, 7);
	free(hot);
	profile_free(profile);
}

static void a_note_is_kept_once(void **state)
{
	struct profile *profile = new_profile();

	(void)state;
	assert_int_equal(profile_note(profile, "user only: %d", 2), 0);
	assert_int_equal(profile_note(profile, "user only: %d", 2), 0);
	assert_int_equal(profile_note(profile, "other"), 0);
	assert_int_equal(profile->about.n_notes, 2);
	assert_string_equal(profile->about.notes[0], "user only: 2");
	profile_free(profile);
}

static void a_difference_compares_shares(void **state)
{
	struct profile *profile = new_profile();
	const struct profile_node *node;

	(void)state;
	add_before(profile, "main gone", 10);
	add_before(profile, "main same", 10);
	add(profile, "main same", 200);
	add(profile, "main new", 200);
	assert_int_equal(profile_finish(profile), 0);
	assert_true(profile->is_difference);
	assert_int_equal(profile->root.before_total, 20);
	node = profile->root.child->child;
	assert_string_equal(node->name, "gone");
	assert_int_equal(node->before, 10);
	assert_int_equal(node->total, 0);
	assert_true(diff_of(profile, node->before_total, 0) == -0.5);
	assert_true(diff_of(profile, 10, 200) == 0);
	assert_true(diff_scaled(profile, 10) == 200);
	profile_free(profile);
}

static void a_difference_to_nothing_is_one(void **state)
{
	struct profile *profile = new_profile();

	(void)state;
	add_before(profile, "main", 10);
	assert_int_equal(profile_finish(profile), 0);
	assert_int_equal(profile->root.total, 0);
	assert_true(diff_of(profile, 10, 0) == -1);
	assert_int_equal(profile->root.before_total, 10);
	profile_free(profile);
}

static size_t one(const struct profile_node *node, const char *name,
		  bool is_again)
{
	(void)node;
	(void)name;
	(void)is_again;
	return 1;
}

static void a_picture_shows_what_has_most_with_its_callers(void **state)
{
	struct profile *profile = new_profile();
	struct limits limits = {.budget = 4, .cost = one};
	struct shown shown;
	char **names, text[256];

	(void)state;
	add(profile, "main big", 90);
	add(profile, "main mid low", 9);
	add(profile, "main tiny", 1);
	assert_int_equal(profile_finish(profile), 0);
	names = names_new(profile, 100);
	assert_int_equal(shown_choose(profile, names, &limits, &shown), 0);
	assert_int_equal(shown.n_nodes, 4);
	assert_string_equal(shown.nodes[2]->name, "big");
	assert_string_equal(shown.nodes[3]->name, "mid");
	assert_true(shown_describe(&shown, text, sizeof(text)));
	assert_non_null(strstr(text, "3 of 5 places"));
	assert_non_null(strstr(text, "9 %"));
	shown_free(&shown);
	limits.budget = 100;
	limits.least = 0.05;
	assert_int_equal(shown_choose(profile, names, &limits, &shown), 0);
	assert_int_equal(shown.n_nodes, 5);
	shown_free(&shown);
	limits.least = 0;
	assert_int_equal(shown_choose(profile, names, &limits, &shown), 0);
	assert_false(shown_describe(&shown, text, sizeof(text)));
	shown_free(&shown);
	names_free(profile, names);
	profile_free(profile);
}

static void assert_clean(const char *name, size_t max_chars,
			 const char *expected)
{
	char *clean = text_clean(name, max_chars);

	assert_non_null(clean);
	assert_string_equal(clean, expected);
	free(clean);
}

static void names_are_made_harmless(void **state)
{
	(void)state;
	assert_clean("std::vector<int, A>", 100, "std::vector<int, A>");
	assert_clean("a\nb\x1b[31m\x7f", 100, "a\ufffdb\ufffd[31m\ufffd");
	/* Not UTF-8; a control of two bytes; turned text; no character. */
	assert_clean("\xff\xc2\x9b\xe2\x80\xae\xef\xbf\xbe", 100,
		     "\ufffd\ufffd\ufffd\ufffd");
	assert_clean("\xe4\xb8\xad\xe6\x96\x87", 100, "中文");
	/* A surrogate, and a form that is too long: each byte is wrong. */
	assert_clean("\xed\xa0\x80", 100, "\ufffd\ufffd\ufffd");
	assert_clean("\xc0\xaf", 100, "\ufffd\ufffd");
}

static void names_are_cut_between_characters(void **state)
{
	(void)state;
	assert_clean("äöüß", 4, "äöüß");
	assert_clean("äöüß", 3, "äöü…");
	assert_clean("äöüß", 0, "…");
	assert_clean("", 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			stacks_share_the_frames_that_they_have_in_common),
		cmocka_unit_test(siblings_are_in_the_order_of_their_names),
		cmocka_unit_test(a_name_of_two_kinds_is_two_frames),
		cmocka_unit_test(stacks_without_samples_leave_no_places),
		cmocka_unit_test(an_empty_profile_is_one),
		cmocka_unit_test(more_samples_than_a_number_holds_are_refused),
		cmocka_unit_test(a_stack_may_be_a_hundred_thousand_deep),
		cmocka_unit_test(a_hundred_thousand_stacks_are_kept_apart),
		cmocka_unit_test(recursion_counts_once_in_a_frames_total),
		cmocka_unit_test(a_note_is_kept_once),
		cmocka_unit_test(a_difference_compares_shares),
		cmocka_unit_test(a_difference_to_nothing_is_one),
		cmocka_unit_test(
			a_picture_shows_what_has_most_with_its_callers),
		cmocka_unit_test(names_are_made_harmless),
		cmocka_unit_test(names_are_cut_between_characters),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
