/* SPDX-License-Identifier: MIT */
/*
 * lib/procparse against hand-made lines, and against the recorded trees of
 * TEST_DATA_DIR: one folder per oddity, holding the bytes of stat and
 * schedstat as a kernel printed them, and the numbers expected of them.
 *
 * Every text is handed over in a block of its exact size, so that a sanitizer
 * or valgrind sees a byte read too many.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "procparse.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Bytes of a literal, which may hold NULs. */
struct text {
	const char *bytes;
	size_t length;
};

#define TEXT(literal)                        \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

#define UINT64_MAX_TEXT "18446744073709551615"

/* Numbering of proc(5): from 1. */
enum {
	FIELD_COMM = 2,
	FIELD_STATE = 3,
	FIELD_PPID = 4,
	FIELD_TTY_NR = 7,
	FIELD_TPGID = 8,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_PRIORITY = 18,
	FIELD_NICE = 19,
	FIELD_NUM_THREADS = 20,
	FIELD_STARTTIME = 22,
	FIELD_PROCESSOR = 39,
	FIELD_EXIT_CODE = 52,
};

/* No two neighbours of a wanted field are alike, nor of equal length. */
static const char *const plain_fields[FIELD_EXIT_CODE + 1] = {
	NULL,
	"4242",
	"(plain)",
	"S",
	"4348",
	"4267",
	"3134",
	"34816",
	"4412",
	"4194304",
	"57",
	"581",
	"11",
	"13",
	"1414",
	"15151",
	"16",
	"1",
	"20",
	"0",
	"3",
	"21",
	"2222222",
	"2400256",
	"343",
	UINT64_MAX_TEXT,
	"94497668366336",
	"94497668386217",
	"140725062347344",
	"0",
	"0",
	"0",
	"0",
	"4096",
	"81926",
	"1",
	"0",
	"0",
	"17",
	"1",
	"0",
	"0",
	"0",
	"0",
	"0",
	"94497668402224",
	"94497668403840",
	"94498177798144",
	"140725062355630",
	"140725062355671",
	"140725062355671",
	"140725062356971",
	"0",
};

static const struct cpuclock__stat plain_stat = {
	.user_ticks = 1414,
	.system_ticks = 15151,
	.start_ticks = 2222222,
};

static const struct cpuclock__schedstat plain_schedstat = {
	.cpu_ns = 1001825175,
	.wait_ns = 37992,
	.switches = 311,
};

static const char plain_schedstat_line[] = "1001825175 37992 311\n";

/* Names that a program may give itself, or could if they were longer. */
static const struct text names[] = {
	TEXT("cat"),
	TEXT(""),
	TEXT(" "),
	TEXT("   "),
	TEXT("(a) (b)"),
	TEXT("(sd-pam)"),
	TEXT(")"),
	TEXT("("),
	TEXT("))))))))"),
	TEXT(") "),
	TEXT(" )"),
	TEXT(") R 1 1 1"),
	TEXT(") S 1 2 3 4 5 6"),
	TEXT("a\nb\n"),
	TEXT("\n"),
	TEXT(")\n1 (x) S 1 2"),
	TEXT("\0"),
	TEXT("a\0b) S 1 2\0"),
	TEXT("\t\r\v\f\x1b[31m\x7f"),
	TEXT("\xff\xfe\xc3(\x80\xc0\xaf)"),
	TEXT("kworker/u8:1-ext4-rsv-conversion"),
	TEXT("rcu_exp_par_gp_kthread_worker/"
	     "0_and_up_to_64_bytes_as_in_procfs_"),
	TEXT("x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22"),
	TEXT("x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22\n"),
};

/* Never what a field is, whether the number may be negative or not. */
static const struct text no_numbers[] = {
	TEXT(""),     TEXT("-"),     TEXT("--1"),   TEXT("-+1"),
	TEXT("+1"),   TEXT("1-"),    TEXT("1+"),    TEXT("-x"),
	TEXT("x"),    TEXT("0x10"),  TEXT("1f"),    TEXT("1e3"),
	TEXT("1.5"),  TEXT("1,5"),   TEXT("1_5"),   TEXT("nan"),
	TEXT("\0"),   TEXT("1\0"),   TEXT("\0001"), TEXT("1\t"),
	TEXT("\t1"),  TEXT("\n1"),   TEXT("1\r"),   TEXT("\v1"),
	TEXT("\xff"), TEXT("1\xff"), TEXT("1/"),    TEXT("1:"),
	TEXT("/"),    TEXT(":"),     TEXT("1("),    TEXT("\xef\xbc\x91"),
	TEXT("\xb2"),
};

static const char *const too_big[] = {
	"18446744073709551616", /* UINT64_MAX + 1 */
	"18446744073709551617",
	"18446744073709551620", /* first beyond in the last digit but one */
	"18446744073709551699",
	"18446744073709552000",
	"20000000000000000000",
	"36893488147419103231", /* twice: back above where it began */
	"36893488147419103232",
	"55340232221128654848", /* 3 << 64 */
	"99999999999999999999",
	"100000000000000000000", /* 21 digits */
	"184467440737095516150",
	"184467440737095516160",		   /* 10 << 64 */
	"340282366920938463463374607431768211456", /* 1 << 128 */
	"340282366920938463463374607431768211457",
	"1000000000000000000000000000000000000000000000000000000000000000000",
};

/* Bytes put together; its block may be larger than what is in it. */
struct buffer {
	char *bytes;
	size_t length;
};

static void append(struct buffer *buffer, const char *bytes, size_t length)
{
	char *grown;

	if (!length)
		return;
	grown = realloc(buffer->bytes, buffer->length + length);
	assert_non_null(grown);
	memcpy(grown + buffer->length, bytes, length);
	buffer->bytes = grown;
	buffer->length += length;
}

static void append_string(struct buffer *buffer, const char *string)
{
	append(buffer, string, strlen(string));
}

/*
 * Block that ends where the text does; *ret_text points into it. (An empty
 * one begins at the end of one byte, as sanitizers round malloc(0) up.)
 */
static void *exact_block(const char *bytes, size_t length, char **ret_text)
{
	char *block;

	block = malloc(length ? length : 1);
	assert_non_null(block);
	*ret_text = length ? block : block + 1;
	if (length)
		memcpy(*ret_text, bytes, length);
	return block;
}

/*
 * Parse a copy of the bytes; an error must be -EBADMSG and must leave what is
 * in the struct, and the text is not written to.
 */
static int parse_stat(const char *bytes, size_t length,
		      struct cpuclock__stat *ret_stat)
{
	struct cpuclock__stat before;
	void *block;
	char *text;
	int r;

	memset(ret_stat, 0xa5, sizeof(*ret_stat));
	before = *ret_stat;
	block = exact_block(bytes, length, &text);
	r = cpuclock__parse_stat(text, length, ret_stat);
	if (length)
		assert_memory_equal(text, bytes, length);
	free(block);
	if (r) {
		assert_int_equal(r, -EBADMSG);
		assert_memory_equal(ret_stat, &before, sizeof(before));
	}
	return r;
}

static int parse_schedstat(const char *bytes, size_t length,
			   struct cpuclock__schedstat *ret_schedstat)
{
	struct cpuclock__schedstat before;
	void *block;
	char *text;
	int r;

	memset(ret_schedstat, 0xa5, sizeof(*ret_schedstat));
	before = *ret_schedstat;
	block = exact_block(bytes, length, &text);
	r = cpuclock__parse_schedstat(text, length, ret_schedstat);
	if (length)
		assert_memory_equal(text, bytes, length);
	free(block);
	if (r) {
		assert_int_equal(r, -EBADMSG);
		assert_memory_equal(ret_schedstat, &before, sizeof(before));
	}
	return r;
}

static void show(const char *what, const char *bytes, size_t length)
{
	size_t i;

	print_error("%s: \"", what);
	for (i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte < ' ' || byte > '~' || byte == '\\')
			print_error("\\x%02x", byte);
		else
			print_error("%c", byte);
	}
	print_error("\"\n");
}

static int same_stat(const struct cpuclock__stat *a,
		     const struct cpuclock__stat *b)
{
	return a->user_ticks == b->user_ticks &&
	       a->system_ticks == b->system_ticks &&
	       a->start_ticks == b->start_ticks;
}

static int same_schedstat(const struct cpuclock__schedstat *a,
			  const struct cpuclock__schedstat *b)
{
	return a->cpu_ns == b->cpu_ns && a->wait_ns == b->wait_ns &&
	       a->switches == b->switches;
}

static void assert_stat(const char *bytes, size_t length,
			const struct cpuclock__stat *expected)
{
	struct cpuclock__stat stat;

	if (parse_stat(bytes, length, &stat)) {
		show("refused", bytes, length);
		fail();
	}
	if (!same_stat(&stat, expected)) {
		show("wrong numbers", bytes, length);
		assert_int_equal(stat.user_ticks, expected->user_ticks);
		assert_int_equal(stat.system_ticks, expected->system_ticks);
		assert_int_equal(stat.start_ticks, expected->start_ticks);
	}
}

static void refute_stat(const char *bytes, size_t length)
{
	struct cpuclock__stat stat;

	if (!parse_stat(bytes, length, &stat)) {
		show("taken", bytes, length);
		fail();
	}
}

static void assert_schedstat(const char *bytes, size_t length,
			     const struct cpuclock__schedstat *expected)
{
	struct cpuclock__schedstat schedstat;

	if (parse_schedstat(bytes, length, &schedstat)) {
		show("refused", bytes, length);
		fail();
	}
	if (!same_schedstat(&schedstat, expected)) {
		show("wrong numbers", bytes, length);
		assert_int_equal(schedstat.cpu_ns, expected->cpu_ns);
		assert_int_equal(schedstat.wait_ns, expected->wait_ns);
		assert_int_equal(schedstat.switches, expected->switches);
	}
}

static void refute_schedstat(const char *bytes, size_t length)
{
	struct cpuclock__schedstat schedstat;

	if (!parse_schedstat(bytes, length, &schedstat)) {
		show("taken", bytes, length);
		fail();
	}
}

/* Every prefix is refused, or gives the numbers of the whole. */
static void assert_stat_prefixes(const char *bytes, size_t length,
				 const struct cpuclock__stat *expected)
{
	struct cpuclock__stat stat;
	size_t cut;

	for (cut = 0; cut <= length; cut++) {
		if (parse_stat(bytes, cut, &stat))
			continue;
		if (!same_stat(&stat, expected)) {
			show("prefix gives other numbers", bytes, cut);
			fail();
		}
	}
}

static void
assert_schedstat_prefixes(const char *bytes, size_t length,
			  const struct cpuclock__schedstat *expected)
{
	struct cpuclock__schedstat schedstat;
	size_t cut;

	for (cut = 0; cut <= length; cut++) {
		if (parse_schedstat(bytes, cut, &schedstat))
			continue;
		if (!same_schedstat(&schedstat, expected)) {
			show("prefix gives other numbers", bytes, cut);
			fail();
		}
	}
}

/* How to make a line out of plain_fields; 0 or NULL is "as it is". */
struct recipe {
	const struct text *name;
	int field; /* to be replaced */
	struct text value;
	int last;		/* field of the line */
	int blank;		/* before this field ... */
	const char *blank_text; /* ... this stands instead of " " */
};

static struct buffer make_stat(const struct recipe *recipe)
{
	struct buffer line = {0};
	int last = recipe->last ? recipe->last : FIELD_EXIT_CODE;
	int i;

	for (i = 1; i <= last; i++) {
		if (i > 1 && i == recipe->blank)
			append_string(&line, recipe->blank_text);
		else if (i > 1)
			append_string(&line, " ");

		if (i == recipe->field) {
			append(&line, recipe->value.bytes,
			       recipe->value.length);
		} else if (i == FIELD_COMM && recipe->name) {
			append_string(&line, "(");
			append(&line, recipe->name->bytes,
			       recipe->name->length);
			append_string(&line, ")");
		} else {
			append_string(&line, plain_fields[i]);
		}
	}
	append_string(&line, "\n");
	return line;
}

static void assert_recipe(const struct recipe *recipe,
			  const struct cpuclock__stat *expected)
{
	struct buffer line = make_stat(recipe);

	assert_stat(line.bytes, line.length, expected);
	free(line.bytes);
}

static void refute_recipe(const struct recipe *recipe)
{
	struct buffer line = make_stat(recipe);

	refute_stat(line.bytes, line.length);
	free(line.bytes);
}

static void assert_named(const char *bytes, size_t length)
{
	struct text name = {bytes, length};
	struct recipe recipe = {.name = &name};

	assert_recipe(&recipe, &plain_stat);
}

static void line_of_a_kernel_gives_its_three_numbers(void **state)
{
	static const char line[] =
		"21 (migration/1) S 2 0 0 0 -1 69238848 0 0 0 0 3 15 0 0 -100 "
		"0 1 0 14 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 "
		"1 0 0 17 1 99 1 0 0 0 0 0 0 0 0 0 0 0\n";
	static const struct cpuclock__stat expected = {3, 15, 14};

	(void)state;
	assert_stat(line, sizeof(line) - 1, &expected);
	assert_recipe(&(struct recipe){0}, &plain_stat);
}

static void zeros_are_numbers(void **state)
{
	static const char line[] = "1 (a) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
				   "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
	static const struct cpuclock__stat expected = {0, 0, 0};

	(void)state;
	assert_stat(line, sizeof(line) - 1, &expected);
}

static void comm_may_hold_parens_and_spaces(void **state)
{
	static const struct text table[] = {
		TEXT("(a) (b)"), TEXT("(sd-pam)"), TEXT("("),	TEXT(")"),
		TEXT(")))"),	 TEXT(" ) "),	   TEXT(") ("), TEXT("   "),
		TEXT(")("),	 TEXT("a )"),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		assert_named(table[i].bytes, table[i].length);
}

static void comm_may_look_like_the_fields_after_it(void **state)
{
	static const struct text table[] = {
		TEXT(") S 1 2 3"),
		TEXT(") R 1 1 1 1 1 1"),
		TEXT("x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"),
		TEXT(") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "
		     "21 22 23 24 25 26 27 28 29 30\n2 (y"),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		assert_named(table[i].bytes, table[i].length);
}

static void comm_may_be_empty(void **state)
{
	(void)state;
	assert_named("", 0);
}

static void comm_may_be_as_long_as_a_workers(void **state)
{
	char name[64];

	(void)state;
	memset(name, 'w', sizeof(name));
	assert_named(name, sizeof(name));
}

static void comm_may_hold_every_byte(void **state)
{
	char all[256];
	int byte;

	(void)state;
	for (byte = 0; byte < 256; byte++) {
		char name[3] = {'x', (char)byte, 'y'};

		all[byte] = (char)byte;
		assert_named(name, 3);
		assert_named(name, 2);
		assert_named(name + 1, 2);
		assert_named(name + 1, 1);
	}
	assert_named(all, sizeof(all));
}

static void comm_may_be_any_of_the_oddities(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		assert_named(names[i].bytes, names[i].length);
}

static void name_is_closed_by_the_last_paren_of_the_text(void **state)
{
	static const char line[] =
		"1 (a) S 0 0 0 0 0 0 0 0 0 0 5 6 0 0 0 0 0 0 7 0 0 0 0 0 0 0 0 "
		"0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0) S 0 0 0 0 0 0 0 0 0 0 8 "
		"9 0 0 0 0 0 0 10 0\n";
	static const char closed_late[] =
		"1 (a) S 0 0 0 0 0 0 0 0 0 0 5 6 0 0 0 0 0 0 7 0 0 0)\n";
	static const struct cpuclock__stat expected = {8, 9, 10};

	(void)state;
	assert_stat(line, sizeof(line) - 1, &expected);
	refute_stat(closed_late, sizeof(closed_late) - 1);
}

static void stat_prefix_gives_an_error_or_the_right_numbers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct recipe recipe = {.name = &names[i]};
		struct buffer line = make_stat(&recipe);

		/* Could be the whole of another process: not to be told. */
		if (memmem(names[i].bytes, names[i].length, " 22", 3)) {
			free(line.bytes);
			continue;
		}
		assert_stat_prefixes(line.bytes, line.length, &plain_stat);
		free(line.bytes);
	}
}

static void start_time_cut_short_is_refused(void **state)
{
	struct recipe recipe = {.last = FIELD_STARTTIME};
	struct buffer line = make_stat(&recipe);
	size_t cut;

	(void)state;
	/* All digits there, and no byte after them, may be cut short too. */
	for (cut = 0; cut < line.length; cut++)
		refute_stat(line.bytes, cut);
	free(line.bytes);
}

static void prefix_is_refused_whatever_the_memory_after_it(void **state)
{
	static const char line[] = "1 (a) S 0 0 0 0 0 0 0 0 0 0 5 6 0 0 0 0 0 "
				   "0 77777 0 0 0 0\n";
	size_t start = (size_t)(strstr(line, "77777") - line);
	struct cpuclock__stat stat;
	size_t cut;

	(void)state;
	for (cut = start; cut <= start + 5; cut++)
		assert_int_equal(cpuclock__parse_stat(line, cut, &stat),
				 -EBADMSG);
}

static void line_that_ends_before_the_start_time_is_refused(void **state)
{
	int last;

	(void)state;
	for (last = 1; last < FIELD_STARTTIME; last++)
		refute_recipe(&(struct recipe){.last = last});
}

static void fields_of_newer_kernels_are_let_be(void **state)
{
	struct buffer line = make_stat(&(struct recipe){0});

	(void)state;
	line.length--;
	append_string(&line, " 53 -54 " UINT64_MAX_TEXT "0 x56\n57 58\n");
	assert_stat(line.bytes, line.length, &plain_stat);
	free(line.bytes);
}

static void fields_of_older_kernels_are_enough(void **state)
{
	int last;

	(void)state;
	for (last = FIELD_STARTTIME + 1; last < FIELD_EXIT_CODE; last++)
		assert_recipe(&(struct recipe){.last = last}, &plain_stat);
}

/* What the struct must hold once the value stands in the wanted field. */
static struct cpuclock__stat plain_but(int field, uint64_t value)
{
	struct cpuclock__stat stat = plain_stat;

	if (field == FIELD_UTIME)
		stat.user_ticks = value;
	else if (field == FIELD_STIME)
		stat.system_ticks = value;
	else if (field == FIELD_STARTTIME)
		stat.start_ticks = value;
	return stat;
}

static const int wanted_fields[] = {FIELD_UTIME, FIELD_STIME, FIELD_STARTTIME};

static void each_field_is_the_one_proc_5_says(void **state)
{
	int field;

	(void)state;
	for (field = FIELD_PPID; field <= FIELD_EXIT_CODE; field++) {
		struct recipe recipe = {.field = field, .value = TEXT("7")};
		struct cpuclock__stat expected = plain_but(field, 7);

		assert_recipe(&recipe, &expected);
	}
}

static void numbers_up_to_uint64_max_are_taken(void **state)
{
	static const struct {
		struct text text;
		uint64_t value;
	} table[] = {
		{TEXT("0"), 0},
		{TEXT("9"), 9},
		{TEXT("10"), 10},
		{TEXT("4294967295"), UINT32_MAX},
		{TEXT("4294967296"), UINT64_C(4294967296)},
		{TEXT("9223372036854775807"), INT64_MAX},
		{TEXT("9223372036854775808"), UINT64_C(9223372036854775808)},
		{TEXT("9999999999999999999"), UINT64_C(9999999999999999999)},
		{TEXT("18446744073709551609"), UINT64_MAX - 6},
		{TEXT("18446744073709551610"), UINT64_MAX - 5},
		{TEXT("18446744073709551614"), UINT64_MAX - 1},
		{TEXT(UINT64_MAX_TEXT), UINT64_MAX},
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		for (j = 0; j < ARRAY_SIZE(wanted_fields); j++) {
			struct recipe recipe = {
				.field = wanted_fields[j],
				.value = table[i].text,
			};
			struct cpuclock__stat expected =
				plain_but(wanted_fields[j], table[i].value);

			assert_recipe(&recipe, &expected);
		}
	}
}

static void numbers_above_uint64_max_are_refused(void **state)
{
	size_t i;
	int field;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(too_big); i++) {
		for (field = FIELD_PPID; field <= FIELD_STARTTIME; field++) {
			refute_recipe(&(struct recipe){
				.field = field,
				.value = {too_big[i], strlen(too_big[i])},
			});
		}
	}
}

static struct cpuclock__task_stat parse_task(const struct recipe *recipe,
					     int expected_result)
{
	struct cpuclock__task_stat stat = {0};
	struct buffer line = make_stat(recipe);
	void *block;
	char *text;

	block = exact_block(line.bytes, line.length, &text);
	assert_int_equal(cpuclock__parse_task_stat(text, line.length, &stat),
			 expected_result);
	free(block);
	free(line.bytes);
	return stat;
}

static void task_stat_has_the_fields_proc_5_says(void **state)
{
	struct cpuclock__task_stat stat = parse_task(&(struct recipe){0}, 0);

	(void)state;
	assert_true(same_stat(&stat.times, &plain_stat));
	assert_int_equal(stat.parent_pid, 4348);
	assert_int_equal(stat.threads, 3);
	assert_int_equal(stat.cpu, 1);
	assert_int_equal(stat.state, 'S');
	assert_string_equal(stat.name, "plain");
}

static void task_stat_of_a_short_line_has_no_cpu(void **state)
{
	int last;

	(void)state;
	for (last = FIELD_STARTTIME + 1; last < FIELD_EXIT_CODE; last++) {
		struct cpuclock__task_stat stat =
			parse_task(&(struct recipe){.last = last}, 0);

		assert_int_equal(stat.cpu, last > FIELD_PROCESSOR ? 1 : -1);
		assert_int_equal(stat.parent_pid, 4348);
	}
}

static void task_stat_names_are_cut_to_what_the_kernel_has(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct cpuclock__task_stat stat =
			parse_task(&(struct recipe){.name = &names[i]}, 0);
		size_t length = names[i].length < 15 ? names[i].length : 15;

		assert_memory_equal(stat.name, names[i].bytes, length);
		assert_int_equal(stat.name[length], '\0');
	}
}

static void task_stat_refuses_ids_that_are_none(void **state)
{
	static const struct text table[] = {
		TEXT("-1"),
		TEXT("2147483648"),
		TEXT("4294967296"),
		TEXT(UINT64_MAX_TEXT),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		parse_task(&(struct recipe){.field = FIELD_PPID,
					    .value = table[i]},
			   -EBADMSG);
		parse_task(&(struct recipe){.field = FIELD_NUM_THREADS,
					    .value = table[i]},
			   -EBADMSG);
	}
}

static void negative_is_taken_where_the_kernel_prints_it(void **state)
{
	static const struct {
		int field;
		struct text value;
	} table[] = {
		{FIELD_TTY_NR, TEXT("-1")},
		{FIELD_TTY_NR, TEXT("-2147483648")},
		{FIELD_TPGID, TEXT("-1")},
		{FIELD_PRIORITY, TEXT("-2")},
		{FIELD_PRIORITY, TEXT("-51")},
		{FIELD_PRIORITY, TEXT("-100")},
		{FIELD_PRIORITY, TEXT("-101")}, /* SCHED_DEADLINE */
		{FIELD_NICE, TEXT("-1")},
		{FIELD_NICE, TEXT("-20")},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct recipe recipe = {
			.field = table[i].field,
			.value = table[i].value,
		};

		assert_recipe(&recipe, &plain_stat);
	}
}

static void negative_is_refused_where_the_kernel_never_prints_it(void **state)
{
	static const struct text table[] = {
		TEXT("-0"),
		TEXT("-1"),
		TEXT("-1414"),
		TEXT("-9223372036854775808"),
		TEXT("-18446744073709551615"),
		TEXT("-18446744073709551616"),
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		for (j = 0; j < ARRAY_SIZE(wanted_fields); j++) {
			refute_recipe(&(struct recipe){
				.field = wanted_fields[j],
				.value = table[i],
			});
		}
	}
}

static void field_that_is_no_number_is_refused(void **state)
{
	size_t i;
	int field;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(no_numbers); i++) {
		for (field = FIELD_PPID; field <= FIELD_STARTTIME; field++) {
			refute_recipe(&(struct recipe){
				.field = field,
				.value = no_numbers[i],
			});
		}
	}
}

static void state_is_one_letter(void **state)
{
	static const char letters[] = "RSDZTtWXxKPI";
	static const struct text table[] = {
		TEXT(""),   TEXT(" "),	TEXT("1"),  TEXT("-1"),
		TEXT("\0"), TEXT("S "), TEXT("\n"),
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(letters) - 1; i++) {
		struct recipe recipe = {
			.field = FIELD_STATE,
			.value = {letters + i, 1},
		};

		assert_recipe(&recipe, &plain_stat);
	}
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		refute_recipe(&(struct recipe){
			.field = FIELD_STATE,
			.value = table[i],
		});
	}
}

/* A digit for a state would move each number by one field. */
static void state_left_out_before_a_ppid_of_one_digit_is_refused(void **state)
{
	static const char line[] =
		"2 (kthreadd) 0 0 0 0 -1 2129984 0 0 0 0 1 2 0 0 20 0 1 0 14 0 "
		"0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0\n";

	(void)state;
	refute_stat(line, sizeof(line) - 1);
}

static void fields_are_set_apart_by_one_blank(void **state)
{
	static const char *const table[] = {
		"", "  ", "   ", "\t", "\n", " \n", "\n ", " \t", ",", "\r\n",
	};
	size_t i;
	int field;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		for (field = FIELD_STATE; field <= FIELD_STARTTIME; field++) {
			struct recipe recipe = {
				.blank = field,
				.blank_text = table[i],
			};

			/* Two numbers run together are one field missing. */
			if (!*table[i] && field > FIELD_STATE + 1)
				continue;
			refute_recipe(&recipe);
		}
	}
}

static void text_without_closing_paren_is_refused(void **state)
{
	static const struct text table[] = {
		TEXT("1"),
		TEXT("1 "),
		TEXT("1 ("),
		TEXT("1 (a"),
		TEXT("1 (a S 0 0 0 0 0 0 0 0 0 0 5 6 0 0 0 0 0 0 7 0 0\n"),
		TEXT("1 a S 0 0 0 0 0 0 0 0 0 0 5 6 0 0 0 0 0 0 7 0 0\n"),
		TEXT(" S 0 0 0 0 0 0 0 0 0 0 5 6 0 0 0 0 0 0 7 0 0\n"),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		refute_stat(table[i].bytes, table[i].length);
}

static void text_begins_with_pid_and_opening_paren(void **state)
{
	static const char *const good[] = {"0 (a)", "1 (a)", "4194304 (a)"};
	static const char *const bad[] = {
		"",	   "(a)",    " (a)",
		" 1 (a)",  "1(a)",   "1  (a)",
		"1\n(a)",  "1 a)",   "x (a)",
		"1x (a)",  "-1 (a)", "1\t(a)",
		"1 )",	   ")",	     "1 x(a)",
		"\n1 (a)", "1)",     "99999999999999999999 (a)",
	};
	static const char rest[] = " S 1 2 3 4 5 6 7 8 9 10 1414 15151 16 17 "
				   "18 19 20 21 2222222 23 24\n";
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good) + ARRAY_SIZE(bad); i++) {
		int ok = i < ARRAY_SIZE(good);
		struct buffer line = {0};

		append_string(&line, ok ? good[i] : bad[i - ARRAY_SIZE(good)]);
		append_string(&line, rest);
		if (ok)
			assert_stat(line.bytes, line.length, &plain_stat);
		else
			refute_stat(line.bytes, line.length);
		free(line.bytes);
	}
}

static const struct text garbage[] = {
	TEXT(")"),
	TEXT(") "),
	TEXT("))))))))))))))))))))))))))))))))))))))))))))))))))))))"),
	TEXT("\n"),
	TEXT(" "),
	TEXT("\0"),
	TEXT("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	TEXT("99999999999999999999999999999999999999999999999999999999"),
	TEXT("                                                         \n"),
	TEXT("- - -\n"),
	TEXT(") - - - - - - - - - - - - - - - - - - - - - - - - - - - -\n"),
	TEXT("Name:\tcat\nUmask:\t0022\nState:\tR (running)\nTgid:\t17\n"),
	TEXT("cat: /proc/1/stat: No such process (3)\n"),
	TEXT("0::/init.scope\n"),
};

static void garbage_is_refused_as_stat(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(garbage); i++)
		refute_stat(garbage[i].bytes, garbage[i].length);
	refute_stat(plain_schedstat_line, sizeof(plain_schedstat_line) - 1);
}

static void empty_stat_is_refused(void **state)
{
	(void)state;
	refute_stat("", 0);
}

static void any_one_byte_changed_gives_no_wrong_number(void **state)
{
	struct buffer line = make_stat(&(struct recipe){0});
	struct cpuclock__stat stat;
	size_t i;
	int byte;

	(void)state;
	for (i = 0; i < line.length; i++) {
		char old = line.bytes[i];

		for (byte = 0; byte < 256; byte++) {
			/* Another digit, minus or blank: another line. */
			if ((byte >= '0' && byte <= '9') || byte == '-' ||
			    byte == ' ')
				continue;
			line.bytes[i] = (char)byte;
			if (parse_stat(line.bytes, line.length, &stat))
				continue;
			if (!same_stat(&stat, &plain_stat)) {
				show("wrong", line.bytes, line.length);
				fail();
			}
		}
		line.bytes[i] = old;
	}
	free(line.bytes);
}

static void schedstat_gives_its_three_numbers(void **state)
{
	static const char zeros[] = "0 0 0\n";
	static const struct cpuclock__schedstat none = {0, 0, 0};

	(void)state;
	assert_schedstat(plain_schedstat_line, sizeof(plain_schedstat_line) - 1,
			 &plain_schedstat);
	assert_schedstat(zeros, sizeof(zeros) - 1, &none);
}

/* The n-th (from 0) of three plain numbers replaced. */
static struct buffer make_schedstat(size_t n, const struct text *value)
{
	static const char *const plain[] = {"1001825175", "37992", "311"};
	struct buffer line = {0};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(plain); i++) {
		if (i)
			append_string(&line, " ");
		if (i == n)
			append(&line, value->bytes, value->length);
		else
			append_string(&line, plain[i]);
	}
	append_string(&line, "\n");
	return line;
}

static void schedstat_numbers_up_to_uint64_max_are_taken(void **state)
{
	static const struct text text = TEXT(UINT64_MAX_TEXT);
	size_t n;

	(void)state;
	for (n = 0; n < 3; n++) {
		struct cpuclock__schedstat expected = plain_schedstat;
		struct buffer line = make_schedstat(n, &text);

		if (n == 0)
			expected.cpu_ns = UINT64_MAX;
		else if (n == 1)
			expected.wait_ns = UINT64_MAX;
		else
			expected.switches = UINT64_MAX;
		assert_schedstat(line.bytes, line.length, &expected);
		free(line.bytes);
	}
}

static void schedstat_numbers_above_uint64_max_are_refused(void **state)
{
	size_t i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(too_big); i++) {
		struct text text = {too_big[i], strlen(too_big[i])};

		for (n = 0; n < 3; n++) {
			struct buffer line = make_schedstat(n, &text);

			refute_schedstat(line.bytes, line.length);
			free(line.bytes);
		}
	}
}

static void schedstat_field_that_is_no_number_is_refused(void **state)
{
	static const struct text negative[] = {
		TEXT("-0"),
		TEXT("-1"),
		TEXT("-9223372036854775808"),
	};
	size_t i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(no_numbers) + ARRAY_SIZE(negative); i++) {
		const struct text *text =
			i < ARRAY_SIZE(no_numbers)
				? &no_numbers[i]
				: &negative[i - ARRAY_SIZE(no_numbers)];

		for (n = 0; n < 3; n++) {
			struct buffer line = make_schedstat(n, text);

			refute_schedstat(line.bytes, line.length);
			free(line.bytes);
		}
	}
}

static void schedstat_prefix_gives_an_error_or_the_right_numbers(void **state)
{
	(void)state;
	assert_schedstat_prefixes(plain_schedstat_line,
				  sizeof(plain_schedstat_line) - 1,
				  &plain_schedstat);
}

static void schedstat_without_its_newline_is_cut_short(void **state)
{
	size_t cut;

	(void)state;
	for (cut = 0; cut < sizeof(plain_schedstat_line) - 1; cut++)
		refute_schedstat(plain_schedstat_line, cut);
}

/* proc(5) knows of none: refusing them and letting them be are both sound. */
static void schedstat_with_more_fields_gives_no_wrong_number(void **state)
{
	static const struct text table[] = {
		TEXT("1001825175 37992 311 4\n"),
		TEXT("1001825175 37992 311 -4 x\n"),
		TEXT("1001825175 37992 311\n4 5 6\n"),
		TEXT("1001825175 37992 311\n\0"),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		assert_schedstat_prefixes(table[i].bytes, table[i].length,
					  &plain_schedstat);
}

static void schedstat_that_is_no_three_fields_is_refused(void **state)
{
	static const struct text table[] = {
		TEXT("\n"),
		TEXT("1\n"),
		TEXT("1 2\n"),
		TEXT("1 2 \n"),
		TEXT(" 1 2 3\n"),
		TEXT("1  2 3\n"),
		TEXT("1 2  3\n"),
		TEXT("1\t2 3\n"),
		TEXT("1 2\t3\n"),
		TEXT("1\n2\n3\n"),
		TEXT("1 2\n3\n"),
		TEXT("1 2\n3 4 5\n"),
		TEXT("1\n2 3 4\n"),
		TEXT("1 2 3"),
		TEXT("\n1 2 3\n"),
		TEXT("1,2,3\n"),
		TEXT("1 2 3\0\n"),
		TEXT("1 2 3\r\n"),
		TEXT("1\0"
		     "2 3\n"),
		TEXT("1 2 3\t\n"),
		TEXT("123\n"),
		TEXT("1 2 3x\n"),
		TEXT("1 2 3\xff\n"),
		TEXT("(a) 1 2 3\n"),
		TEXT("1 2 3)\n"),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		refute_schedstat(table[i].bytes, table[i].length);
}

static void empty_schedstat_is_refused(void **state)
{
	(void)state;
	refute_schedstat("", 0);
}

static void garbage_is_refused_as_schedstat(void **state)
{
	struct buffer line = make_stat(&(struct recipe){0});
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(garbage); i++)
		refute_schedstat(garbage[i].bytes, garbage[i].length);
	refute_schedstat(line.bytes, line.length);
	free(line.bytes);
}

static struct buffer read_file(const char *folder, const char *name)
{
	struct buffer content = {0};
	char path[4096], part[4096];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s/%s", TEST_DATA_DIR, folder, name);
	file = fopen(path, "rb");
	if (!file) {
		print_error("cannot open %s\n", path);
		fail();
		return content;
	}
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		append(&content, part, n);
	assert_false(ferror(file));
	fclose(file);
	return content;
}

/* What else is expected of stat. */
struct rest {
	uint64_t parent_pid, threads, cpu, state, name_length;
};

static void read_expected(const char *folder, struct cpuclock__stat *ret_stat,
			  struct cpuclock__schedstat *ret_schedstat,
			  struct rest *ret_rest)
{
	const struct {
		const char *key;
		uint64_t *value;
	} keys[] = {
		{"user_ticks", &ret_stat->user_ticks},
		{"system_ticks", &ret_stat->system_ticks},
		{"start_ticks", &ret_stat->start_ticks},
		{"cpu_ns", &ret_schedstat->cpu_ns},
		{"wait_ns", &ret_schedstat->wait_ns},
		{"switches", &ret_schedstat->switches},
		{"parent_pid", &ret_rest->parent_pid},
		{"threads", &ret_rest->threads},
		{"cpu", &ret_rest->cpu},
		{"state", &ret_rest->state},
		{"name_length", &ret_rest->name_length},
	};
	struct buffer content = read_file(folder, "expected");
	unsigned int seen = 0;
	char *line, *rest;
	size_t i;

	append(&content, "", 1);
	for (line = strtok_r(content.bytes, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, ' ');
		char *end;

		assert_non_null(value);
		*value++ = '\0';
		for (i = 0; i < ARRAY_SIZE(keys); i++) {
			if (strcmp(line, keys[i].key) != 0)
				continue;
			errno = 0;
			*keys[i].value = strtoull(value, &end, 10);
			/* A letter stands for itself. */
			if (end == value && *end)
				*keys[i].value = (unsigned char)*end++;
			assert_true(!errno && end != value && !*end);
			seen |= 1U << i;
		}
	}
	free(content.bytes);
	assert_int_equal(seen, (1U << ARRAY_SIZE(keys)) - 1);
}

static void assert_rest(const struct buffer *text, const struct rest *expected)
{
	struct cpuclock__task_stat stat;
	const char *name = (char *)memchr(text->bytes, '(', text->length) + 1;

	assert_int_equal(
		cpuclock__parse_task_stat(text->bytes, text->length, &stat), 0);
	assert_int_equal(stat.parent_pid, expected->parent_pid);
	assert_int_equal(stat.threads, expected->threads);
	assert_int_equal(stat.cpu, expected->cpu);
	assert_int_equal(stat.state, expected->state);
	assert_int_equal(strlen(stat.name), expected->name_length);
	assert_memory_equal(stat.name, name, expected->name_length);
}

static void check_recorded(const char *folder)
{
	struct rest rest = {0};
	struct cpuclock__schedstat schedstat = {0};
	struct cpuclock__stat stat = {0};
	struct buffer content;

	print_message("# recorded: %s\n", folder);
	read_expected(folder, &stat, &schedstat, &rest);

	content = read_file(folder, "stat");
	assert_stat(content.bytes, content.length, &stat);
	assert_stat_prefixes(content.bytes, content.length, &stat);
	assert_rest(&content, &rest);
	free(content.bytes);

	content = read_file(folder, "schedstat");
	assert_schedstat(content.bytes, content.length, &schedstat);
	assert_schedstat_prefixes(content.bytes, content.length, &schedstat);
	free(content.bytes);
}

static void recorded_trees_give_what_is_expected_of_them(void **state)
{
	struct dirent **entries;
	size_t count = 0;
	int i, n;

	(void)state;
	n = scandir(TEST_DATA_DIR, &entries, NULL, alphasort);
	assert_true(n >= 0);
	for (i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.') {
			check_recorded(entries[i]->d_name);
			count++;
		}
		free(entries[i]);
	}
	free(entries);
	assert_true(count > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_of_a_kernel_gives_its_three_numbers),
		cmocka_unit_test(zeros_are_numbers),
		cmocka_unit_test(comm_may_hold_parens_and_spaces),
		cmocka_unit_test(comm_may_look_like_the_fields_after_it),
		cmocka_unit_test(comm_may_be_empty),
		cmocka_unit_test(comm_may_be_as_long_as_a_workers),
		cmocka_unit_test(comm_may_hold_every_byte),
		cmocka_unit_test(comm_may_be_any_of_the_oddities),
		cmocka_unit_test(name_is_closed_by_the_last_paren_of_the_text),
		cmocka_unit_test(
			stat_prefix_gives_an_error_or_the_right_numbers),
		cmocka_unit_test(start_time_cut_short_is_refused),
		cmocka_unit_test(
			prefix_is_refused_whatever_the_memory_after_it),
		cmocka_unit_test(
			line_that_ends_before_the_start_time_is_refused),
		cmocka_unit_test(fields_of_newer_kernels_are_let_be),
		cmocka_unit_test(fields_of_older_kernels_are_enough),
		cmocka_unit_test(each_field_is_the_one_proc_5_says),
		cmocka_unit_test(numbers_up_to_uint64_max_are_taken),
		cmocka_unit_test(numbers_above_uint64_max_are_refused),
		cmocka_unit_test(task_stat_has_the_fields_proc_5_says),
		cmocka_unit_test(task_stat_of_a_short_line_has_no_cpu),
		cmocka_unit_test(
			task_stat_names_are_cut_to_what_the_kernel_has),
		cmocka_unit_test(task_stat_refuses_ids_that_are_none),
		cmocka_unit_test(negative_is_taken_where_the_kernel_prints_it),
		cmocka_unit_test(
			negative_is_refused_where_the_kernel_never_prints_it),
		cmocka_unit_test(field_that_is_no_number_is_refused),
		cmocka_unit_test(state_is_one_letter),
		cmocka_unit_test(
			state_left_out_before_a_ppid_of_one_digit_is_refused),
		cmocka_unit_test(fields_are_set_apart_by_one_blank),
		cmocka_unit_test(text_without_closing_paren_is_refused),
		cmocka_unit_test(text_begins_with_pid_and_opening_paren),
		cmocka_unit_test(garbage_is_refused_as_stat),
		cmocka_unit_test(empty_stat_is_refused),
		cmocka_unit_test(any_one_byte_changed_gives_no_wrong_number),
		cmocka_unit_test(schedstat_gives_its_three_numbers),
		cmocka_unit_test(schedstat_numbers_up_to_uint64_max_are_taken),
		cmocka_unit_test(
			schedstat_numbers_above_uint64_max_are_refused),
		cmocka_unit_test(schedstat_field_that_is_no_number_is_refused),
		cmocka_unit_test(
			schedstat_prefix_gives_an_error_or_the_right_numbers),
		cmocka_unit_test(schedstat_without_its_newline_is_cut_short),
		cmocka_unit_test(
			schedstat_with_more_fields_gives_no_wrong_number),
		cmocka_unit_test(schedstat_that_is_no_three_fields_is_refused),
		cmocka_unit_test(empty_schedstat_is_refused),
		cmocka_unit_test(garbage_is_refused_as_schedstat),
		cmocka_unit_test(recorded_trees_give_what_is_expected_of_them),
	};

	return cmocka_run_group_tests_name("procparse", tests, NULL, NULL);
}
