/* SPDX-License-Identifier: MIT */
/* cli/table: what is printed, to the blank. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"
#include "table.h"

static const struct table_column columns[] = {
	{"name", false},
	{"ns", true},
	{"what it is", false},
};

static void assert_prints(const struct table *table, const char *expected)
{
	FILE *stream;
	char *text;
	size_t size;

	stream = open_memstream(&text, &size);
	assert_non_null(stream);
	assert_true(table_print(table, stream));
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	(void)state;
	assert_non_null(table);
	table_cell(table, "%s", "a");
	table_cell(table, "%d", 12345);
	table_cell(table, "%s", "short");
	table_cell(table, "%s", "much longer");
	table_cell(table, "%d", 6);
	table_cell(table, "%s", "so is what it is said to be");
	assert_prints(table,
		      "name            ns  what it is\n"
		      "a            12345  short\n"
		      "much longer      6  so is what it is said to be\n");
	table_free(table);
}

static void title_may_be_the_widest(void **state)
{
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	(void)state;
	table_cell(table, "a");
	table_cell(table, "1");
	table_cell(table, "b");
	assert_prints(table, "name  ns  what it is\n"
			     "a      1  b\n");
	table_free(table);
}

static void line_has_no_blanks_at_its_end(void **state)
{
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	(void)state;
	table_cell(table, "a");
	table_cell(table, "1");
	table_cell(table, "%s", "");
	table_cell(table, "b");
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	assert_prints(table, "name  ns  what it is\n"
			     "a      1\n"
			     "b\n");
	table_free(table);
}

static void number_at_the_end_stands_to_the_right(void **state)
{
	static const struct table_column numbers[] = {{"a", true}, {"b", true}};
	struct table *table = table_new(numbers, ARRAY_SIZE(numbers));

	(void)state;
	table_cell(table, "1");
	table_cell(table, "100");
	table_cell(table, "1000");
	table_cell(table, "2");
	assert_prints(table, "   a    b\n"
			     "   1  100\n"
			     "1000    2\n");
	table_free(table);
}

static void table_without_rows_is_its_titles(void **state)
{
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	(void)state;
	assert_prints(table, "name  ns  what it is\n");
	table_free(table);
}

static void row_in_the_making_does_no_harm(void **state)
{
	struct table *table = table_new(columns, ARRAY_SIZE(columns));
	FILE *stream;
	char *text;
	size_t size;

	(void)state;
	table_cell(table, "a");
	stream = open_memstream(&text, &size);
	assert_non_null(stream);
	table_print(table, stream);
	fclose(stream);
	assert_int_equal(strncmp(text, "name", 4), 0);
	free(text);
	table_free(table);
}

static void table_may_be_printed_twice(void **state)
{
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	(void)state;
	table_cell(table, "a");
	table_cell(table, "1");
	table_cell(table, "b");
	assert_prints(table, "name  ns  what it is\na      1  b\n");
	assert_prints(table, "name  ns  what it is\na      1  b\n");
	table_free(table);
}

/* Long before a person wants to read it. */
static void many_rows_and_long_cells_are_kept(void **state)
{
	static const struct table_column one[] = {{"n", true}, {"text", false}};
	struct table *table = table_new(one, ARRAY_SIZE(one));
	static char cell[5000];
	size_t lines = 0, size, i;
	FILE *stream;
	char *text;

	(void)state;
	memset(cell, 'x', sizeof(cell) - 1);
	for (i = 0; i < 3000; i++) {
		table_cell(table, "%zu", i);
		table_cell(table, "%s", i == 1500 ? cell : "short");
	}
	stream = open_memstream(&text, &size);
	assert_non_null(stream);
	assert_true(table_print(table, stream));
	fclose(stream);
	for (i = 0; i < size; i++)
		lines += text[i] == '\n';
	assert_int_equal(lines, 3001);
	assert_non_null(strstr(text, cell));
	assert_non_null(strstr(text, "\n2999  short\n"));
	free(text);
	table_free(table);
}

static void columns_are_those_of_a_terminal(void **state)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	struct table *table;

	(void)state;
	if (!locale)
		skip_because("there is no locale C.UTF-8, which knows widths");
	freelocale(locale);
	table = table_new(columns, ARRAY_SIZE(columns));
	table_cell(table, "\xe4\xb8\xad\xe6\x96\x87"); /* two wide ones */
	table_cell(table, "1");
	table_cell(table, "b");
	table_cell(table, "e\xcc\x81"); /* one, with an accent */
	table_cell(table, "2");
	table_cell(table, "\xc2\xb5");
	assert_prints(table, "name  ns  what it is\n"
			     "\xe4\xb8\xad\xe6\x96\x87   1  b\n"
			     "e\xcc\x81      2  \xc2\xb5\n");
	table_free(table);
}

/* What is printed if there is no more room than that. */
static void assert_fits(int width, const char *expected)
{
	static const size_t spare[] = {1};
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	assert_non_null(table);
	table_cell(table, "a name of twenty ...");
	table_cell(table, "12345");
	table_cell(table, "b");
	table_fit(table, width, 0, spare, ARRAY_SIZE(spare));
	assert_prints(table, expected);
	table_free(table);
}

static void table_that_fits_stays_as_it_is(void **state)
{
	(void)state;
	assert_fits(39, "name                     ns  what it is\n"
			"a name of twenty ...  12345  b\n");
}

static void what_is_flexible_is_cut_first(void **state)
{
	(void)state;
	assert_fits(36, "name                  ns  what it is\n"
			"a name of twenty\xe2\x80\xa6"
			"  12345  b\n");
}

static void what_is_spare_is_left_out_next(void **state)
{
	(void)state;
	assert_fits(32, "name                  what it is\n"
			"a name of twenty ...  b\n");
	assert_fits(28, "name              what it is\n"
			"a name of twent\xe2\x80\xa6"
			"  b\n");
}

static void table_without_room_is_not_cut_further(void **state)
{
	(void)state;
	assert_fits(5, "name            what it is\n"
		       "a name of twe\xe2\x80\xa6"
		       "  b\n");
}

static void table_that_is_null_may_be_freed(void **state)
{
	(void)state;
	table_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(title_may_be_the_widest),
		cmocka_unit_test(line_has_no_blanks_at_its_end),
		cmocka_unit_test(number_at_the_end_stands_to_the_right),
		cmocka_unit_test(table_without_rows_is_its_titles),
		cmocka_unit_test(row_in_the_making_does_no_harm),
		cmocka_unit_test(table_may_be_printed_twice),
		cmocka_unit_test(many_rows_and_long_cells_are_kept),
		cmocka_unit_test(columns_are_those_of_a_terminal),
		cmocka_unit_test(table_that_fits_stays_as_it_is),
		cmocka_unit_test(what_is_flexible_is_cut_first),
		cmocka_unit_test(what_is_spare_is_left_out_next),
		cmocka_unit_test(table_without_room_is_not_cut_further),
		cmocka_unit_test(table_that_is_null_may_be_freed),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
