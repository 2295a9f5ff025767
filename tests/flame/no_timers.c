/* SPDX-License-Identifier: MIT */
/*
 * Where no timer can be made: a preloaded sampler's calls come here. Says how
 * many were deleted nevertheless.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static int n_deleted;

int timer_create(clockid_t clock, struct sigevent *event, timer_t *ret_timer)
{
	(void)clock;
	(void)event;
	(void)ret_timer;
	errno = EAGAIN;
	return -1;
}

int timer_delete(timer_t timer)
{
	(void)timer;
	n_deleted++;
	return 0;
}

static void *nothing(void *argument)
{
	return argument;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) != 0 ||
	    pthread_join(thread, NULL) != 0)
		return 1;
	printf("deleted: %d\n", n_deleted);
	return 0;
}
