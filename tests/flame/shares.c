/* SPDX-License-Identifier: MIT */
/*
 * shares [SECONDS]: uses CPU time, 70% of it in heavy() and 30% in light(), and
 * says by its own clock how it was: "HEAVY LIGHT", in percent.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static int64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void spin(void)
{
	for (int i = 0; i < 10000; i++)
		sink += (uint64_t)i * sink;
}

__attribute__((noinline)) void heavy(int64_t until);
__attribute__((noinline)) void light(int64_t until);
__attribute__((noinline)) void work(int64_t ns, int64_t *spent);

void heavy(int64_t until)
{
	while (cpu_ns() < until)
		spin();
}

void light(int64_t until)
{
	while (cpu_ns() < until)
		spin();
}

void work(int64_t ns, int64_t *spent)
{
	int64_t start = cpu_ns();

	while (cpu_ns() - start < ns) {
		int64_t a = cpu_ns(), b, c;

		heavy(a + 700000);
		b = cpu_ns();
		light(b + 300000);
		c = cpu_ns();
		spent[0] += b - a;
		spent[1] += c - b;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int64_t spent[2] = {0, 0};

	work((int64_t)(seconds * 1e9), spent);
	printf("%.1f %.1f\n",
	       100.0 * (double)spent[0] / (double)(spent[0] + spent[1]),
	       100.0 * (double)spent[1] / (double)(spent[0] + spent[1]));
	return 0;
}
