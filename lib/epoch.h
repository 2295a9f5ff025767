/* SPDX-License-Identifier: MIT */
/*
 * An epoch is a word of this process's memory that the kernel changes whenever
 * the thread it belongs to is switched out. While the word keeps its value, the
 * thread has not left its CPU: the cycle counter tells the CPU time it used.
 *
 * All functions are AS-Safe, take no lock and allocate nothing from libc. They
 * may change errno.
 */
#ifndef CPUCLOCK_EPOCH_H
#define CPUCLOCK_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

#include "source.h"

typedef const volatile uint64_t cpuclock__epoch_word;

struct cpuclock__epoch {
	const char *name; /* of the source that it makes: "fast:rseq" */

	/*
	 * Does every switch of a thread cost something while it has the epoch?
	 * Then only threads get one that read far more often than they switch.
	 */
	int has_cost;

	/* Whether it can be had here at all, before the self-test. */
	const struct cpuclock__verdict *(*probe)(void);

	/*
	 * The word of the calling thread, or NULL if it cannot have one. To be
	 * called once for a thread; what it holds goes with the thread.
	 */
	cpuclock__epoch_word *(*attach)(void);

	/* Undoes attach. */
	void (*detach)(cpuclock__epoch_word *word);

	/*
	 * In a child of fork: the word of the parent's thread is gone. If a
	 * signal handler forked, the call in which it came may still look at
	 * the word: then it must stay readable, with another value.
	 */
	void (*forget)(cpuclock__epoch_word *word, bool in_call);

	/* Begins an epoch: the value that the word has while it holds. */
	uint64_t (*arm)(cpuclock__epoch_word *word);
};

extern const struct cpuclock__epoch cpuclock__epoch_rseq;
extern const struct cpuclock__epoch cpuclock__epoch_perf;

/*
 * The self-test, on the calling thread: short blocks must end an epoch, each of
 * them, and system calls that do not block must not. Sleeps some 10 times for
 * less than 0.1 ms. Never NULL.
 */
const struct cpuclock__verdict *
cpuclock__epoch_test(const struct cpuclock__epoch *epoch);

/*
 * The epoch that this process uses: the first one that works and passes the
 * self-test, chosen as soon as the counter's rate is known. NULL until then,
 * and if there is none.
 */
const struct cpuclock__epoch *cpuclock__epoch_choose(void);

/* The same, but only if it has been chosen. No system call. */
const struct cpuclock__epoch *cpuclock__epoch_chosen(void);

/* It did not end though the thread was switched out: never again. */
void cpuclock__epoch_give_up(void);

/*
 * The verdict on all of them. Waits some ms if the counter's rate is not known
 * yet. Not the last word: see cpuclock__epoch_give_up.
 */
const struct cpuclock__verdict *cpuclock__epoch_verdict(void);

/*
 * For tests and `cpuclock check`: use this epoch in the whole process from now
 * on, or the first that works if NULL. Returns the verdict on it. Not MT-Safe.
 */
const struct cpuclock__verdict *
cpuclock__epoch_use(const struct cpuclock__epoch *epoch);

/*
 * For an epoch whose word goes before its thread has ended: called right before
 * that. False if the word is not of this process, but what a child of fork sees
 * of its parent's; there is nothing to give back then. Lives in fast.c.
 */
bool cpuclock__epoch_leave(void);

#endif
