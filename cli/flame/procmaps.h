/* SPDX-License-Identifier: MIT */
/* The text of /proc/PID/maps. */
#ifndef CPUCLOCK_FLAME_PROCMAPS_H
#define CPUCLOCK_FLAME_PROCMAPS_H

#include "slice.h"

struct procmap {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	bool executable;
	struct slice path; /* as it stands there; "\012" is a newline */
};

/* Takes the next line that is whole and right; false at the end. */
bool procmaps_next(struct slice *text, struct procmap *ret_map);

/* Copies a path, with octal escapes undone, and a NUL behind what fits. */
void procmaps_path(struct slice path, char *ret_path, size_t size);

#endif
