/* SPDX-License-Identifier: MIT */
/* Names of frames: of the kernel, of run-times, of ELF files, demangled. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "flame/demangle.h"
#include "flame/kallsyms.h"
#include "flame/perf_map.h"
#include "flame/procmaps.h"
#include "flame/symbols.h"
#include "support.h"

#define TEXT(literal) ((struct slice){literal, sizeof(literal) - 1})

static void assert_name(struct slice name, const char *expected)
{
	assert_int_equal(name.length, strlen(expected));
	if (name.length > 0)
		assert_memory_equal(name.text, expected, name.length);
}

/* ---- /proc/kallsyms */

static void the_function_before_an_address_names_it(void **state)
{
	const uint64_t addresses[] = {0x0fff, 0x1000, 0x1fff, 0x2000, 0x9000};
	struct slice names[5];

	(void)state;
	/* Modules stand behind the kernel, in no order. */
	assert_true(kallsyms_resolve(TEXT("1000 T first\n"
					  "8000 t in_module\t[nft]\n"
					  "2000 t second\n"
					  "8800 d data\n"
					  "0 A absolute\n"),
				     addresses, 5, names));
	assert_name(names[0], "");
	assert_name(names[1], "first");
	assert_name(names[2], "first");
	assert_name(names[3], "second");
	assert_name(names[4], "in_module");
}

static void of_aliases_in_the_kernel_the_first_counts(void **state)
{
	const uint64_t addresses[] = {0x1004};
	struct slice names[1];

	(void)state;
	assert_true(kallsyms_resolve(TEXT("1000 T a\n1000 T b\n"), addresses, 1,
				     names));
	assert_name(names[0], "a");
}

static void addresses_of_zero_are_hidden_ones(void **state)
{
	const uint64_t addresses[] = {0x1000};
	struct slice names[1];

	(void)state;
	assert_false(kallsyms_resolve(TEXT("0000000000000000 T _stext\n"
					   "0000000000000000 t f\n"),
				      addresses, 1, names));
	assert_name(names[0], "");
	assert_false(kallsyms_resolve(TEXT(""), addresses, 1, names));
}

/* ---- perf maps */

static void later_lines_of_a_perf_map_win(void **state)
{
	const uint64_t addresses[] = {0x1000, 0x1005, 0x1010};
	struct slice names[3];

	(void)state;
	perf_map_resolve(TEXT("1000 10 old name\n1004 4 new;name\n"), addresses,
			 3, names);
	assert_name(names[0], "old name");
	assert_name(names[1], "new;name");
	assert_name(names[2], "");
}

static void what_is_no_line_of_a_perf_map_is_passed_over(void **state)
{
	const uint64_t addresses[] = {0x1000};
	struct slice names[1];

	(void)state;
	perf_map_resolve(TEXT("\n1000\n1000 10\nx 10 a\n1000 0 b\n"
			      "0x1000 0x1 hex\n11111111111111111 1 c\n"),
			 addresses, 1, names);
	assert_name(names[0], "hex");
}

static void sizes_to_the_end_of_memory_do_not_wrap(void **state)
{
	const uint64_t addresses[] = {0, 0x1000, UINT64_MAX};
	struct slice names[3];

	(void)state;
	perf_map_resolve(TEXT("1000 ffffffffffffffff all\n"), addresses, 3,
			 names);
	assert_name(names[0], "");
	assert_name(names[1], "all");
	assert_name(names[2], "all");
}

/* ---- /proc/PID/maps */

static void paths_in_maps_may_hold_blanks_and_newlines(void **state)
{
	struct slice text = TEXT("1000-2000 r-xp 00001000 fe:00 12   /a b\\012c"
				 " (deleted)\n"
				 "broken\n"
				 "3000-4000 rw-p 00000000 00:00 0 \n");
	struct procmap map;
	char path[64];

	(void)state;
	assert_true(procmaps_next(&text, &map));
	assert_int_equal(map.start, 0x1000);
	assert_int_equal(map.end, 0x2000);
	assert_int_equal(map.offset, 0x1000);
	assert_true(map.executable);
	procmaps_path(map.path, path, sizeof(path));
	assert_string_equal(path, "/a b\nc (deleted)");
	assert_true(procmaps_next(&text, &map));
	assert_false(map.executable);
	assert_name(map.path, "");
	assert_false(procmaps_next(&text, &map));
}

static void a_line_of_maps_that_is_cut_does_not_count(void **state)
{
	struct slice text = TEXT("1000-2000 r-xp 00000000 fe:00 12 /usr/li");
	struct procmap map;

	(void)state;
	assert_false(procmaps_next(&text, &map));
}

/* ---- ELF files */

__attribute__((noinline)) int function_of_this_test(int x);

int function_of_this_test(int x)
{
	return x * 3 + 1;
}

static struct elf_file open_self(void)
{
	struct bytes bytes = {.fd = open("/proc/self/exe", O_RDONLY)};
	struct elf_file file;
	struct stat stat;

	assert_int_equal(fstat(bytes.fd, &stat), 0);
	bytes.size = (uint64_t)stat.st_size;
	assert_int_equal(elf_file_open(&file, &bytes), 0);
	return file;
}

static void a_function_is_found_by_any_of_its_addresses(void **state)
{
	struct elf_file file = open_self();
	struct symbols symbols;
	size_t found = 0;

	(void)state;
	if (!symbols_read(&symbols, &file)) {
		symbols_free(&symbols);
		elf_file_close(&file);
		close(file.bytes.fd);
		skip_because("this program is stripped");
	}
	for (size_t i = 0; i < symbols.n; i++) {
		const struct symbol *symbol = &symbols.list[i];
		const char *name = symbols.names + symbol->name;

		if (strcmp(name, "function_of_this_test") != 0)
			continue;
		found++;
		for (uint64_t at = 0; at < symbol->size; at++)
			assert_string_equal(
				symbols_find(&symbols, symbol->address + at),
				name);
	}
	assert_int_equal(found, 1);
	assert_null(symbols_find(&symbols, 0));
	assert_null(symbols_find(&symbols, UINT64_MAX));
	symbols_free(&symbols);
	elf_file_close(&file);
	close(file.bytes.fd);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	struct bytes bytes = {.fd = -1, .memory = (const uint8_t *)"\177ELF"};
	struct elf_file file;

	(void)state;
	for (bytes.size = 0; bytes.size < 5; bytes.size++)
		assert_int_not_equal(elf_file_open(&file, &bytes), 0);
}

/* ---- C++ and Rust */

static void assert_demangled(const char *name, const char *expected)
{
	char *readable = demangle(name);

	assert_non_null(readable);
	assert_string_equal(readable, expected);
	free(readable);
}

static void names_of_cpp_are_readable(void **state)
{
	char *readable;

	(void)state;
	readable = demangle("_ZN4shop5StoreISsiE4fillElSs");
	if (!readable)
		skip();
	assert_non_null(strstr(readable, "shop::Store<"));
	assert_non_null(strstr(readable, ">::fill"));
	free(readable);
}

static void names_of_rust_are_readable_in_both_manners(void **state)
{
	(void)state;
	if (!strstr(demangle_engine(), "Rust"))
		skip();
	assert_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			 "core::fmt::Write::write_fmt");
	assert_demangled("_RNvC6_123foo3bar", "123foo::bar");
}

static void other_names_are_left_alone(void **state)
{
	(void)state;
	assert_null(demangle("main"));
	assert_null(demangle("_Z"));
	assert_null(demangle("_Rest"));
	assert_null(demangle(""));
	assert_null(demangle("_"));
}

/* pair<pair<...>, pair<...>>, each of two of the one before. */
static void names_that_would_fill_memory_are_left_alone(void **state)
{
	char name[512] = "_Z1fISt4pairIiiE";
	size_t length = strlen(name);

	(void)state;
	for (int i = 1; i < 18; i++) {
		/* Number 1 is the first pair: "S_" is std::pair itself. */
		char digit = i < 10 ? (char)('0' + i) : (char)('A' + i - 10);

		length += (size_t)snprintf(name + length, sizeof(name) - length,
					   "S0_IS%c_S%c_E", digit, digit);
	}
	snprintf(name + length, sizeof(name) - length, "Evv");
	assert_null(demangle(name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_function_before_an_address_names_it),
		cmocka_unit_test(of_aliases_in_the_kernel_the_first_counts),
		cmocka_unit_test(addresses_of_zero_are_hidden_ones),
		cmocka_unit_test(later_lines_of_a_perf_map_win),
		cmocka_unit_test(what_is_no_line_of_a_perf_map_is_passed_over),
		cmocka_unit_test(sizes_to_the_end_of_memory_do_not_wrap),
		cmocka_unit_test(paths_in_maps_may_hold_blanks_and_newlines),
		cmocka_unit_test(a_line_of_maps_that_is_cut_does_not_count),
		cmocka_unit_test(a_function_is_found_by_any_of_its_addresses),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
		cmocka_unit_test(names_of_cpp_are_readable),
		cmocka_unit_test(names_of_rust_are_readable_in_both_manners),
		cmocka_unit_test(other_names_are_left_alone),
		cmocka_unit_test(names_that_would_fill_memory_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
