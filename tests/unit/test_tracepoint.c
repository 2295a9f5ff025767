/* SPDX-License-Identifier: MIT */
/* cli/bench/tracepoint: fields found in "format" files, real and broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"
#include "tracepoint.h"

#define COMMON                                                            \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\t"       \
	"signed:0;\n"                                                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\t"       \
	"signed:0;\n"                                                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;" \
	"\tsigned:0;\n"                                                   \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"        \
	"\n"

/* Linux 6.18; the flags are left out. */
static const char kmalloc[] =
	"name: kmalloc\n"
	"ID: 658\n"
	"format:\n" COMMON
	"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:size_t bytes_req;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:size_t bytes_alloc;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long gfp_flags;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:int node;\toffset:48;\tsize:4;\tsigned:1;\n"
	"\n"
	"print fmt: \"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu "
	"gfp_flags=%s node=%d accounted=%s\", (void *)REC->call_site, "
	"REC->ptr, REC->bytes_req, REC->bytes_alloc, \"none\", REC->node, "
	"\"false\"\n";

static const char sched_switch[] =
	"name: sched_switch\n"
	"ID: 372\n"
	"format:\n" COMMON
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
	"\n"
	"print fmt: \"prev_comm=%s\", REC->prev_comm\n";

static const char sys_enter_openat[] =
	"name: sys_enter_openat\n"
	"ID: 782\n"
	"format:\n" COMMON
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \"dfd: 0x%08lx\", ((unsigned long)(REC->dfd))\n";

/* Asks with the text in a block of its exact size; 0, or what is refused. */
static int parse(const char *text, const char *field,
		 struct tracepoint_field *ret_field)
{
	char *block = strdup(text);
	struct tracepoint_field before;
	int r;

	assert_non_null(block);
	memset(ret_field, 0xa5, sizeof(*ret_field));
	before = *ret_field;
	r = tracepoint_parse_field(block, field, ret_field);
	assert_string_equal(block, text);
	free(block);
	if (r) {
		assert_int_equal(r, -ENOENT);
		assert_memory_equal(ret_field, &before, sizeof(before));
	}
	return r;
}

static void assert_field(const char *text, const char *name, size_t offset,
			 size_t size)
{
	struct tracepoint_field field;

	if (parse(text, name, &field))
		fail_msg("%s is not found", name);
	assert_int_equal(field.offset, offset);
	assert_int_equal(field.size, size);
}

static void refute_field(const char *text, const char *name)
{
	struct tracepoint_field field;

	if (!parse(text, name, &field))
		fail_msg("%s is found in %s", name, text);
}

static void fields_of_the_kernels_own_text_are_found(void **state)
{
	(void)state;
	assert_field(kmalloc, "common_type", 0, 2);
	assert_field(kmalloc, "common_pid", 4, 4);
	assert_field(kmalloc, "call_site", 8, 8);
	assert_field(kmalloc, "ptr", 16, 8);
	assert_field(kmalloc, "bytes_req", 24, 8);
	assert_field(kmalloc, "bytes_alloc", 32, 8);
	assert_field(kmalloc, "node", 48, 4);
	assert_field(sched_switch, "prev_pid", 24, 4);
	assert_field(sched_switch, "prev_state", 32, 8);
	assert_field(sched_switch, "next_prio", 60, 4);
	assert_field(sys_enter_openat, "__syscall_nr", 8, 4);
	assert_field(sys_enter_openat, "filename", 24, 8);
	assert_field(sys_enter_openat, "mode", 40, 8);
}

static void part_of_a_name_is_no_field(void **state)
{
	static const char *const names[] = {
		"bytes",     "bytes_",	   "req",    "_req", "bytes_reqx",
		"ytes_req",  "xbytes_req", "type",   "pid",  "pt",
		"BYTES_REQ", "bytes_req;", "size_t",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		refute_field(kmalloc, names[i]);
}

static void words_elsewhere_are_no_field(void **state)
{
	(void)state;
	refute_field(kmalloc, "kmalloc");
	refute_field(kmalloc, "658");
	refute_field(kmalloc, "name");
	refute_field(kmalloc, "offset");
	refute_field(kmalloc, "signed");
	refute_field(kmalloc, "accounted");
	refute_field(kmalloc, "REC");
	refute_field(kmalloc, "short");
	refute_field(kmalloc, "const");
}

static void name_given_twice_as_part_of_another_is_told_apart(void **state)
{
	static const char text[] =
		"\tfield:int len_max;\toffset:8;\tsize:2;\tsigned:1;\n"
		"\tfield:int max_len;\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:int len;\toffset:16;\tsize:8;\tsigned:1;\n";

	(void)state;
	assert_field(text, "len", 16, 8);
	assert_field(text, "len_max", 8, 2);
	assert_field(text, "max_len", 12, 4);
}

static void garbage_has_no_fields(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"a",
		";",
		"field:",
		"field:a",
		"field:a;",
		"\tfield:int a",
		"\tfield:int a;",
		"\tfield:int a;\n",
		"\tfield:int a;\toffset:",
		"\tfield:int a;\toffset:;",
		"\tfield:int a;\toffset:8",
		"\tfield:int a;\toffset:8;",
		"\tfield:int a;\toffset:8;\tsize:",
		"\tfield:int a;\toffset:8;\tsize:;\n",
		"\tfield:int a;\toffset:x;\tsize:y;\tsigned:1;\n",
		"\tfield:int a;\tsize:4;\toffset:8;\n",
		"print fmt: \"a=%d\", REC->a;\n",
		"\xff\xfe\x80 a;",
		"\tfield:int \n a;\toffset\n",
		" a",
		" a;",
		"field: a;offset:a;size:a;",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		refute_field(texts[i], "a");
	refute_field("", "");
}

/* An offset that the raw data of a sample cannot have would read beyond it. */
static void numbers_are_taken_as_they_are_or_not_at_all(void **state)
{
	static const char *const texts[] = {
		"\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\n",
		"\tfield:int a;\toffset:8;\tsize:-4;\tsigned:1;\n",
		"\tfield:int a;\toffset:99999999999999999999;\tsize:4;\n",
		"\tfield:int a;\toffset:8;\tsize:99999999999999999999;\n",
	};
	struct tracepoint_field field;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!parse(texts[i], "a", &field))
			print_message("# taken: offset %zu, size %zu, of: %s",
				      field.offset, field.size, texts[i]);
	}
}

/* Every prefix: an error, or the numbers of the whole. */
static void text_cut_short_gives_no_wrong_numbers(void **state)
{
	struct tracepoint_field field;
	size_t cut;

	(void)state;
	for (cut = 0; cut < sizeof(kmalloc); cut++) {
		char *prefix = strndup(kmalloc, cut);

		assert_non_null(prefix);
		if (!parse(prefix, "bytes_alloc", &field)) {
			/* "offset:3" and "size:" are not enough. */
			assert_int_equal(field.offset, 32);
			assert_int_equal(field.size, 8);
		}
		free(prefix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_the_kernels_own_text_are_found),
		cmocka_unit_test(part_of_a_name_is_no_field),
		cmocka_unit_test(words_elsewhere_are_no_field),
		cmocka_unit_test(
			name_given_twice_as_part_of_another_is_told_apart),
		cmocka_unit_test(garbage_has_no_fields),
		cmocka_unit_test(numbers_are_taken_as_they_are_or_not_at_all),
		cmocka_unit_test(text_cut_short_gives_no_wrong_numbers),
	};

	return cmocka_run_group_tests_name("tracepoint", tests, NULL, NULL);
}
