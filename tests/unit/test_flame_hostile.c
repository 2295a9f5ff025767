/* SPDX-License-Identifier: MIT */
/*
 * Small inputs that were to take much: time, memory, or files of other people.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	assert_false(perf_parse_header(
		(struct slice){line, blanks + 5 * times}, &header));
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_many_times_is_given_up),
	};

	return cmocka_run_group_tests_name("flame_hostile", tests, NULL, NULL);
}
