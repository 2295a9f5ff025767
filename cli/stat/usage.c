/* SPDX-License-Identifier: MIT */
/* Sums and differences of what was used, so far as it is known. */
#include "stat.h"

const struct usage no_usage = {
	.wait_ns = -1, .voluntary = -1, .involuntary = -1};

static void add_known(int64_t *sum, int64_t value)
{
	if (value >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + value;
}

void times_add(struct cpuclock_times *sum, const struct cpuclock_times *times)
{
	sum->total_ns += times->total_ns;
	sum->user_ns += times->user_ns;
	sum->system_ns += times->system_ns;
}

void times_subtract(struct cpuclock_times *sum,
		    const struct cpuclock_times *times)
{
	sum->total_ns -= times->total_ns;
	sum->user_ns -= times->user_ns;
	sum->system_ns -= times->system_ns;
}

void usage_add(struct usage *sum, const struct usage *usage)
{
	times_add(&sum->times, &usage->times);
	add_known(&sum->wait_ns, usage->wait_ns);
	add_known(&sum->voluntary, usage->voluntary);
	add_known(&sum->involuntary, usage->involuntary);
}

struct cpuclock_times usage_rest(const struct cpuclock_times *sum,
				 const struct cpuclock_times *part)
{
	struct cpuclock_times rest = {
		.total_ns = sum->total_ns - part->total_ns,
		.system_ns = sum->system_ns - part->system_ns,
	};

	/* Both splits are estimates. */
	if (rest.total_ns < 0)
		rest.total_ns = 0;
	if (rest.system_ns < 0)
		rest.system_ns = 0;
	if (rest.system_ns > rest.total_ns)
		rest.system_ns = rest.total_ns;
	rest.user_ns = rest.total_ns - rest.system_ns;
	return rest;
}

static int64_t since(int64_t now, const int64_t *before)
{
	return now < 0 || (before && *before < 0)
		       ? -1
		       : now - (before ? *before : 0);
}

struct usage usage_since(const struct cpuclock_thread *now,
			 const struct cpuclock_thread *before)
{
	struct usage usage = {
		.times = now->times,
		.wait_ns =
			since(now->wait_ns, before ? &before->wait_ns : NULL),
		.voluntary = since(now->voluntary_switches,
				   before ? &before->voluntary_switches : NULL),
		.involuntary =
			since(now->involuntary_switches,
			      before ? &before->involuntary_switches : NULL),
	};

	if (before)
		times_subtract(&usage.times, &before->times);
	return usage;
}

void usage_limit(struct usage *usage, int64_t most_ns)
{
	struct cpuclock_times *times = &usage->times;
	double share = (double)times->system_ns / (double)times->total_ns;

	times->total_ns = most_ns;
	times->system_ns = (int64_t)(share * (double)most_ns);
	times->user_ns = most_ns - times->system_ns;
	usage->wait_ns = usage->voluntary = usage->involuntary = -1;
}
