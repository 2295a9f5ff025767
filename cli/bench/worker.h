/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_WORKER_H
#define CPUCLOCK_WORKER_H

#include "bench.h"

/*
 * In the process that measures: starts the cell's threads, lets them run all
 * iterations of one fork, and adds the results to the cell. Returns 0, or the
 * -errno with which a thread could not be started or a call failed.
 */
int workers_run(const struct bench *bench, struct bench_cell *cell,
		pid_t other_tid);

#endif
