/* SPDX-License-Identifier: MIT */
/* threads COUNT MS [ROUNDS]: threads that live together, and each burn. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

static pthread_barrier_t all_there;
static long ms;

__attribute__((noinline)) void in_thread(void);

void in_thread(void)
{
	burn_ms(ms);
	__asm__ volatile("");
}

static void *thread(void *argument)
{
	(void)argument;
	pthread_barrier_wait(&all_there);
	in_thread();
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t *threads = calloc((size_t)n + 1, sizeof(*threads));
	pthread_attr_t attributes;

	if (n < 1 || !threads)
		return 2;
	ms = atol(argv[2]);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	pthread_barrier_init(&all_there, NULL, (unsigned int)n);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&threads[i], &attributes, thread, NULL)) {
			fprintf(stderr, "threads: cannot start so many\n");
			return 77;
		}
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}
