/* SPDX-License-Identifier: MIT */
/*
 * A static program, "with" or "without" a cycle counter that may be read: exits
 * with 0 if the clock is right and says what it should.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpuclock.h"
#include "epoch.h"

static int64_t kernel_ns(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int check_without_counter(void)
{
	struct cpuclock_source_info info;

	if (strcmp(cpuclock_self_source(), "self") != 0)
		return 4;
	if (cpuclock_source_info("fast", &info) != 0 || info.status >= 0)
		return 5;
	printf("# without the counter: %s\n", info.why);
	if (!strstr(info.why, "counter"))
		return 6;
	/* Not even when told to. */
	if (cpuclock__epoch_use(&cpuclock__epoch_rseq)->status == 0)
		return 7;
	return 0;
}

static int check_with_counter(void)
{
	if (cpuclock__epoch_verdict()->status != 0) {
		printf("# static: %s\n", cpuclock__epoch_verdict()->why);
		return 8;
	}
	printf("# static: %s\n", cpuclock_self_source());
	return strncmp(cpuclock_self_source(), "fast:", 5) == 0 ? 0 : 9;
}

int main(int argc, char **argv)
{
	struct cpuclock_times times;
	int64_t before = kernel_ns();
	int64_t total_ns = cpuclock_total();
	int result;

	if (total_ns < before || total_ns > kernel_ns())
		return 2;
	if (cpuclock_self(&times) != 0)
		return 3;
	result = argc > 1 && strcmp(argv[1], "with") == 0
			 ? check_with_counter()
			 : check_without_counter();
	fflush(stdout);
	return result;
}
