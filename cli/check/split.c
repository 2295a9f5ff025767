/* SPDX-License-Identifier: MIT */
/*
 * How well user time is told, against work of which it is known: threads that
 * do nothing but user mode, nothing but kernel, or a short burst.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "cpuclock.h"

#define MS INT64_C(1000000)

struct burst {
	int64_t length_ns;
	bool in_kernel;
	int error;
	/* What came out; the truth is all or nothing of total. */
	struct cpuclock_times times;
	int64_t ticks_ns;
};

/* False too if the clock fails: the burst will say so. */
static bool is_before(int64_t until_ns)
{
	int64_t total_ns = cpuclock_total();

	return total_ns >= 0 && total_ns < until_ns;
}

/* Where the clock is a system call, it is not to be the work. */
static void work_in_user_mode(int64_t until_ns)
{
	while (is_before(until_ns)) {
		for (volatile int i = 0; i < 50000; i++)
			;
	}
}

/* Long calls: next to nothing is spent between them. */
static void work_in_kernel(int64_t until_ns)
{
	static char buffer[1 << 20];
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (zero >= 0 && is_before(until_ns)) {
		if (read(zero, buffer, sizeof(buffer)) <= 0)
			break;
	}
	if (zero >= 0)
		close(zero);
}

static void *run_burst(void *arg)
{
	struct burst *burst = arg;
	struct cpuclock *ticks;

	if (burst->in_kernel)
		work_in_kernel(burst->length_ns);
	else
		work_in_user_mode(burst->length_ns);

	burst->error = cpuclock_self(&burst->times);
	if (burst->error)
		return NULL;
	burst->error =
		cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TICKS, NULL, &ticks);
	if (burst->error)
		return NULL;
	burst->ticks_ns = cpuclock_read(ticks);
	cpuclock_close(ticks);
	return NULL;
}

static int run_in_thread(struct burst *burst)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run_burst, burst);

	if (err)
		return -err;
	pthread_join(thread, NULL);
	return burst->error;
}

static int run_rounds(int64_t length_ns, bool in_kernel,
		      struct split_result *result)
{
	double user_sum = 0, scaled_sum = 0, ticks_sum = 0;

	for (int i = 0; i < result->rounds; i++) {
		struct burst burst = {.length_ns = length_ns,
				      .in_kernel = in_kernel};
		double user, scaled, ticks;
		int err = run_in_thread(&burst);

		if (err)
			return err;
		user = in_kernel ? 0 : (double)burst.times.total_ns / MS;
		scaled = fabs((double)burst.times.user_ns / MS - user);
		ticks = fabs((double)burst.ticks_ns / MS - user);
		user_sum += user;
		scaled_sum += scaled;
		ticks_sum += ticks;
		result->scaled_worst_ms = fmax(result->scaled_worst_ms, scaled);
		result->ticks_worst_ms = fmax(result->ticks_worst_ms, ticks);
		result->ticks_above_total +=
			burst.ticks_ns > burst.times.total_ns;
	}
	result->true_user_ms = user_sum / result->rounds;
	result->scaled_mean_ms = scaled_sum / result->rounds;
	result->ticks_mean_ms = ticks_sum / result->rounds;
	return 0;
}

int split_run(struct split_result results[N_SPLITS])
{
	int err;

	results[0] = (struct split_result){.work = "200 ms of user mode",
					   .rounds = 4};
	results[1] =
		(struct split_result){.work = "200 ms of kernel", .rounds = 4};
	results[2] = (struct split_result){.work = "2 ms of user mode",
					   .rounds = 200};
	err = run_rounds(200 * MS, false, &results[0]);
	if (!err)
		err = run_rounds(200 * MS, true, &results[1]);
	if (!err)
		err = run_rounds(2 * MS, false, &results[2]);
	return err;
}
