/* SPDX-License-Identifier: MIT */
/* The functions of an ELF file, in a sorted table that is read once. */
#ifndef CPUCLOCK_FLAME_SYMBOLS_H
#define CPUCLOCK_FLAME_SYMBOLS_H

#include "elf_file.h"

struct symbol {
	uint64_t address;
	uint64_t size;
	uint32_t name;
	uint8_t rank; /* of several at one address the highest counts */
};

struct symbols {
	struct symbol *list;
	size_t n;
	char *names;
	uint64_t held; /* bytes of the file */
};

/*
 * Reads .symtab, or .dynsym if there is none. Returns whether it was .symtab.
 * What is malformed is left out.
 */
bool symbols_read(struct symbols *symbols, const struct elf_file *file);
void symbols_free(struct symbols *symbols);

/* The name of the function at an address, or NULL. */
const char *symbols_find(const struct symbols *symbols, uint64_t address);

#endif
