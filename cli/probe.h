/* SPDX-License-Identifier: MIT */
/* What the kernel does and lets this process do, found by trying. */
#ifndef CPUCLOCK_PROBE_H
#define CPUCLOCK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* How the kernel tells user from system time. */
struct accounting {
	int64_t tick_ns; /* clock_getres of the VIRT clock; negative: -errno */
	int64_t step_ns; /* by which that clock was seen to move; 0: not seen */
	bool by_tick;	 /* a step is a tick: the split is sampled */
};

/* Uses CPU until the clock moves twice: some ticks, at most 0.3 s. */
void probe_accounting(struct accounting *ret_accounting);

#define PARANOID_UNKNOWN 99

/* May this thread have a perf event of its own? */
struct perf_state {
	int paranoid;	    /* as probe_paranoid gives it */
	int error;	    /* 0, or -errno of perf_event_open(2) */
	bool cap_user_time; /* the event's page can be read without a call */
};

/* kernel.perf_event_paranoid, or PARANOID_UNKNOWN. */
int probe_paranoid(void);

void probe_perf(struct perf_state *ret_perf);

/* Restartable sequences, as libc set them up. Static strings. */
struct rseq_state {
	bool registered;
	const char *text;
};

void probe_rseq(struct rseq_state *ret_rseq);

#endif
