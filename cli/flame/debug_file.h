/* SPDX-License-Identifier: MIT */
/* The files of debug information that distributions strip from programs. */
#ifndef CPUCLOCK_FLAME_DEBUG_FILE_H
#define CPUCLOCK_FLAME_DEBUG_FILE_H

#include "object.h"

/*
 * Opens the one of an object, if it is on this machine: never over the network,
 * which takes minutes. It counts only with the same build id. The caller
 * closes the file and its descriptor.
 */
bool debug_file_open(const struct object *object, struct elf_file *ret_file);

/* And of what dwz took out of several of them, by its id, or else a path. */
bool debug_file_open_shared(const struct object *object, const char *path,
			    const struct build_id *id,
			    struct elf_file *ret_file);

#endif
