/* SPDX-License-Identifier: MIT */
/* The work, between the files that do it. */
#ifndef CPUCLOCK_STAT_WORK_H
#define CPUCLOCK_STAT_WORK_H

#include "../outfile.h"
#include "watch.h"

struct work {
	const struct stat_options *options;
	struct child child;
	struct watch watch;
	struct cpuclock_snapshot *snapshot;
	struct account account;
	struct scans scans;
	struct outfile file;
	FILE *stream;
	const char *passed_over, *why;
	int64_t origin_ns; /* intervals are counted from here */
	int64_t next_take_ns;
	int64_t next_report_ns;
	int64_t end_ns;	 /* of the duration */
	int64_t step_ns; /* of snapshots between reports */
	uint64_t n_reports;
	uint64_t lost_exits; /* that the reports so far have said */
};

/*
 * Opens the report, the source and all else that needs privileges, then gives
 * these up. A command's process is made before that, and held. CMD_OK, or says
 * what is wrong.
 */
int work_open(struct work *work);

/* Puts the report where it belongs. The status given, or a worse one. */
int work_close(struct work *work, int status);

#endif
