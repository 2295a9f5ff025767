/* SPDX-License-Identifier: MIT */
/* Waiting: for a time, for the end of processes, for a signal. */
#ifndef CPUCLOCK_STAT_WATCH_H
#define CPUCLOCK_STAT_WATCH_H

#include <poll.h>

#include "stat.h"

enum event {
	EVENT_TIME,  /* the time has come */
	EVENT_CHILD, /* a child has ended, or so */
	EVENT_ENDED, /* all processes that are watched have ended */
	EVENT_STOP,  /* a signal says so */
};

struct watch {
	struct child *child;  /* signals are passed on to it; or NULL */
	struct pollfd *polls; /* the signals, then a PID each */
	nfds_t n_polls;
	size_t n_live;	  /* processes of those */
	bool misses_some; /* processes that are not among them */
	int signal;	  /* that stopped it */
};

/* Watches the signals of child_watch_signals, and the processes. 0, or -errno.
 */
int watch_open(struct watch *watch, const struct child *signals,
	       const pid_t *pids, size_t n_pids);

/* Until @deadline_ns of CLOCK_MONOTONIC, or an event before. */
enum event watch_wait(struct watch *watch, int64_t deadline_ns);

void watch_close(struct watch *watch);

#endif
