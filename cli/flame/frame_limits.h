/* SPDX-License-Identifier: MIT */
/*
 * libdw runs whatever program stands in an entry of an unwind table, and keeps
 * each state that it is told to remember: 4 MB of them took 1 GB. No compiler
 * writes entries of more than some hundred bytes.
 */
#ifndef CPUCLOCK_FLAME_FRAME_LIMITS_H
#define CPUCLOCK_FLAME_FRAME_LIMITS_H

#include <libelf.h>

#include "elf_file.h"

/* Is each entry small of what dwarf_getcfi_elf would read? False as well if
 * there is nothing for it to read. */
bool frame_limits_eh(const struct elf_file *file);

/* And of .debug_frame, once dwarf_begin_elf has inflated it. */
bool frame_limits_debug(const struct elf_file *file, Elf *elf);

#endif
