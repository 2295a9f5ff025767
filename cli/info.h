/* SPDX-License-Identifier: MIT */
/* What `cpuclock info` shows, and the two ways it shows it. */
#ifndef CPUCLOCK_INFO_H
#define CPUCLOCK_INFO_H

#include <stdbool.h>

#include "machine.h"
#include "probe.h"

struct info {
	struct machine machine;
	struct accounting accounting;
	struct perf_state perf;
	struct rseq_state rseq;
	bool cycles;
	char nohz_full[64]; /* empty if there is none */
};

bool info_print(const struct info *info); /* false if memory is short */
void info_print_json(const struct info *info);

/* The state of perf events in words. */
void describe_perf(const struct perf_state *perf, char *text, size_t size);

#endif
