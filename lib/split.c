/* SPDX-License-Identifier: MIT */
#include "split.h"
#include "sys.h"

/* No true bound lies further above what the kernel says than this. */
#define SLACK_NS INT64_C(4000000)

/* Half of what the low halves can tell apart. */
#define MAX_AGE_NS (INT64_C(1) << 31)

static int64_t timeval_ns(const struct timeval *tv)
{
	return tv->tv_sec * CPUCLOCK__NSEC_PER_SEC + tv->tv_usec * 1000;
}

struct cpuclock_times cpuclock__split(int64_t total_ns,
				      const struct rusage *usage)
{
	int64_t system_ns = timeval_ns(&usage->ru_stime);

	/* A tick since the total was read makes the split some us newer. */
	if (system_ns > total_ns)
		system_ns = total_ns;
	return (struct cpuclock_times){.total_ns = total_ns,
				       .user_ns = total_ns - system_ns,
				       .system_ns = system_ns};
}

/* The last value whose low half this was, given about where it must lie. */
static int64_t bound_near(int64_t time_ns, uint32_t low)
{
	int64_t limit = time_ns + SLACK_NS;
	int64_t bound = (limit & ~INT64_C(0xffffffff)) | low;

	return bound > limit ? bound - (INT64_C(1) << 32) : bound;
}

void cpuclock__split_keep(struct cpuclock_times *times, uint64_t bound,
			  int64_t bound_total_ns)
{
	int64_t user_min, system_min, system_ns;

	if (bound == 0 || times->total_ns - bound_total_ns > MAX_AGE_NS)
		return;
	user_min = bound_near(times->user_ns, (uint32_t)(bound >> 32));
	system_min = bound_near(times->system_ns, (uint32_t)bound);
	system_ns = times->system_ns;
	if (system_ns < system_min)
		system_ns = system_min;
	if (system_ns > times->total_ns - user_min)
		system_ns = times->total_ns - user_min;
	/* Bounds of this thread leave room for each other; others need not. */
	if (system_ns < system_min || system_ns < 0)
		return;

	times->system_ns = system_ns;
	times->user_ns = times->total_ns - system_ns;
}
