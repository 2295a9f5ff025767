/* SPDX-License-Identifier: MIT */
/*
 * The files that are mapped as code. Each is one object, however many processes
 * map it; it is opened when the first sample falls into it, while the process
 * may still be there, and read once.
 */
#ifndef CPUCLOCK_FLAME_OBJECT_H
#define CPUCLOCK_FLAME_OBJECT_H

#include <sys/types.h>

#include "elf_file.h"
#include "root.h"
#include "symbols.h"

struct cfi;
struct inlines;

struct object {
	char *path; /* as it is mapped */
	const char *name;
	const struct root *root;
	struct build_id build_id; /* as the kernel saw it */
	bool opened;
	bool is_elf;
	bool replaced; /* another file has its name now */
	struct elf_file file;
	struct cfi *cfi; /* once asked for; by cfi.c */
	bool has_symbols;
	struct symbols symbols;
	struct elf_file debug; /* what was stripped from it, if at hand */
	bool has_debug;
	struct inlines *inlines; /* once asked for; by inlines.c */
	bool has_inlines;
	struct object *next;
};

struct objects {
	struct object *buckets[1024];
};

/* The object, new or known; NULL if memory is short. */
struct object *objects_get(struct objects *objects, const char *path,
			   const struct root *root,
			   const struct build_id *build_id);
void objects_free(struct objects *objects);

/* A mapping of it in a process that may have ended. */
struct object_place {
	pid_t pid;
	uint64_t start;
	uint64_t end;
};

/* Opens its file; once. */
void object_open(struct object *object, const struct object_place *place);

/* Its symbols, with those of a file of debug information. */
const struct symbols *object_symbols(struct object *object);

#endif
