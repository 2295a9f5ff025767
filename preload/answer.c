/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "answer.h"
#include "cycles.h"
#include "epoch.h"
#include "fast.h"
#include "report.h"
#include "sys.h"

/* The source that CPUCLOCK_SOURCE names, one handle for each kind. */
static struct cpuclock *forced_total, *forced_user, *forced_system;
static bool forced_asks_nobody;

static int64_t pass_total_on(void)
{
	return -EOPNOTSUPP;
}

static int pass_times_on(struct cpuclock_times *ret_times)
{
	(void)ret_times;
	return -EOPNOTSUPP;
}

int64_t (*answer_total)(void) = pass_total_on;
int (*answer_times)(struct cpuclock_times *ret_times) = pass_times_on;

static int64_t read_forced_total(void)
{
	return cpuclock_read(forced_total);
}

static int read_forced_times(struct cpuclock_times *ret_times)
{
	int64_t user_ns = cpuclock_read(forced_user);
	int64_t system_ns = cpuclock_read(forced_system);

	if (user_ns < 0 || system_ns < 0)
		return (int)(user_ns < 0 ? user_ns : system_ns);
	*ret_times = (struct cpuclock_times){.total_ns = user_ns + system_ns,
					     .user_ns = user_ns,
					     .system_ns = system_ns};
	return 0;
}

int64_t answer_total_counted(bool was_asked)
{
	uint64_t anchor = cpuclock__fast_anchor();
	int64_t total_ns = answer_total();

	if (total_ns < 0)
		return total_ns;
	if (!forced_asks_nobody &&
	    (anchor == 0 || anchor != cpuclock__fast_anchor()))
		was_asked = true;
	report_count(was_asked ? REPORT_ASKED : REPORT_CARRIED);
	return total_ns;
}

/* One line on standard error, whatever stands in the variable. */
static void complain(const char *name, const char *why)
{
	char line[256];
	int length = snprintf(line, sizeof(line),
			      "cpuclock: CPUCLOCK_SOURCE: source '%.32s' %s; "
			      "reads of CPU clocks are passed on\n",
			      name, why);

	for (int i = 0; i < length - 1 && i < (int)sizeof(line) - 1; i++) {
		if (line[i] < ' ' || line[i] > '~')
			line[i] = '?';
	}
	if (length >= (int)sizeof(line))
		line[sizeof(line) - 2] = '\n';
	/* Nobody is there to be told if that fails. */
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return;
}

static void use_library(void)
{
	answer_total = cpuclock_total;
	answer_times = cpuclock_self;
}

static void force(const char *name)
{
	struct cpuclock_source_info info;

	if (cpuclock_source_info(name, &info)) {
		complain(name, "does not exist");
		return;
	}
	if (info.status || cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL, name,
					 &forced_total)) {
		complain(name, "does not work here");
		return;
	}
	if (strcmp(name, "fast") == 0) {
		use_library();
		return;
	}
	forced_asks_nobody = info.system_calls == 0;
	answer_total = read_forced_total;
	/* Of a source of total alone, getrusage is passed on. */
	if (cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_USER, name,
			  &forced_user) == 0 &&
	    cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_SYSTEM, name,
			  &forced_system) == 0)
		answer_times = read_forced_times;
}

/*
 * Chooses an epoch now rather than at the first read: that sleeps for about
 * 1.5 ms, and makes system calls that a seccomp filter of the program may
 * punish later. If there is a filter already nothing is gained, and a program
 * that never asks for its time is not to be punished.
 */
static void choose_epoch(void)
{
	const struct timespec moment = {0, 200000};

	if (prctl(PR_GET_SECCOMP) != 0 || !cpuclock__cycles_usable())
		return;
	/* Where CLOCK_MONOTONIC_RAW is slow, learning the rate takes longer. */
	for (int tries = 0; tries < 12 && !cpuclock__cycles_rate(); tries++)
		cpuclock__syscall(SYS_nanosleep, (long)&moment, 0, 0);
	cpuclock__epoch_choose();
}

/* After the library's constructors, which have a priority. */
__attribute__((constructor)) static void start(void)
{
	const char *name = secure_getenv("CPUCLOCK_SOURCE");
	int saved = errno;

	report_open();
	if (name && *name && strcmp(name, "best") != 0) {
		force(name);
	} else {
		use_library();
		choose_epoch();
	}
	errno = saved;
}
