/* SPDX-License-Identifier: MIT */
/*
 * What bench/stat looks at: threads N, which sleep; or threads short SECONDS,
 * one after another for 40 ms of CPU time each, which then says what its
 * process has used. "ready" when it is so.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void *work_40_ms(void *unused)
{
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < 40000000)
		;
	return unused;
}

static int run_short(double seconds)
{
	int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9);

	ready();
	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work_40_ms, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("%lld\n", (long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}

static void *sleep_for_ever(void *unused)
{
	prctl(PR_SET_NAME, "w 12) (x");
	for (;;)
		pause();
	return unused;
}

static int run_sleepers(int count)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 1; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &small, sleep_for_ever, NULL)) {
			fprintf(stderr, "threads: no more than %d\n", i);
			return 1;
		}
	}
	/* Until each has its name, and sleeps. */
	sleep(2);
	ready();
	sleep_for_ever(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "short") == 0)
		return run_short(atof(argv[2]));
	return argc == 2 ? run_sleepers(atoi(argv[1])) : 2;
}
