/* SPDX-License-Identifier: MIT */
/*
 * cli/flame's readers: what lines of folded stacks and of perf-script(1) become
 * as folded stacks, the suffixes of their kinds included. Every text is handed
 * over in a block of its exact size.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flame/names.h"
#include "flame/read.h"
#include "support.h"

static const struct read_filter everything = {0};

typedef int64_t reader_function(const char *text, size_t size,
				const struct read_filter *filter,
				struct profile *profile);

static struct profile *read_with(reader_function *reader, const char *text,
				 const struct read_filter *filter,
				 int64_t n_stacks)
{
	struct profile *profile = profile_new();
	size_t size = strlen(text);
	char *block = malloc(size ? size : 1);

	assert_non_null(profile);
	assert_non_null(block);
	memcpy(block, text, size);
	assert_int_equal(reader(block, size, filter, profile), n_stacks);
	free(block);
	assert_int_equal(profile_finish(profile), 0);
	return profile;
}

/* Each frame with a letter for its kind: "r:main n:f 3|..." */
static char *describe(const struct profile *profile)
{
	static const char letters[FRAME_KINDS] = {'n', 'k', 'i', 'j', 'r', 'l'};
	const struct profile_node *node = &profile->root;
	struct path path = {0};
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	for (; node; node = profile_next(node)) {
		if (!node->self)
			continue;
		assert_int_equal(path_of(node, &path), 0);
		for (size_t i = 0; i < path.n_nodes; i++)
			fprintf(stream, "%c:%s;", letters[path.nodes[i]->kind],
				path.nodes[i]->name);
		fprintf(stream, " %llu|", (unsigned long long)node->self);
	}
	fclose(stream);
	path_free(&path);
	return text;
}

static void assert_reads(reader_function *reader, const char *text,
			 int64_t n_stacks, const char *expected)
{
	struct profile *profile =
		read_with(reader, text, &everything, n_stacks);
	char *description = describe(profile);

	assert_string_equal(description, expected);
	free(description);
	profile_free(profile);
}

static void assert_folded(const char *text, int64_t n_stacks,
			  const char *expected)
{
	assert_reads(read_folded, text, n_stacks, expected);
}

static void assert_perf(const char *text, int64_t n_stacks,
			const char *expected)
{
	assert_reads(read_perf_script, text, n_stacks, expected);
}

static void the_count_is_behind_the_last_blank(void **state)
{
	(void)state;
	assert_folded("my app;operator new (x);f 1 2 3\n", 1,
		      "r:my app;n:operator new (x);n:f 1 2; 3|");
	assert_folded("a;b\t7", 1, "r:a;n:b; 7|");
	assert_folded("a;b 7  \n", 1, "r:a;n:b; 7|");
}

static void suffixes_and_brackets_tell_the_kind(void **state)
{
	(void)state;
	assert_folded("t;u;s_[k];i_[i];j_[j];w_[w];[libc.so.6];x_[y] 1\n", 1,
		      "r:t;n:u;k:s;i:i;j:j;k:w;l:[libc.so.6];n:x_[y]; 1|");
	assert_folded("t;Interpreted.run_[0];C1.run_[1] 1\n", 1,
		      "r:t;j:Interpreted.run;j:C1.run; 1|");
}

static void lines_may_end_in_cr_lf_and_the_last_in_nothing(void **state)
{
	(void)state;
	assert_folded("a;b 1\r\n\r\na;c 2", 2, "r:a;n:b; 1|r:a;n:c; 2|");
}

static void bccs_delimiter_begins_the_kernels_frames(void **state)
{
	(void)state;
	assert_folded("sh;main;--;do_syscall_64 4\n", 1,
		      "r:sh;n:main;k:do_syscall_64; 4|");
	assert_folded("sh;main;-;do_syscall_64 4\n", 1,
		      "r:sh;n:main;k:do_syscall_64; 4|");
}

static void counts_with_decimals_are_rounded(void **state)
{
	(void)state;
	assert_folded("a 1.4\nb 1.5\nc 2.\n", 3, "r:a; 1|r:b; 2|r:c; 2|");
}

static void an_empty_frame_is_unknown(void **state)
{
	(void)state;
	assert_folded("a;;b 1\n", 1, "r:a;l:[unknown];n:b; 1|");
	assert_folded("; 1\n", 1, "l:[unknown];l:[unknown]; 1|");
}

static void lines_that_are_no_stacks_are_counted_in_a_note(void **state)
{
	struct profile *profile = read_with(read_folded,
					    "a;b 1\nno count\na;b -1\n\n 12\n"
					    "a 99999999999999999999\n",
					    &everything, 1);

	(void)state;
	assert_int_equal(profile->about.n_notes, 1);
	assert_string_equal(profile->about.notes[0],
			    "left out: 4 lines without a count at the end, the "
			    "first is line 2");
	profile_free(profile);
}

static void counts_that_are_too_large_together_are_an_error(void **state)
{
	struct profile *profile =
		read_with(read_folded, "a 9223372036854775807\na 1\n",
			  &everything, -EOVERFLOW);

	(void)state;
	profile_free(profile);
}

static void a_filter_goes_by_where_the_sample_was_taken(void **state)
{
	static const char text[] = "t;main 1\nt;main;read_[k] 2\n"
				   "t;main;read_[k];copy_[i] 4\n"
				   "t;main;memcpy_[i] 8\n";
	const struct read_filter user = {.user_only = true};
	const struct read_filter kernel = {.kernel_only = true};
	struct profile *profile = read_with(read_folded, text, &user, 4);

	(void)state;
	assert_int_equal(profile->root.total, 9);
	profile_free(profile);
	profile = read_with(read_folded, text, &kernel, 4);
	assert_int_equal(profile->root.total, 6);
	profile_free(profile);
}

static void frames_of_perf_script_come_the_innermost_first(void **state)
{
	(void)state;
	assert_perf("cpuclock   755 25522.853662:    1001001 cpu-clock:ppp: \n"
		    "\t ffffffff81000abc do_syscall_64+0x5c "
		    "([kernel.kallsyms])\n"
		    "\t    5581 main+0x1 (/usr/bin/cpuclock)\n"
		    "\n",
		    1, "r:cpuclock;n:main;k:do_syscall_64; 1|");
}

static void threads_may_be_named_like_fields(void **state)
{
	static const char *const names[] = {
		"worker 1 x", "pool-1/2 3", "12", "a 1/2 3.4: 5 e:", "x [001]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[256], expected[64];

		snprintf(
			text, sizeof(text),
			"%s  12/34 [001] 1.5: 10 cycles: \n\t 1 f+0x1 (/x)\n\n",
			names[i]);
		snprintf(expected, sizeof(expected), "r:%s;n:f; 1|", names[i]);
		assert_perf(text, 1, expected);
	}
}

static void fields_of_the_head_may_be_fewer(void **state)
{
	(void)state;
	assert_perf("sh 12\n\t 1 f (/x)\n\nsh 12/12\n\t 1 f (/x)\n", 2,
		    "r:sh;n:f; 2|");
	assert_perf("sh 12 1.000:\n\t 1 f (/x)\n", 1, "r:sh;n:f; 1|");
	assert_perf("sh 12 [003] 1.000: cycles:\n\t 1 f (/x)\n", 1,
		    "r:sh;n:f; 1|");
}

static void names_with_brackets_are_not_cut(void **state)
{
	(void)state;
	assert_perf(
		"x 1 1.1: 1 c: \n"
		"\t 3 std::function<void (int)>::operator()(int) const+0x1f "
		"(/opt/my app (x)/bin)\n"
		"\t 2 (anonymous namespace)::f(char (*) [3])+0x2 "
		"(/tmp/gone (deleted))\n"
		"\t 1 foo(int) (/bin/x)\n\n",
		1,
		"r:x;n:foo(int);n:(anonymous namespace)::f(char (*) [3]);"
		"n:std::function<void (int)>::operator()(int) const; 1|");
}

static void inlined_functions_and_jits_have_their_kinds(void **state)
{
	(void)state;
	assert_perf("java 1 1.1: 1 c: \n"
		    "\t 5 copy (inlined)\n"
		    "\t 4 operator()(int) (inlined)\n"
		    "\t 3 Lfoo/Bar;::baz+0x1 (/tmp/perf-1.map)\n"
		    "\t 2 Interpreter+0x1 ([JIT] tid 1)\n"
		    "\t 1 js:f+0x1 (/tmp/jitted-1-2.so)\n\n",
		    1,
		    "r:java;j:js:f;j:Interpreter;j:Lfoo/Bar;::baz;"
		    "i:operator()(int);i:copy; 1|");
}

static void the_kernel_is_known_by_file_or_address(void **state)
{
	(void)state;
	assert_perf("x 1 1.1: 1 c: \n"
		    "\t ffffffffc0001234 a+0x1 ([nf_tables])\n"
		    "\t 7 b+0x1 ([guest.kernel.kallsyms])\n"
		    "\t 6 c+0x1 (/lib/modules/6.1/kernel/net/x.ko.xz)\n"
		    "\t ffffffff81000000 [unknown] ([kernel.kallsyms])\n"
		    "\t ffffffffff600000 d+0x1 ([vsyscall])\n"
		    "\t 5 e+0x1 ([vdso])\n\n",
		    1, "r:x;n:e;n:d;k:[kernel.kallsyms];k:c;k:b;k:a; 1|");
}

static void of_an_unknown_function_the_file_is_named(void **state)
{
	(void)state;
	assert_perf("x 1 1.1: 1 c: \n"
		    "\t 4 [unknown] ([unknown])\n"
		    "\t 3 [unknown] (/usr/lib/libc.so.6)\n"
		    "\t 2 [unknown] ([JIT app cache])\n"
		    "\t 1 [unknown] (/tmp/a b (deleted))\n\n",
		    1,
		    "r:x;l:[a b (deleted)];l:[JIT app cache];l:[libc.so.6];"
		    "l:[unknown]; 1|");
}

static void without_call_chains_a_sample_is_a_line(void **state)
{
	(void)state;
	assert_perf("            beef 12 1.5: 7 cycles:  ffff f+0x1 (/x)\n"
		    "            beef 12 1.6: 7 cycles:  ffff f+0x2 (/x)\n"
		    "            cafe 12 1.7: 7 cycles:  ffff g+0x2 (/x)\n",
		    3, "r:beef;n:f; 2|r:cafe;n:g; 1|");
}

static void lines_of_the_source_are_passed_over(void **state)
{
	(void)state;
	assert_perf("x 1 1.1: 1 c: \n\t 2 f+0x1 (/x)\n  file.c:12\n"
		    "\t 1 main+0x1 (/x)\n  file.c:34\n\n",
		    1, "r:x;n:main;n:f; 1|");
}

static void a_clocks_period_is_what_a_sample_stands_for(void **state)
{
	struct profile *profile = read_with(
		read_perf_script,
		"x 1 1.1: 1001001 cpu-clock:ppp: \n\t 1 f+0x1 (/x)\n\n"
		"x 1 1.2: 1001001 cpu-clock:ppp: \n\t 1 f+0x1 (/x)\n\n",
		&everything, 2);

	(void)state;
	assert_int_equal(profile->root.total, 2);
	assert_int_equal(profile->about.sample_ns, 1001001);
	assert_null(profile->about.unit);
	profile_free(profile);
}

static void periods_that_differ_are_summed(void **state)
{
	struct profile *profile =
		read_with(read_perf_script,
			  "x 1 1.1: 5 cycles:u: \n\t 1 f+0x1 (/x)\n\n"
			  "x 1 1.2: 70 cycles:u: \n\t 1 f+0x1 (/x)\n\n",
			  &everything, 2);

	(void)state;
	assert_int_equal(profile->root.total, 75);
	assert_string_equal(profile->about.unit, "cycles:u");
	assert_int_equal(profile->about.sample_ns, -1);
	profile_free(profile);
}

static void of_several_events_the_first_is_counted(void **state)
{
	struct profile *profile =
		read_with(read_perf_script,
			  "x 1 1.1: 1 cycles: \n\t 1 f+0x1 (/x)\n\n"
			  "x 1 1.1: 1 faults: \n\t 1 f+0x1 (/x)\n\n",
			  &everything, 1);

	(void)state;
	assert_int_equal(profile->root.total, 1);
	assert_int_equal(profile->about.n_notes, 1);
	profile_free(profile);
}

static void threads_can_be_roots(void **state)
{
	const struct read_filter by_thread = {.by_thread = true};
	struct profile *profile = read_with(
		read_perf_script, "x y 1/2 1.1: 1 c: \n\t 1 f+0x1 (/x)\n\n",
		&by_thread, 1);
	char *description = describe(profile);

	(void)state;
	assert_string_equal(description, "r:x y (2);n:f; 1|");
	free(description);
	profile_free(profile);
}

static bool is_perf(const char *text)
{
	return is_perf_script(text, strlen(text));
}

static void a_file_is_known_by_its_content(void **state)
{
	(void)state;
	assert_true(is_perf("# captured\n#\nx 1 1.5: 1 c: \n\t 1 f (/x)\n"));
	assert_true(is_perf("sh 12\n\t 1 f (/x)\n"));
	assert_false(is_perf("a;b;c 12\n"));
	assert_false(is_perf("sh 12\n"));
	assert_false(is_perf(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_count_is_behind_the_last_blank),
		cmocka_unit_test(suffixes_and_brackets_tell_the_kind),
		cmocka_unit_test(
			lines_may_end_in_cr_lf_and_the_last_in_nothing),
		cmocka_unit_test(bccs_delimiter_begins_the_kernels_frames),
		cmocka_unit_test(counts_with_decimals_are_rounded),
		cmocka_unit_test(an_empty_frame_is_unknown),
		cmocka_unit_test(
			lines_that_are_no_stacks_are_counted_in_a_note),
		cmocka_unit_test(
			counts_that_are_too_large_together_are_an_error),
		cmocka_unit_test(a_filter_goes_by_where_the_sample_was_taken),
		cmocka_unit_test(
			frames_of_perf_script_come_the_innermost_first),
		cmocka_unit_test(threads_may_be_named_like_fields),
		cmocka_unit_test(fields_of_the_head_may_be_fewer),
		cmocka_unit_test(names_with_brackets_are_not_cut),
		cmocka_unit_test(inlined_functions_and_jits_have_their_kinds),
		cmocka_unit_test(the_kernel_is_known_by_file_or_address),
		cmocka_unit_test(of_an_unknown_function_the_file_is_named),
		cmocka_unit_test(without_call_chains_a_sample_is_a_line),
		cmocka_unit_test(lines_of_the_source_are_passed_over),
		cmocka_unit_test(a_clocks_period_is_what_a_sample_stands_for),
		cmocka_unit_test(periods_that_differ_are_summed),
		cmocka_unit_test(of_several_events_the_first_is_counted),
		cmocka_unit_test(threads_can_be_roots),
		cmocka_unit_test(a_file_is_known_by_its_content),
	};

	return cmocka_run_group_tests_name("flame_read", tests, NULL, NULL);
}
