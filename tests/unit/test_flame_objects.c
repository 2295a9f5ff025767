/* SPDX-License-Identifier: MIT */
/*
 * What is mapped where, and objects that are cut or have bytes changed: their
 * frames may lack names, and that is all.
 */
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
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "flame/cfi.h"
#include "flame/inlines.h"
#include "flame/jit.h"
#include "flame/processes.h"
#include "flame/slurp.h"
#include "flame/stacks.h"

/* libelf forgets what it had allocated for a file that it then refuses. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libelf";
}

static const struct build_id unknown;

/* ---- Mappings */

static void map(struct processes *processes, struct process *process,
		uint64_t start, uint64_t end, uint64_t offset)
{
	struct mapping mapping = {start, end, offset, NULL};

	processes_map(processes, process, &mapping, "/no/such/file", &unknown);
}

static uint64_t offset_at(const struct process *process, uint64_t address)
{
	const struct mapping *mapping =
		processes_find_mapping(process, address);

	return mapping ? address - mapping->start + mapping->offset : 0;
}

static void a_mapping_replaces_what_was_in_its_place(void **state)
{
	struct processes *processes = calloc(1, sizeof(*processes));
	struct process *process = processes_fork(processes, 4000000, 0);

	(void)state;
	map(processes, process, 0x1000, 0x9000, 0x10000);
	map(processes, process, 0x3000, 0x4000, 0x90000);
	assert_int_equal(offset_at(process, 0x2fff), 0x11fff);
	assert_int_equal(offset_at(process, 0x3000), 0x90000);
	assert_int_equal(offset_at(process, 0x4000), 0x13000);
	assert_int_equal(offset_at(process, 0x9000), 0);
	assert_int_equal(process->n_mappings, 3);
	map(processes, process, 0x0800, 0xa000, 0x20000);
	assert_int_equal(process->n_mappings, 1);
	assert_int_equal(offset_at(process, 0x3000), 0x22800);
	processes_free(processes);
	free(processes);
}

static void a_child_has_what_its_parent_had_until_it_executes(void **state)
{
	struct processes *processes = calloc(1, sizeof(*processes));
	struct process *parent = processes_fork(processes, 4000000, 0);
	struct process *child;

	(void)state;
	map(processes, parent, 0x1000, 0x2000, 0x10000);
	child = processes_fork(processes, 4000001, 4000000);
	assert_int_equal(offset_at(child, 0x1000), 0x10000);
	processes_exec(child);
	assert_null(processes_find_mapping(child, 0x1000));
	assert_int_equal(offset_at(parent, 0x1000), 0x10000);
	/* The number is given to another. */
	child = processes_fork(processes, 4000000, 4000001);
	assert_ptr_not_equal(child, parent);
	assert_ptr_equal(processes_find(processes, 4000000), child);
	processes_free(processes);
	free(processes);
}

/* ---- Stacks */

static void a_place_under_the_same_callers_is_one(void **state)
{
	struct stacks stacks = {0};
	uint32_t first = 0, second = 0;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		struct place place = {.kind = PLACE_KERNEL, .address = i % 999};

		first = stacks_push(&stacks, i % 100 ? first : 0, &place);
	}
	for (uint64_t i = 99900; i < 100000; i++) {
		struct place place = {.kind = PLACE_KERNEL, .address = i % 999};

		second = stacks_push(&stacks, i % 100 ? second : 0, &place);
	}
	assert_int_equal(first, second);
	assert_int_equal(stacks.n_places, 999 + 1);
	stacks_free(&stacks);
}

/* ---- Perf maps */

static void write_file(const char *path, const char *bytes, size_t length);

static size_t memory_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void of_a_perf_map_only_names_are_kept(void **state)
{
	static const char line[] = "1000 1000 function\n";
	struct process process = {.inner_pid = 4194305,
				  .has_owner = true,
				  .owner = geteuid(),
				  .map_fd = -1};
	struct place place = {.kind = PLACE_MEMORY, .process = &process};
	size_t length = (size_t)1 << 20, before = memory_in_use();
	char *text = malloc(length);
	struct stacks stacks = {0};
	struct jit jit = {0};

	(void)state;
	memset(text, '\n', length);
	memcpy(text, line, sizeof(line) - 1);
	write_file("/tmp/perf-4194305.map", text, length);
	free(text);
	for (place.address = 0x0fff; place.address < 0x1008; place.address++)
		stacks_push(&stacks, 0, &place);
	assert_true(jit_open(&jit, &stacks, NULL));
	unlink("/tmp/perf-4194305.map");
	assert_true(memory_in_use() < before + length / 2);
	for (place.address = 0x1000; place.address < 0x1008; place.address++) {
		struct slice name = jit_find(&jit, &place);

		assert_int_equal(name.length, 8);
		assert_memory_equal(name.text, "function", 8);
	}
	place.address = 0x0fff;
	assert_int_equal(jit_find(&jit, &place).length, 0);
	jit_close(&jit);
	stacks_free(&stacks);
}

/* ---- Objects */

static void ask_everything(const char *path)
{
	struct object_place place = {.pid = getpid()};
	struct objects *objects = calloc(1, sizeof(*objects));
	struct object *object = objects_get(objects, path, NULL, &unknown);
	static uint8_t memory[4096];
	struct stack_copy stack = {0x7000, memory, sizeof(memory)};

	object_open(object, &place);
	for (uint64_t address = 0; address < 0x8000 && object->is_elf;
	     address += 37) {
		const char *names[INLINES_MAX];
		struct registers registers = {.known = ~UINT64_C(0)};

		for (size_t i = 0; i < REGISTERS_COUNT; i++)
			registers.value[i] = 0x7000 + 8 * i;
		symbols_find(object_symbols(object), address);
		inlines_find(object, address, names);
		cfi_step(object, address, &registers, &stack);
		cfi_is_outermost(object, address);
	}
	objects_free(objects);
	free(objects);
}

static uint32_t random_number(void)
{
	static uint64_t seed = 42;

	seed = seed * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(seed >> 33);
}

static void write_file(const char *path, const char *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

static void damaged_objects_lack_names_and_nothing_else(void **state)
{
	char path[] = "/tmp/cpuclock-test-XXXXXX";
	int fd = mkstemp(path);
	size_t length;
	char *bytes = slurp(FLAME_OBJECT, (size_t)1 << 24, &length);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_non_null(bytes);
	ask_everything(FLAME_OBJECT);
	for (int i = 0; i < 40; i++) {
		write_file(path, bytes, length * (size_t)i / 40);
		ask_everything(path);
	}
	for (int i = 0; i < 200; i++) {
		char *damaged = malloc(length);

		memcpy(damaged, bytes, length);
		for (int j = 0; j < 1 + i; j++)
			damaged[random_number() % length] =
				(char)random_number();
		/* What begins like another file is refused at once. */
		memcpy(damaged, bytes, 64);
		write_file(path, damaged, length);
		ask_everything(path);
		free(damaged);
	}
	free(bytes);
	unlink(path);
}

static void what_is_no_file_is_not_opened(void **state)
{
	(void)state;
	ask_everything("/dev/zero");
	ask_everything("/dev/tty");
	ask_everything("/proc");
	ask_everything("/no/such/file (deleted)");
	ask_everything("relative");
	ask_everything("");
}

/* A FIFO tells whom it was opened by, as a device may act. */
static void what_is_no_file_is_not_touched(void **state)
{
	char folder[] = "/tmp/cpuclock-test-XXXXXX", path[64], link[64];
	int events = inotify_init1(IN_NONBLOCK);
	char event[256];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(symlink(path, link), 0);
	assert_true(inotify_add_watch(events, path, IN_OPEN) >= 0);
	assert_int_equal(root_open(NULL, path, false), -EINVAL);
	assert_int_equal(root_open(NULL, link, true), -EINVAL);
	assert_int_equal(root_open(NULL, link, false), -ELOOP);
	ask_everything(link);
	assert_int_equal(read(events, event, sizeof(event)), -1);
	close(events);
	unlink(link);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_replaces_what_was_in_its_place),
		cmocka_unit_test(
			a_child_has_what_its_parent_had_until_it_executes),
		cmocka_unit_test(a_place_under_the_same_callers_is_one),
		cmocka_unit_test(of_a_perf_map_only_names_are_kept),
		cmocka_unit_test(damaged_objects_lack_names_and_nothing_else),
		cmocka_unit_test(what_is_no_file_is_not_opened),
		cmocka_unit_test(what_is_no_file_is_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
