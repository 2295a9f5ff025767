/* SPDX-License-Identifier: MIT */
/*
 * Files for libdw. Whatever it reads it keeps in memory, inflated, and a file's
 * headers can say anything: what is open at a time is limited.
 */
#ifndef CPUCLOCK_FLAME_DWARF_FILE_H
#define CPUCLOCK_FLAME_DWARF_FILE_H

#include <elfutils/libdw.h>

#include "elf_file.h"

struct dwarf_file {
	Elf *elf;
	Dwarf *dwarf;
	uint64_t size; /* of what may be read */
};

/* For the sections that have a word in their names. False if it is no file to
 * be read; to be closed in any case. */
bool dwarf_file_elf(struct dwarf_file *file, const struct elf_file *from,
		    const char *word);

/* With its debug information. */
bool dwarf_file_open(struct dwarf_file *file, const struct elf_file *from);
void dwarf_file_close(struct dwarf_file *file);

#endif
