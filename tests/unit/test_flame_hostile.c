/* SPDX-License-Identifier: MIT */
/*
 * Small texts that took much time, or were not well formed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flame/perf_line.h"
#include "flame/read.h"

/* ---- perf-script(1) */

/* Only its end is seen, or that there is none: it took a minute and more. */
static void a_line_of_many_times_is_given_up(void **state)
{
	const size_t blanks = 400000, times = 80000;
	char *line = malloc(blanks + 5 * times);
	struct perf_header header;

	(void)state;
	assert_non_null(line);
	memset(line, ' ', blanks);
	for (size_t i = 0; i < times; i++)
		memcpy(line + blanks + 5 * i, " 1.1:", 5);
	assert_false(perf_parse_header((struct slice){line, blanks + 5 * times},
				       &header));
	free(line);
}

/* ---- Notes */

static void notes_are_well_formed(void **state)
{
	/* The 60th byte is within a character, and one byte is none. */
	static const char text[] = "x 1 1.1: 1 "
				   "\xff"
				   "2345678901234567890123456789012345678901234"
				   "567890123456789é0: \n"
				   "\t 1 f+0x1 (/x)\n\n"
				   "x 1 1.1: 1 other: \n\t 1 f+0x1 (/x)\n\n";
	const struct read_filter everything = {0};
	struct profile *profile = profile_new();

	(void)state;
	assert_int_equal(
		read_perf_script(text, sizeof(text) - 1, &everything, profile),
		1);
	assert_int_equal(profile->about.n_notes, 1);
	assert_non_null(strstr(profile->about.notes[0],
			       "�2345678901234567890123456789012345678901234567"
			       "890123456789é…"));
	assert_int_equal(profile_note(profile, "%s was replaced", "/\xff\n"),
			 0);
	assert_string_equal(profile->about.notes[1], "/�� was replaced");
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_many_times_is_given_up),
		cmocka_unit_test(notes_are_well_formed),
	};

	return cmocka_run_group_tests_name("flame_hostile", tests, NULL, NULL);
}
