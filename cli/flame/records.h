/* SPDX-License-Identifier: MIT */
/* The records of perf events: put in order of time, and taken apart. */
#ifndef CPUCLOCK_FLAME_RECORDS_H
#define CPUCLOCK_FLAME_RECORDS_H

#include <linux/perf_event.h>

#include "session.h"

struct queued {
	uint64_t time;
	uint64_t number; /* of its arrival */
	struct perf_event_header *record;
};

struct records {
	struct session *session;
	const struct perf_event_attr *attr; /* how samples are laid out */
	struct queued *queue;
	size_t n;
	size_t capacity;
	uint64_t arrived;
};

/* Takes a record over; for ring_drain. */
void records_take(struct perf_event_header *record, void *records);

/* Passes those up to a time to the session, in order. */
void records_process(struct records *records, uint64_t until);

void records_free(struct records *records);

#endif
