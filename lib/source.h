/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_SOURCE_H
#define CPUCLOCK_SOURCE_H

#include <stdbool.h>

#include "cpuclock.h"

#define CPUCLOCK__BIT(n) (1U << (unsigned int)(n))

#define CPUCLOCK__PATH_SIZE sizeof("/proc/4194304/task/4194304/schedstat")

struct cpuclock {
	const struct cpuclock__source *source;
	enum cpuclock_target target;
	enum cpuclock_kind kind;
	pid_t id;

	/* What a source's open leaves for its read. */
	clockid_t clockid;
	char path[CPUCLOCK__PATH_SIZE];
	uint64_t start_ticks;

	int64_t last_ns; /* the highest total read so far; see cpuclock_read */
};

/* What a probe found. */
struct cpuclock__verdict {
	int status;	 /* 0, or -errno */
	const char *why; /* why not; NULL if status is 0 */
};

extern const struct cpuclock__verdict cpuclock__works;

/* A source is one way to ask the kernel for CPU time. */
struct cpuclock__source {
	const char *name;     /* as the user spells it */
	const char *summary;  /* for `cpuclock info` */
	unsigned int targets; /* CPUCLOCK__BIT of each enum cpuclock_target */
	unsigned int kinds;   /* CPUCLOCK__BIT of each enum cpuclock_kind */
	int system_calls;     /* per read */

	/* Does it work here? Never NULL, and lives for ever. */
	const struct cpuclock__verdict *(*probe)(void);
	bool verdict_changes; /* ask the probe each time; it is cheap */

	/*
	 * Prepares what read needs, once target, kind and id are set and known
	 * to be valid, and reads once; NULL if nothing is needed. 0, or -errno
	 * of the read.
	 */
	int (*open)(struct cpuclock *clock);

	/* The contract of cpuclock_read. */
	int64_t (*read)(const struct cpuclock *clock);

	/* Smallest step of one of its kinds, in ns. */
	int64_t (*resolution)(enum cpuclock_kind kind);
};

extern const struct cpuclock__source cpuclock__source_fast;
extern const struct cpuclock__source cpuclock__source_taskclock;
extern const struct cpuclock__source cpuclock__source_self;
extern const struct cpuclock__source cpuclock__source_posix;
extern const struct cpuclock__source cpuclock__source_rusage;
extern const struct cpuclock__source cpuclock__source_schedstat;
extern const struct cpuclock__source cpuclock__source_proc;

/* NULL if there is none of that name. */
const struct cpuclock__source *cpuclock__source_find(const char *name);

/*
 * The fastest that works here for this target and kind; NULL, and the status of
 * the last one that gives it or -EOPNOTSUPP, if there is none.
 */
const struct cpuclock__source *
cpuclock__source_best(enum cpuclock_target target, enum cpuclock_kind kind,
		      int *ret_status);

/* The verdict of the source's probe, which runs on the first call. */
const struct cpuclock__verdict *
cpuclock__source_probe(const struct cpuclock__source *source);

/* Total, user and system of the calling thread; the contract of cpuclock_self.
 */
int cpuclock__rusage_self(struct cpuclock_times *ret_times);

#endif
