/* SPDX-License-Identifier: MIT */
/* Uses CPU time of the calling thread, in whoever includes it. */
#include <stdint.h>
#include <time.h>

static volatile uint64_t burn_sink;

static inline __attribute__((always_inline)) void burn_ms(long ms)
{
	struct timespec time;
	int64_t end = 0, now;

	do {
		for (int i = 0; i < 20000; i++)
			burn_sink += (uint64_t)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
		now = time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
		end = end ? end : now + ms * INT64_C(1000000);
	} while (now < end);
}
