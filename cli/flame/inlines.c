/* SPDX-License-Identifier: MIT */
/*
 * Each compilation unit that a sample falls into is walked once, for a list of
 * what was inlined where. To ask libdw for the scopes of each address walks it
 * each time, and takes minutes.
 */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debug_file.h"
#include "dwarf_file.h"
#include "inlines.h"

/* Reading debug information is to take no longer, of all objects together. */
#define BUDGET_NS INT64_C(3000000000)
#define MAX_DEPTH 64
/* Many units may share one list: those of all that is open. */
#define MAX_RANGES ((size_t)1 << 22)

struct range {
	uint64_t low;
	uint64_t high;
	uint32_t unit;
	uint32_t depth;
	Dwarf_Off die;
};

struct ranges {
	struct range *list;
	size_t n;
	size_t capacity;
};

struct unit {
	Dwarf_Off die;
	bool walked;
	struct ranges inlined;
};

struct inlines {
	struct dwarf_file file;
	struct elf_file shared_elf; /* of several, by dwz */
	struct dwarf_file shared;
	struct unit *units;
	size_t n_units;
	struct ranges of_units; /* sorted */
};

static int64_t spent_ns;
static int64_t end_ns; /* of what is being looked up */
static size_t n_ranges;
static bool gave_up;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

bool inlines_gave_up(void)
{
	return gave_up;
}

/* To ask for the time costs more than a step. */
static bool goes_on(void)
{
	static uint32_t steps;

	if (!gave_up && ++steps % 1024 == 0 && now() > end_ns)
		gave_up = true;
	return !gave_up;
}

static void add_range(struct ranges *ranges, const struct range *range)
{
	if (n_ranges == MAX_RANGES) {
		gave_up = true;
		return;
	}
	if (ranges->n == ranges->capacity) {
		size_t capacity = ranges->capacity ? ranges->capacity * 2 : 64;
		struct range *list =
			realloc(ranges->list, capacity * sizeof(*list));

		if (!list)
			return;
		ranges->list = list;
		ranges->capacity = capacity;
	}
	ranges->list[ranges->n++] = *range;
	n_ranges++;
}

static void add_die(struct ranges *ranges, Dwarf_Die *die, uint32_t unit,
		    uint32_t depth)
{
	struct range range = {
		.unit = unit, .depth = depth, .die = dwarf_dieoffset(die)};
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	while (goes_on() &&
	       (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		range.low = low;
		range.high = high;
		/* What the linker threw away begins at 0, or at its end. */
		if (low > 0 && low < high)
			add_range(ranges, &range);
	}
}

static bool may_hold_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return true;
	default:
		return false;
	}
}

/* Down and along by hand, so that no nesting can use the stack up. */
static void walk(struct unit *unit, uint32_t number, Dwarf_Die *top)
{
	Dwarf_Die dies[MAX_DEPTH];
	int status = dwarf_child(top, &dies[0]);
	uint32_t depth = 0;

	while (goes_on()) {
		int tag;

		while (status != 0) {
			if (depth == 0)
				return;
			depth--;
			status = dwarf_siblingof(&dies[depth], &dies[depth]);
		}
		tag = dwarf_tag(&dies[depth]);
		if (tag == DW_TAG_inlined_subroutine)
			add_die(&unit->inlined, &dies[depth], number, depth);
		if (may_hold_code(tag) && depth + 1 < MAX_DEPTH &&
		    dwarf_child(&dies[depth], &dies[depth + 1]) == 0)
			depth++;
		else
			status = dwarf_siblingof(&dies[depth], &dies[depth]);
	}
}

static int compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

static void list_units(struct inlines *inlines)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	while (goes_on() && dwarf_get_units(inlines->file.dwarf, cu, &cu, NULL,
					    NULL, &die, NULL) == 0) {
		uint32_t number = (uint32_t)inlines->n_units;
		struct unit *units =
			realloc(inlines->units, (number + 1) * sizeof(*units));

		if (!units)
			break;
		units[number] = (struct unit){.die = dwarf_dieoffset(&die)};
		inlines->units = units;
		inlines->n_units++;
		add_die(&inlines->of_units, &die, number, 0);
	}
	if (inlines->of_units.n > 0)
		qsort(inlines->of_units.list, inlines->of_units.n,
		      sizeof(struct range), compare);
}

/*
 * libdw opens the file that .gnu_debugaltlink names when it first needs it,
 * whatever and wherever it is, unless it is given one.
 */
static bool open_shared(struct inlines *inlines, const struct object *object)
{
	struct build_id id = {0};
	const char *path;
	const void *bytes;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(inlines->file.dwarf, &path,
						    &bytes);

	if (size == 0)
		return true;
	if (size < 0 || size > BUILD_ID_SIZE)
		return false;
	id.size = (uint8_t)size;
	memcpy(id.bytes, bytes, (size_t)size);
	if (!debug_file_open_shared(object, path, &id, &inlines->shared_elf) ||
	    !dwarf_file_open(&inlines->shared, &inlines->shared_elf) ||
	    dwelf_dwarf_gnu_debugaltlink(inlines->shared.dwarf, &path,
					 &bytes) != 0)
		return false;
	dwarf_setalt(inlines->file.dwarf, inlines->shared.dwarf);
	return true;
}

static struct inlines *open_inlines(struct object *object)
{
	struct inlines *inlines;
	const struct elf_file *file;

	object_symbols(object);
	file = object->has_debug ? &object->debug : &object->file;
	if (file->bytes.memory || (!elf_file_section(file, ".debug_info") &&
				   !elf_file_section(file, ".zdebug_info")))
		return NULL;
	inlines = calloc(1, sizeof(*inlines));
	if (!inlines)
		return NULL;
	inlines->shared_elf.bytes.fd = -1;
	if (dwarf_file_open(&inlines->file, file) &&
	    open_shared(inlines, object))
		list_units(inlines);
	return inlines;
}

void inlines_close(struct inlines *inlines)
{
	if (!inlines)
		return;
	for (size_t i = 0; i < inlines->n_units; i++) {
		n_ranges -= inlines->units[i].inlined.n;
		free(inlines->units[i].inlined.list);
	}
	n_ranges -= inlines->of_units.n;
	free(inlines->units);
	free(inlines->of_units.list);
	dwarf_file_close(&inlines->file);
	dwarf_file_close(&inlines->shared);
	elf_file_close(&inlines->shared_elf);
	if (inlines->shared_elf.bytes.fd >= 0)
		close(inlines->shared_elf.bytes.fd);
	free(inlines);
}

static struct unit *find_unit(struct inlines *inlines, uint64_t address)
{
	const struct ranges *ranges = &inlines->of_units;
	size_t low = 0, high = ranges->n;
	struct unit *unit;
	Dwarf_Die die;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->list[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= ranges->list[low - 1].high)
		return NULL;
	unit = &inlines->units[ranges->list[low - 1].unit];
	if (!unit->walked) {
		unit->walked = true;
		if (dwarf_offdie(inlines->file.dwarf, unit->die, &die))
			walk(unit, ranges->list[low - 1].unit, &die);
	}
	return unit;
}

/* The one of the linker, or as it is in the source. */
static const char *name_of(struct inlines *inlines, Dwarf_Off offset)
{
	static const unsigned int attributes[] = {
		DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute attribute;
	const char *name = NULL;
	Dwarf_Die die;

	if (!dwarf_offdie(inlines->file.dwarf, offset, &die))
		return NULL;
	for (size_t i = 0; i < 3 && !name; i++) {
		if (dwarf_attr_integrate(&die, attributes[i], &attribute))
			name = dwarf_formstring(&attribute);
	}
	return name;
}

static size_t find(struct inlines *inlines, uint64_t address,
		   const char *ret_names[INLINES_MAX])
{
	const struct unit *unit = find_unit(inlines, address);
	const struct range *found[MAX_DEPTH] = {NULL};
	size_t n = 0;

	for (size_t i = 0; unit && i < unit->inlined.n; i++) {
		const struct range *range = &unit->inlined.list[i];

		if (address >= range->low && address < range->high)
			found[range->depth] = range;
	}
	for (size_t depth = 0; depth < MAX_DEPTH && n < INLINES_MAX; depth++) {
		const char *name = found[depth]
					   ? name_of(inlines, found[depth]->die)
					   : NULL;

		if (name && *name)
			ret_names[n++] = name;
	}
	return n;
}

size_t inlines_find(struct object *object, uint64_t address,
		    const char *ret_names[INLINES_MAX])
{
	int64_t start = now();
	size_t n = 0;

	if (!object->is_elf || inlines_gave_up())
		return 0;
	end_ns = start + BUDGET_NS - spent_ns;
	if (!object->has_inlines) {
		object->has_inlines = true;
		object->inlines = open_inlines(object);
	}
	if (object->inlines)
		n = find(object->inlines, address, ret_names);
	spent_ns += now() - start;
	gave_up |= spent_ns > BUDGET_NS;
	return n;
}
