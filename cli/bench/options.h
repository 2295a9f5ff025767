/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_OPTIONS_H
#define CPUCLOCK_OPTIONS_H

#include "bench.h"

#define N_FORMATS 4

struct format {
	const char *name;
	bool (*report)(const struct bench *bench, FILE *stream);
};

/* Option --NAME[=FILE] for each. */
extern const struct format bench_formats[N_FORMATS];

struct bench_options {
	struct bench_settings settings;
	bool quick;
	bool list;
	bool given_threads, given_time;
	const char *baseline;
	/* For each format: not asked for (NULL), "-", or a path. */
	const char *outputs[N_FORMATS];
};

/* CMD_OK, CMD_USAGE, or negative if --help was printed and all is done. */
int bench_options_parse(int argc, char **argv, struct bench_options *options);

/* Completes what was not given, for this machine. */
void bench_options_complete(struct bench_options *options,
			    const struct machine *machine);

#endif
