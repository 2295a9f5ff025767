/* SPDX-License-Identifier: MIT */
/* What `cpuclock bench` measures, and what came out. */
#ifndef CPUCLOCK_BENCH_H
#define CPUCLOCK_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../machine.h"
#include "histogram.h"
#include "stats.h"
#include "timer.h"

enum bench_mode {
	BENCH_AVGT,   /* batches of calls: the average, free of the timer */
	BENCH_SAMPLE, /* each call timed: percentiles, with the timer in them */
	N_MODES,
};

extern const char *const bench_mode_words[N_MODES];

#define MAX_THREAD_COUNTS 8
#define MAX_THREADS	  1024

/* One thing to measure: cpuclock.TARGET.KIND.SOURCE, or cpuclock.floor.WHAT. */
struct bench_row {
	char name[64];
	const char *target; /* "self", "thread", "process", "floor" */
	const char *kind;   /* "" for a floor */
	const char *source;
	bool selected;

	/*
	 * What the kernel does per call; negative if not known. The system
	 * calls are those that the source states, until they are measured.
	 */
	double system_calls;
	double allocations;
	double allocated_bytes;
};

/* One call of a row, ready to be made by the thread that prepared it. */
struct bench_call {
	int64_t (*call)(const void *arg); /* negative: -errno */
	void *arg;
	void (*release)(void *arg); /* NULL if there is nothing to release */
};

/* One iteration, all threads together. */
struct bench_iteration {
	uint64_t calls;
	int64_t wall_ns;
	int64_t cpu_ns;
	int64_t involuntary_switches;
};

/* One row in one mode with one number of threads; in shared memory. */
struct bench_cell {
	size_t row;
	enum bench_mode mode;
	int threads;
	int error;	/* 0, or -errno of the call */
	int end_signal; /* what killed the process that measured, or 0 */
	size_t n_done;	/* iterations that are complete, over all forks */
	struct bench_iteration *iterations;
	struct histogram *histograms; /* one an iteration; NULL for avgt */
};

struct bench_settings {
	int thread_counts[MAX_THREAD_COUNTS];
	int n_thread_counts;
	bool modes[N_MODES];
	int forks;
	int warmup;
	int iterations;
	int64_t time_ns; /* of an iteration */
};

struct bench {
	struct machine machine;
	struct timer timer;
	struct bench_settings settings;
	char date[32]; /* RFC 3339, UTC */
	struct bench_row *rows;
	size_t n_rows;
	struct bench_cell *cells; /* row by row, in order */
	size_t n_cells;
	int interrupted; /* the signal that ended the work early, or 0 */
	const char *kernel_work_why; /* why it was not measured, or NULL */
};

/* A cell in numbers. */
struct bench_summary {
	struct stats stats; /* of the iterations; of all calls for sample */
	double score_ns;    /* wall-clock time per call, on average */
	double median_ns;   /* of the iterations, or of all calls for sample */
	double error_ns;    /* half the 99.9 % confidence interval, or NaN */
	double cpu_ns;	    /* CPU time per call */
	uint64_t calls;
	int64_t involuntary_switches;
	bool preempted; /* a lot: wall-clock time is not to be trusted */
};

/* rows.c: the table of what can be measured here. False if memory is short. */
bool bench_rows_make(struct bench *bench);
int bench_row_prepare(const struct bench_row *row, pid_t other_tid,
		      struct bench_call *ret_call);

/* A thread that sleeps until it is ended: the other thread of some rows. */
struct sleeper;
struct sleeper *sleeper_start(pid_t *ret_tid);
void sleeper_end(struct sleeper *sleeper);

/*
 * run.c: measures all selected rows. False if memory is short. After
 * bench_catch_signals, Ctrl-C and the like end it early.
 */
void bench_catch_signals(void);
bool bench_run(struct bench *bench, FILE *progress);
void bench_free(struct bench *bench);

/* kernelwork.c: fills the rows' counts of what the kernel does per call. */
void bench_kernel_work(struct bench *bench);

/* summary.c */
void bench_summarize(const struct bench_cell *cell,
		     struct bench_summary *ret_summary);
bool bench_cell_is_usable(const struct bench_cell *cell);
const struct bench_cell *bench_find(const struct bench *bench, size_t row,
				    enum bench_mode mode, int threads);

/* All iterations of a sample cell together; NULL if memory is short. */
struct histogram *bench_histogram(const struct bench_cell *cell);

/* Score of one iteration, ns per call; the median for sample. */
double bench_iteration_score(const struct bench_cell *cell, size_t iteration);

/* Ratio of the medians, which one preempted iteration does not move, to those
 * of the row's twin by source "proc", or of the cheapest system call. NaN if
 * that was not measured. */
double bench_ratio_to_proc(const struct bench *bench,
			   const struct bench_cell *cell);
double bench_ratio_to_syscall(const struct bench *bench,
			      const struct bench_cell *cell);

/* Why a cell has no result, in words. */
void bench_describe_failure(const struct bench_cell *cell, char *text,
			    size_t size);

/* report_*.c: false if memory is short. Errors of writing stay in the stream.
 */
bool report_text(const struct bench *bench, FILE *stream);
bool report_json(const struct bench *bench, FILE *stream);
bool report_csv(const struct bench *bench, FILE *stream);
bool report_hgrm(const struct bench *bench, FILE *stream);
bool report_html(const struct bench *bench, FILE *stream);

/*
 * baseline.c: an earlier report of report_json to compare with. baseline_open
 * returns NULL and a message if it is none, or if the build has no JSON reader.
 */
struct baseline;
struct baseline *baseline_open(const char *path, char *message, size_t size);
void baseline_close(struct baseline *baseline);
bool baseline_report(const struct baseline *baseline, const struct bench *bench,
		     FILE *stream);

/* The percentiles of JMH. Those without a title are in JSON only. */
#define N_PERCENTILES	    10
#define N_PERCENTILES_SHOWN 8 /* in tables; the others are the last two */
extern const struct percentile {
	double percent;
	const char *title; /* as JMH's text shows it */
	const char *key;   /* as JMH's JSON spells it */
} bench_percentiles[N_PERCENTILES];

#endif
