/* SPDX-License-Identifier: MIT */
/*
 * A file that appears whole or not at all: written without a name, or under
 * a temporary one, in the same folder, and renamed at the end. What is no
 * regular file, such as /dev/stdout or a pipe, is written directly. A symbolic
 * link is followed.
 */
#ifndef CPUCLOCK_OUTFILE_H
#define CPUCLOCK_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct outfile {
	FILE *stream;
	char *path;	 /* of the file itself, behind links */
	char *temporary; /* NULL if written directly, or without a name */
	bool unnamed;
	char *buffer;
};

/* 0, or -errno; creates the temporary file, so that a folder that cannot be
 * written is found before the work is done. */
int outfile_open(struct outfile *file, const char *path);

/* Puts the file in place. 0, or -errno of any write; then nothing is left. */
int outfile_commit(struct outfile *file);

/* Leaves an existing file as it was. */
void outfile_abandon(struct outfile *file);

#endif
