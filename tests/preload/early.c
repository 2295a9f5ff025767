/* SPDX-License-Identifier: MIT */
#include <sys/resource.h>
#include <time.h>

#include "early.h"

int early_calls, early_failures;
int64_t early_ns;

__attribute__((constructor(101))) static void read_clocks(void)
{
	struct timespec ts;
	struct rusage usage;

	early_calls++;
	early_failures += clock_gettime(CLOCK_MONOTONIC, &ts) != 0;
	early_calls++;
	early_failures += getrusage(RUSAGE_THREAD, &usage) != 0;
	early_calls++;
	early_failures += clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) != 0;
	early_ns = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}
