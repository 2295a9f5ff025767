/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "account.h"
#include "cpuclock.h"
#include "living.h"
#include "slurp.h"

#define PERIOD_NS  INT64_C(100000000)
#define NS_PER_SEC INT64_C(1000000000)

static int64_t ns_of(const struct timeval *time)
{
	return time->tv_sec * NS_PER_SEC + time->tv_usec * INT64_C(1000);
}

static int64_t children_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return -1;
	return ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
}

/*
 * The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq,
 * in USER_HZ. What a hypervisor took comes behind, guests are in user already.
 */
static int64_t machine_ns(void)
{
	size_t length;
	char *text = slurp("/proc/stat", 65536, &length);
	char *p = text;
	int64_t ticks = 0;

	if (!text || strncmp(text, "cpu ", 4) != 0) {
		free(text);
		return -1;
	}
	p += 4;
	for (int i = 0; i < 7; i++) {
		int64_t number = strtoll(p, &p, 10);

		/* Neither idle nor iowait. */
		if (i != 3 && i != 4)
			ticks += number;
	}
	free(text);
	return ticks * (NS_PER_SEC / sysconf(_SC_CLK_TCK));
}

static void add(struct account *account, enum cpuclock_target target, pid_t id)
{
	struct account_clock *clock = &account->clocks[account->n];

	*clock = (struct account_clock){
		.id = id, .of_process = target == CPUCLOCK_PROCESS};
	if (cpuclock_open(target, id, CPUCLOCK_TOTAL, NULL, &clock->clock) != 0)
		return;
	clock->first_ns = clock->last_ns = cpuclock_read(clock->clock);
	account->n++;
}

void account_start(struct account *account, const struct session *session)
{
	const struct flame_options *options = session->options;

	*account = (struct account){0};
	if (options->command || options->all) {
		account->first_ns = options->all ? machine_ns() : children_ns();
		return;
	}
	account->clocks = calloc(options->n_pids + options->n_tids,
				 sizeof(*account->clocks));
	for (size_t i = 0; account->clocks && i < options->n_pids; i++)
		add(account, CPUCLOCK_PROCESS, options->pids[i]);
	for (size_t i = 0; account->clocks && i < options->n_tids; i++)
		add(account, CPUCLOCK_FOREIGN, options->tids[i]);
}

static bool read_clock(struct account_clock *clock)
{
	int64_t ns;

	if (!clock->clock)
		return false;
	ns = cpuclock_read(clock->clock);
	if (ns >= clock->last_ns)
		clock->last_ns = ns;
	/* One that its parent has not waited for still has a clock. */
	if (ns >= 0 && is_living(clock->id, clock->of_process))
		return true;
	cpuclock_close(clock->clock);
	clock->clock = NULL;
	return false;
}

bool account_update(struct account *account, int64_t now)
{
	bool any = account->n == 0;

	if (account->n == 0 || now - account->read_at_ns < PERIOD_NS)
		return true;
	account->read_at_ns = now;
	for (size_t i = 0; i < account->n; i++)
		any |= read_clock(&account->clocks[i]);
	return any;
}

/* Those of a command's descendants that run on. */
static int64_t running_ns(const struct processes *processes)
{
	int64_t sum = 0;

	for (size_t i = 0; i < 4096; i++) {
		const struct process *process = processes->by_pid[i];

		for (; process; process = process->next) {
			struct cpuclock *clock = NULL;
			int64_t ns = -1;

			if (cpuclock_open(CPUCLOCK_PROCESS, process->pid,
					  CPUCLOCK_TOTAL, NULL, &clock) == 0)
				ns = cpuclock_read(clock);
			cpuclock_close(clock);
			sum += ns > 0 ? ns : 0;
		}
	}
	return sum;
}

int64_t account_finish(struct account *account, struct session *session)
{
	const struct flame_options *options = session->options;
	int64_t sum = 0;

	if (options->all || options->command) {
		int64_t last = options->all ? machine_ns() : children_ns();

		if (last < 0 || account->first_ns < 0)
			return -1;
		if (options->command)
			sum = running_ns(&session->processes);
		return last - account->first_ns + sum;
	}
	for (size_t i = 0; i < account->n; i++) {
		read_clock(&account->clocks[i]);
		sum += account->clocks[i].last_ns - account->clocks[i].first_ns;
	}
	return account->n > 0 ? sum : -1;
}

void account_close(struct account *account)
{
	for (size_t i = 0; i < account->n; i++)
		cpuclock_close(account->clocks[i].clock);
	free(account->clocks);
	account->clocks = NULL;
	account->n = 0;
}
