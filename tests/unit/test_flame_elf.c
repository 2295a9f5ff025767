/* SPDX-License-Identifier: MIT */
/*
 * ELF files that are small, and would take much memory, or lead to other files.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "flame/cfi.h"
#ifdef HAVE_LIBDW
#include "flame/dwarf_file.h"
#endif
#include "flame/inlines.h"

#include "elftest.h"

static struct elf_file open_parts(const struct part *parts, size_t n,
				  uint64_t names_size)
{
	char path[] = "/tmp/cpuclock-test-XXXXXX";
	struct bytes bytes = {.fd = make_object(path, parts, n, names_size)};
	struct elf_file file;

	bytes.size = (uint64_t)lseek(bytes.fd, 0, SEEK_END);
	unlink(path);
	assert_int_equal(elf_file_open(&file, &bytes), 0);
	return file;
}

static void close_parts(struct elf_file *file)
{
	elf_file_close(file);
	close(file->bytes.fd);
}

static void names_of_sections_are_few(void **state)
{
	const struct part text = {".text", "x", 1, 0, 0, 0};
	struct elf_file file = open_parts(&text, 1, 0);

	(void)state;
	assert_non_null(elf_file_section(&file, ".text"));
	close_parts(&file);
	file = open_parts(&text, 1, (uint64_t)200 << 20);
	assert_null(elf_file_section(&file, ".text"));
	close_parts(&file);
}

static void symbols_of_holes_are_not_read(void **state)
{
	static const Elf64_Sym symbols[2] = {
		{.st_name = 1,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_shndx = 1,
		 .st_value = 4096,
		 .st_size = 16},
	};
	struct part parts[] = {
		{".symtab", symbols, sizeof(symbols), 0, 0, SHT_SYMTAB},
		{".text", "x", 1, 0, 0, 0},
	};
	struct symbols read;
	struct elf_file file = open_parts(parts, 2, 0);

	(void)state;
	/* Names are those of the sections: the first is ".symtab". */
	file.sections[1].sh_link = 3;
	assert_true(symbols_read(&read, &file));
	assert_string_equal(symbols_find(&read, 4096), ".symtab");
	symbols_free(&read);
	close_parts(&file);
	parts[0].size = UINT64_C(24) * (30 << 20);
	file = open_parts(parts, 2, 0);
	file.sections[1].sh_link = 3;
	assert_false(symbols_read(&read, &file));
	symbols_free(&read);
	close_parts(&file);
}

#ifdef HAVE_LIBDW

static bool is_opened(const struct part *parts, size_t n)
{
	struct elf_file file = open_parts(parts, n, 0);
	struct dwarf_file dwarf;
	bool ok = dwarf_file_open(&dwarf, &file);

	dwarf_file_close(&dwarf);
	close_parts(&file);
	return ok;
}

static void what_would_fill_memory_is_not_inflated(void **state)
{
	static const char old[24] = "ZLIB\0\0\0\1";
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = 100};
	struct part parts[] = {
		{".debug_abbrev", "", 1, 0, 0, 0},
		{".debug_info", &header, sizeof(header), 0, 0, 0},
	};

	(void)state;
	assert_true(is_opened(parts, 2));
	header.ch_size = UINT64_C(3) << 30;
	parts[1].flags = SHF_COMPRESSED;
	assert_false(is_opened(parts, 2));
	parts[1] = (struct part){".zdebug_info", old, sizeof(old), 0, 0, 0};
	assert_false(is_opened(parts, 2));
	parts[1] = (struct part){".debug_info", "", 1, UINT64_C(3) << 30, 0, 0};
	assert_false(is_opened(parts, 2));
}

#endif

/* A table of one function: it remembers its state so often. */
static uint8_t *make_table(uint32_t times, size_t *ret_length)
{
	static const uint8_t cie[] = {20, 0,	0, 0,	 0,  0, 0,  0,
				      1,  0,	1, 0x78, 16, 0, 12, 7,
				      8,  0x90, 1, 0,	 0,  0, 0,  0};
	uint32_t length = 20 + times, back = sizeof(cie) + 4;
	uint64_t start = 0x1000, size = 0x1000;
	uint8_t *table;

	*ret_length = sizeof(cie) + 4 + length + 4;
	table = calloc(1, *ret_length);
	assert_non_null(table);
	memcpy(table, cie, sizeof(cie));
	memcpy(table + 24, &length, 4);
	memcpy(table + 28, &back, 4);
	memcpy(table + 32, &start, 8);
	memcpy(table + 40, &size, 8);
	memset(table + 48, 0x0a, times);
	return table;
}

static struct objects *open_object(const struct part *parts, size_t n,
				   struct object **ret_object)
{
	char path[] = "/tmp/cpuclock-test-XXXXXX";
	static const struct build_id unknown;
	struct object_place place = {.pid = getpid()};
	struct objects *objects = calloc(1, sizeof(*objects));

	assert_non_null(objects);
	close(make_object(path, parts, n, 0));
	*ret_object = objects_get(objects, path, NULL, &unknown);
	object_open(*ret_object, &place);
	unlink(path);
	assert_true((*ret_object)->is_elf);
	return objects;
}

static enum cfi_result step(const struct part *parts, size_t n)
{
	struct registers registers = {.known = ~UINT64_C(0)};
	static const uint8_t memory[64] = {1};
	struct stack_copy stack = {0, memory, sizeof(memory)};
	struct object *object;
	struct objects *objects = open_object(parts, n, &object);
	enum cfi_result result = cfi_step(object, 0x1800, &registers, &stack);

	objects_free(objects);
	free(objects);
	return result;
}

static void unwind_tables_with_long_entries_are_not_used(void **state)
{
	static const char *const names[] = {".eh_frame", ".debug_frame"};
	struct part part = {NULL, NULL, 0, 0, 0, 0};

	(void)state;
	if (!cfi_is_supported())
		skip();
	for (uint32_t times = 1000; times <= 100000; times += 99000) {
		uint8_t *table = make_table(times, &part.length);

		for (size_t i = 0; i < 2; i++) {
			part.name = names[i];
			part.bytes = table;
			/* There a CIE is told by another number. */
			memset(table + 4, i ? 0xff : 0, 4);
			memset(table + 28, 0, 4);
			table[28] = i ? 0 : 28;
			if (times == 1000)
				assert_int_not_equal(step(&part, 1), CFI_NONE);
			else
				assert_int_equal(step(&part, 1), CFI_NONE);
		}
		free(table);
	}
}

/* The search table leads into an entry, where a longer one is. */
static void nor_those_with_one_that_is_found_by_search(void **state)
{
	struct {
		uint8_t encodings[4];
		int32_t table, n, place, entry;
	} header = {{1, 0x1b, 0x03, 0x3b}, 0x2000 - 0x1004, 1, 0, 0};
	struct part parts[] = {
		{".eh_frame_hdr", &header, sizeof(header), 0x1000, 0, 0},
		{".eh_frame", NULL, 0, 0, 0, 0},
	};
	const uint32_t length = 70000;
	uint8_t *table, *both;
	uint32_t second;

	(void)state;
	if (!cfi_is_supported())
		skip();
	table = make_table(50000, &parts[1].length);
	/* The function's again behind it, so that there is room. */
	both = calloc(2, parts[1].length);
	assert_non_null(both);
	second = (uint32_t)parts[1].length - 4;
	memcpy(both, table, second);
	memcpy(both + second, table + 24, second - 24);
	second += 4;
	memcpy(both + second, &second, sizeof(second));
	parts[1].length = 2 * parts[1].length - 28;
	parts[1].bytes = both;
	header.entry = 0x1000 + 24;
	assert_int_not_equal(step(parts, 2), CFI_NONE);
	header.entry = 0x1000 + 1024;
	memcpy(both + 1024, &length, sizeof(length));
	assert_int_equal(step(parts, 2), CFI_NONE);
	free(both);
	free(table);
}

/* A function at 0x1000, inlined into a unit, of which another file has the
 * name. */
static const uint8_t abbreviations[] = {
	1, 0x11, 1, 0x11, 1, 0x12, 6, 0,    0, /* a unit */
	2, 0x1d, 0, 0x11, 1, 0x12, 6, 0x03, 0xa1, 0x3e, 0, 0, 0};
static const uint8_t units[] = {
	38, 0, 0,    0, 4, 0, 0, 0, 0, 0, 8,	      /* the head */
	1,  0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, /* 0x1000 of 0x1000 */
	2,  0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 0, 0, 0, 0};

static size_t inlined_by(const char *path, char *ret_name, size_t size)
{
	char link[128] = "";
	struct part parts[] = {
		{".debug_abbrev", abbreviations, sizeof(abbreviations), 0, 0,
		 0},
		{".debug_info", units, sizeof(units), 0, 0, 0},
		{".gnu_debugaltlink", link, 0, 0, 0, 0},
	};
	const char *names[INLINES_MAX];
	struct object *object;
	struct objects *objects;
	size_t n = strlen(path) + 1;

	memcpy(link, path, n);
	memset(link + n, 0xe9, 20);
	parts[2].length = n + 20;
	objects = open_object(parts, 3, &object);
	n = inlines_find(object, 0x1800, names);
	if (n > 0)
		snprintf(ret_name, size, "%s", names[0]);
	objects_free(objects);
	free(objects);
	return n;
}

static void a_file_of_shared_names_is_one_by_its_id(void **state)
{
	uint8_t note[36] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U'};
	static const char strings[] = "\0shared";
	const struct part parts[] = {
		{".note.gnu.build-id", note, sizeof(note), 0, 0, SHT_NOTE},
		{".debug_str", strings, sizeof(strings), 0, 0, 0},
		{".debug_info", "", 1, 0, 0, 0},
	};

	(void)state;
	if (!cfi_is_supported())
		skip();
	for (uint8_t id = 0xe8; id <= 0xe9; id++) {
		char path[] = "/tmp/cpuclock-test-XXXXXX", name[32];

		memset(note + 16, id, 20);
		close(make_object(path, parts, 3, 0));
		if (id == 0xe9) {
			assert_int_equal(inlined_by(path, name, sizeof(name)),
					 1);
			assert_string_equal(name, "shared");
		} else {
			assert_int_equal(inlined_by(path, name, sizeof(name)),
					 0);
		}
		unlink(path);
	}
}

static void what_is_named_as_one_is_not_touched(void **state)
{
	char folder[] = "/tmp/cpuclock-test-XXXXXX", path[64], name[32];
	int events = inotify_init1(IN_NONBLOCK), fifo;

	(void)state;
	if (!cfi_is_supported())
		skip();
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDWR);
	assert_true(inotify_add_watch(events, path, IN_OPEN) >= 0);
	assert_int_equal(inlined_by(path, name, sizeof(name)), 0);
	assert_int_equal(read(events, folder, 1), -1);
	assert_int_equal(errno, EAGAIN);
	close(fifo);
	close(events);
	unlink(path);
	rmdir(folder);
}

/* 50 units that share one list of 100,000 ranges. */
static void so_many_ranges_are_not_listed(void **state)
{
	static const uint8_t abbreviation[] = {1, 0x11, 0, 0x55, 0x17, 0, 0, 0};
	static const uint8_t unit[16] = {12, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1};
	static uint8_t of_ranges[50][16];
	static uint64_t ranges[100001][2];
	const struct part parts[] = {
		{".debug_abbrev", abbreviation, sizeof(abbreviation), 0, 0, 0},
		{".debug_info", of_ranges, sizeof(of_ranges), 0, 0, 0},
		{".debug_ranges", ranges, sizeof(ranges), 0, 0, 0},
	};
	const char *names[INLINES_MAX];
	struct objects *objects;
	struct object *object;

	(void)state;
	if (!cfi_is_supported())
		skip();
	for (size_t i = 0; i < 50; i++)
		memcpy(of_ranges[i], unit, sizeof(unit));
	for (size_t i = 0; i < 100000; i++) {
		ranges[i][0] = 0x1000 + i;
		ranges[i][1] = 0x1001 + i;
	}
	objects = open_object(parts, 3, &object);
	assert_false(inlines_gave_up());
	assert_int_equal(inlines_find(object, 0x1800, names), 0);
	assert_true(inlines_gave_up());
	objects_free(objects);
	free(objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_sections_are_few),
		cmocka_unit_test(symbols_of_holes_are_not_read),
#ifdef HAVE_LIBDW
		cmocka_unit_test(what_would_fill_memory_is_not_inflated),
#endif
		cmocka_unit_test(unwind_tables_with_long_entries_are_not_used),
		cmocka_unit_test(nor_those_with_one_that_is_found_by_search),
		cmocka_unit_test(a_file_of_shared_names_is_one_by_its_id),
		cmocka_unit_test(what_is_named_as_one_is_not_touched),
		/* The last one: nothing more is looked up then. */
		cmocka_unit_test(so_many_ranges_are_not_listed),
	};

	return cmocka_run_group_tests_name("flame_elf", tests, NULL, NULL);
}
