/* SPDX-License-Identifier: MIT */
/* What `cpuclock check` tries, and what came out. */
#ifndef CPUCLOCK_CHECK_H
#define CPUCLOCK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thread's part of the mixed load, or the sum of all. */
struct load_result {
	uint64_t reads;
	uint64_t carried;   /* answered without asking the kernel */
	uint64_t switches;  /* of the threads, while they were watched */
	uint64_t misses;    /* carried forward over a switch */
	uint64_t backwards; /* total, user or system fell */
	uint64_t unequal;   /* user + system was not total */
	uint64_t too_far;   /* ahead of the kernel by more than the window */
	uint64_t behind;    /* behind what the kernel said before */
	uint64_t children;  /* of fork, that read the clock */
	uint64_t bad_children;
	int64_t worst_ahead_ns;
	int64_t worst_behind_ns;

	/* Distance from the middle of two reads of the kernel's clock around
	 * each answer, ns; a random part of them if there are too many. */
	int32_t *errors;
	size_t n_errors;
};

/*
 * Runs the load with the epoch that is in use: @threads threads for @time_ns.
 * 0, or -errno. The caller frees ret_result->errors.
 */
int load_run(int threads, int64_t time_ns, struct load_result *ret_result);

bool load_kept_promises(const struct load_result *result);

/* The error at a percentile; the errors get sorted. 0 if there are none. */
int32_t load_percentile(struct load_result *result, double percent);

/* One known piece of work, and how its split came out. */
struct split_result {
	const char *work;
	int rounds;
	double true_user_ms; /* a round */
	/* Mean distance from the truth, and the worst; of the user time. */
	double scaled_mean_ms, scaled_worst_ms;
	double ticks_mean_ms, ticks_worst_ms;
	int ticks_above_total; /* rounds */
};

#define N_SPLITS 3

/* Some 2 s of CPU time. 0, or -errno. */
int split_run(struct split_result results[N_SPLITS]);

#endif
