/* SPDX-License-Identifier: MIT */
/* The files and the text that a finished profile is written as. */
#ifndef CPUCLOCK_FLAME_WRITE_H
#define CPUCLOCK_FLAME_WRITE_H

#include <stdio.h>

#include "profile.h"

/* Names that are longer are cut where people read them. */
enum { MAX_SHOWN_CHARS = 1000 };

struct writer {
	const char *ending;
	/* 0 or -ENOMEM; whether all was written, the stream knows. */
	int (*write)(const struct profile *profile, FILE *stream);
	bool can_difference;
	const char *missing; /* why this build cannot write it; or NULL */
};

/* The one for a file's name, or NULL. */
const struct writer *find_writer(const char *path);

/* Complete text, for a terminal so wide; 0: whatever the width. */
int write_summary(const struct profile *profile, FILE *stream, size_t width);

int write_html(const struct profile *profile, FILE *stream);
int write_svg(const struct profile *profile, FILE *stream);
int write_folded(const struct profile *profile, FILE *stream);
int write_speedscope(const struct profile *profile, FILE *stream);
int write_pprof(const struct profile *profile, FILE *stream);

/* Why this build has no gzip; or NULL. */
extern const char *const gzip_missing;

/* Appends it, compressed. 0 or -ENOMEM. */
int write_gzip(const void *bytes, size_t size, FILE *stream);

#endif
