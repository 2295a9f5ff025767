/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* A function that stands around others is looked for this far back. */
#define MAX_NESTED 16
/* Of the tables of all files together. */
#define MAX_HELD (UINT64_C(512) << 20)

static uint64_t held;

static bool is_code(const struct elf_file *file, const Elf64_Sym *symbol)
{
	int type = ELF64_ST_TYPE(symbol->st_info);
	uint16_t section = symbol->st_shndx;

	if (section == SHN_UNDEF || section >= file->n_sections)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* Functions in assembly, such as _start, may have no type. */
	return type == STT_NOTYPE &&
	       (file->sections[section].sh_flags & SHF_EXECINSTR);
}

/* Of aliases, the one that people write: puts, and not _IO_puts. */
static uint8_t rank_of(const Elf64_Sym *symbol, const char *name)
{
	size_t underscores = strspn(name, "_");
	size_t rank = underscores < 3 ? 3 - underscores : 0;

	rank = rank * 2 + (ELF64_ST_BIND(symbol->st_info) != STB_LOCAL);
	if (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE)
		rank += 16;
	if (symbol->st_size > 0)
		rank += 32;
	return (uint8_t)rank;
}

static int compare(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* The best one of an address; one without a size reaches up to the next. */
static void finish(struct symbols *symbols)
{
	struct symbol *list = symbols->list;
	size_t n = 0;

	qsort(list, symbols->n, sizeof(*list), compare);
	for (size_t i = 0; i < symbols->n; i++) {
		if (n == 0 || list[n - 1].address != list[i].address)
			list[n++] = list[i];
	}
	for (size_t i = 0; i + 1 < n; i++) {
		if (list[i].size == 0)
			list[i].size = list[i + 1].address - list[i].address;
	}
	symbols->n = n;
}

static void take(struct symbols *symbols, const struct elf_file *file,
		 const Elf64_Sym *table, size_t n, size_t names_size)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = symbols->names + table[i].st_name;

		if (!is_code(file, &table[i]) ||
		    table[i].st_name >= names_size || *name == '\0')
			continue;
		/* $x and $d mark code and data for tools of arm64. */
		if (*name == '$' && ELF64_ST_TYPE(table[i].st_info) == 0)
			continue;
		symbols->list[symbols->n++] = (struct symbol){
			.address = table[i].st_value,
			.size = table[i].st_size,
			.name = table[i].st_name,
			.rank = rank_of(&table[i], name),
		};
	}
}

/* "memcpy@@GLIBC_2.14" has the version of a library's interface behind it. */
static void cut_versions(struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->n; i++) {
		char *name = symbols->names + symbols->list[i].name;
		char *at = strchr(name + 1, '@');

		if (at)
			*at = '\0';
	}
}

/* Sizes say anything, and holes of files are long. */
static bool take_room(struct symbols *symbols, const Elf64_Shdr *section,
		      const Elf64_Shdr *names)
{
	if (section->sh_size > MAX_HELD - held ||
	    names->sh_size > MAX_HELD - held - section->sh_size)
		return false;
	symbols->held = section->sh_size + names->sh_size;
	held += symbols->held;
	return true;
}

static bool read_table(struct symbols *symbols, const struct elf_file *file,
		       const Elf64_Shdr *section)
{
	size_t n = section->sh_size / sizeof(Elf64_Sym);
	const Elf64_Shdr *names;
	Elf64_Sym *table;

	if (section->sh_link >= file->n_sections)
		return false;
	names = &file->sections[section->sh_link];
	if (!take_room(symbols, section, names))
		return false;
	table = elf_file_copy(file, section);
	symbols->names = elf_file_copy(file, names);
	symbols->list = table && symbols->names && n > 0
				? calloc(n, sizeof(*symbols->list))
				: NULL;
	if (symbols->list) {
		take(symbols, file, table, n, names->sh_size);
		finish(symbols);
		cut_versions(symbols);
	}
	free(table);
	return symbols->n > 0;
}

bool symbols_read(struct symbols *symbols, const struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, ".symtab");

	*symbols = (struct symbols){0};
	if (section && read_table(symbols, file, section))
		return true;
	symbols_free(symbols);
	section = elf_file_section(file, ".dynsym");
	if (section && !read_table(symbols, file, section))
		symbols_free(symbols);
	return false;
}

void symbols_free(struct symbols *symbols)
{
	free(symbols->list);
	free(symbols->names);
	held -= symbols->held;
	symbols->list = NULL;
	symbols->names = NULL;
	symbols->n = 0;
	symbols->held = 0;
}

const char *symbols_find(const struct symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t back = 0; back < MAX_NESTED && low > 0; back++) {
		const struct symbol *symbol = &symbols->list[--low];

		if (address - symbol->address < symbol->size)
			return symbols->names + symbol->name;
	}
	return NULL;
}
