/* SPDX-License-Identifier: MIT */
/* perf task-clock events: samples by CPU time, with no need of hardware. */
#ifndef CPUCLOCK_FLAME_PERF_EVENT_H
#define CPUCLOCK_FLAME_PERF_EVENT_H

#include <linux/perf_event.h>
#include <poll.h>

#include "flame.h"
#include "ring.h"

struct perf_events {
	struct perf_event_attr attr;
	int *fds;
	size_t n_fds;
	size_t capacity;
	struct ring *rings; /* one for each CPU that is there */
	int *ring_fds;
	int *ring_cpus;
	size_t n_rings;
	size_t ring_size;
	size_t wanted_size;
	size_t least_size; /* less is told */
	bool system_wide;
};

/* What is recorded, for these options. */
void perf_events_init(struct perf_events *events,
		      const struct flame_options *options);

/* What perf_event_open(2) says to events of one's own: 0 or -errno. */
int perf_events_probe(const struct perf_events *events);

/*
 * Of a process that waits to execute a command, on every CPU, with all that it
 * starts; they count from its execve(2). Each returns 0 or -errno; without
 * permission to look into the kernel, attr.exclude_kernel is set and it goes
 * on.
 */
int perf_events_of_command(struct perf_events *events, pid_t pid);

/* Of the whole machine: one on each CPU. */
int perf_events_of_machine(struct perf_events *events);

/* Of a thread, with those that it starts; enabled. */
int perf_events_of_thread(struct perf_events *events, pid_t tid);

void perf_events_enable(struct perf_events *events);
void perf_events_close(struct perf_events *events);

#endif
