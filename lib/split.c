/* SPDX-License-Identifier: MIT */
#include "split.h"
#include "sys.h"

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

/* The value with this low half that is nearest to another one. */
static int64_t near(int64_t time_ns, uint32_t low)
{
	return time_ns + (int32_t)(low - (uint32_t)time_ns);
}

void cpuclock__split_keep(struct cpuclock_times *times, uint64_t bound,
			  int64_t about_user_ns, int64_t about_system_ns)
{
	int64_t user_min = near(about_user_ns, (uint32_t)(bound >> 32));
	int64_t system_min = near(about_system_ns, (uint32_t)bound);

	if (bound == 0)
		return;
	if (times->system_ns < system_min)
		times->system_ns = system_min;
	if (times->system_ns > times->total_ns - user_min)
		times->system_ns = times->total_ns - user_min;
	times->user_ns = times->total_ns - times->system_ns;
}
