/* SPDX-License-Identifier: MIT */
/*
 * How many reads were served by which path: counters in a file that `cpuclock
 * run --report` makes, names in CPUCLOCK_REPORT and prints at the end, and that
 * the shim and the agent of each program map. What is counted outlives a
 * program that ends by _exit or SIGKILL.
 */
#ifndef CPUCLOCK_REPORT_H
#define CPUCLOCK_REPORT_H

#include <stdatomic.h>
#include <stdint.h>

#define REPORT_VARIABLE "CPUCLOCK_REPORT"

enum report_path {
	REPORT_PROGRAMS,	/* that mapped the file; no path of a read */
	REPORT_CARRIED,		/* clock_gettime, without a system call */
	REPORT_ASKED,		/* clock_gettime, with one or more */
	REPORT_USAGE,		/* getrusage(RUSAGE_THREAD) */
	REPORT_OTHER_CPU_CLOCK, /* passed on: not of the calling thread */
	REPORT_OTHER_USAGE,	/* passed on: likewise, or an error */
	REPORT_OTHER_CLOCK,	/* passed on: no CPU clock */
	REPORT_JAVA_CURRENT,	/* the agent: the current thread */
	REPORT_JAVA_OTHER,	/* the agent: another thread, by its clock id */
	REPORT_JAVA_ORIGINAL,	/* the agent: the JVM's own way */
	REPORT_PATHS,
};

#define REPORT_MAGIC UINT64_C(0x3174726f70657263) /* "creport1" */

struct report {
	uint64_t magic;
	_Atomic uint64_t counts[REPORT_PATHS];
};

/* NULL if nothing is reported. */
extern struct report *report;

/*
 * Maps the file that the environment names, if it is one of this user's. To be
 * called by a constructor, once. Programs that are setuid do not report.
 */
void report_open(void);

/* Only if report is not NULL. */
static inline void report_count_many(enum report_path path, uint64_t n)
{
	atomic_fetch_add_explicit(&report->counts[path], n,
				  memory_order_relaxed);
}

static inline void report_count(enum report_path path)
{
	report_count_many(path, 1);
}

#endif
