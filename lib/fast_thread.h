/* SPDX-License-Identifier: MIT */
/*
 * The state of a thread, and what the files of the fast clock share:
 * fast_anchor.c asks the kernel, fast_nested.c answers calls of signal handlers
 * that interrupt another call, fast.c does the rest.
 */
#ifndef CPUCLOCK_FAST_THREAD_H
#define CPUCLOCK_FAST_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "epoch.h"
#include "forkguard.h"
#include "split.h"

/* Ages are counted in about milliseconds; the most is 1 s. */
#define CPUCLOCK__AGE_SHIFT 20
#define CPUCLOCK__MAX_AGE   1024

/*
 * The state of a thread. Only the thread itself and its signal handlers touch
 * it: each field is written whole, and compiler barriers keep the order.
 */
struct cpuclock__thread {
	/* The anchor; it holds in the process of this generation only. */
	uint64_t generation;
	cpuclock__epoch_word *word; /* NULL if the thread has no epoch */
	uint64_t value;
	uint64_t cycles;  /* 0 if there is none */
	int64_t total_ns; /* the kernel's last answer, also without anchor */

	/* The highest answers so far in the process of that generation. */
	int64_t last_total_ns;
	uint64_t last_split;

	/* The split when the total was split_total_ns. */
	int64_t split_total_ns;
	int64_t user_ns;
	int32_t user_ahead_ns; /* of the kernel's user time */
	uint32_t user_share;   /* by which it is carried, of SHARE_ONE */
	uint32_t kernel_share; /* as the kernel last told it */
	bool has_split;	       /* taken with the anchor */

	bool denied;	     /* tried to have an epoch, in vain */
	bool knows_switches; /* the next field is as of the anchor */
	uint8_t reads;	     /* without an epoch, since the last look */
	uint32_t switches;

	/* From here on: what entering a process leaves alone. */
	bool busy;		   /* within a call */
	uint32_t nested;	   /* calls that came while busy */
	uint32_t nested_split_age; /* the total at that time, in 2^20 ns */

	/* The highest answers of those calls in the process of this one. */
	uint64_t nested_generation;
	int64_t nested_total_ns;
	uint64_t nested_split;
};

_Static_assert(sizeof(struct cpuclock__thread) <= 128,
	       "at most two cache lines");

/* The kernel's answer. */
struct cpuclock__reading {
	int64_t total_ns;
	uint64_t cycles; /* when it was given; for anchors only */
	bool is_vague;	 /* that is known badly */
	bool has_usage;
	struct rusage usage;
};

/*
 * The slow way to any answer: asks the kernel, and prepares the fast one.
 * Returns 0, or -errno.
 */
int cpuclock__thread_ask(struct cpuclock__thread *thread, bool want_usage,
			 struct cpuclock__reading *ret_reading);

/* In a child of fork: the thread's word is not its own. See epoch.h. */
void cpuclock__thread_forget_word(const struct cpuclock__thread *thread,
				  bool in_call);

/* The answers to calls that came while the thread was within one. */
int64_t cpuclock__nested_total(struct cpuclock__thread *thread);
int cpuclock__nested_self(struct cpuclock__thread *thread,
			  struct cpuclock_times *ret_times);

static inline int64_t cpuclock__max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What calls nested in this one, or in those before, have answered. */
static inline int64_t
cpuclock__nested_bound(const struct cpuclock__thread *thread)
{
	return thread->nested_generation == thread->generation
		       ? thread->nested_total_ns
		       : 0;
}

/*
 * Of the split that a nested call left there are but low halves, which say
 * nothing after 2 s. It is served before that, unless a handler jumped out of a
 * call.
 */
static inline bool
cpuclock__nested_split_is_fresh(const struct cpuclock__thread *thread,
				int64_t total_ns)
{
	uint32_t now = (uint32_t)(total_ns >> CPUCLOCK__AGE_SHIFT);

	return now - thread->nested_split_age <= CPUCLOCK__MAX_AGE;
}

/* The last answer was carried forward, for a window at most, from this. */
static inline void
cpuclock__keep_last_split(const struct cpuclock__thread *thread,
			  struct cpuclock_times *times)
{
	cpuclock__split_keep(times, thread->last_split, thread->user_ns,
			     thread->split_total_ns - thread->user_ns);
}

#endif
