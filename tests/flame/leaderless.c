/* SPDX-License-Identifier: MIT */
/* A process whose main thread has ended while another one works. */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) void busy_without_leader(void)
{
	for (volatile long i = 0;; i++)
		;
}

static void *work(void *unused)
{
	busy_without_leader();
	return unused;
}

int main(void)
{
	pthread_t thread;

	/* It would run for ever if a test failed. */
	alarm(60);
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	syscall(SYS_exit, 0);
	return 0;
}
