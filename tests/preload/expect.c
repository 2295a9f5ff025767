/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <sys/wait.h>

#include "expect.h"

static int64_t timespec_ns(const struct timespec *ts)
{
	return ts->tv_sec * NS_PER_S + ts->tv_nsec;
}

int64_t timeval_ns(const struct timeval *tv)
{
	return tv->tv_sec * NS_PER_S + tv->tv_usec * 1000;
}

int64_t kernel_ns(clockid_t clockid)
{
	struct timespec ts;

	return syscall(SYS_clock_gettime, clockid, &ts) ? -errno
							: timespec_ns(&ts);
}

long kernel_usage(int who, struct rusage *ret_usage)
{
	return syscall(SYS_getrusage, who, ret_usage);
}

int64_t libc_ns(clockid_t clockid)
{
	struct timespec ts;

	return clock_gettime(clockid, &ts) ? -errno : timespec_ns(&ts);
}

void own_clocks(clockid_t *ret_clocks)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	ret_clocks[0] = CLOCK_THREAD_CPUTIME_ID;
	ret_clocks[1] = CLOCK_ID(0, 6);
	ret_clocks[2] = CLOCK_ID(tid, 6);
	/* The same, unless libc remembers the TID of a parent. */
	if (pthread_getcpuclockid(pthread_self(), &ret_clocks[3]) != 0 ||
	    ret_clocks[3] != ret_clocks[2])
		ret_clocks[3] = CLOCK_THREAD_CPUTIME_ID;
}

int check_own_time(void)
{
	clockid_t clocks[N_OWN];
	int64_t last_ns = 0;

	own_clocks(clocks);
	for (int i = 0; i < 2000; i++) {
		int64_t before_ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
		int64_t ns = libc_ns(clocks[i % N_OWN]);
		int64_t after_ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID);

		if (ns < 0)
			return 1;
		if (ns < before_ns - BEHIND_NS)
			return 2;
		if (ns > after_ns + AHEAD_NS)
			return 3;
		if (ns < last_ns)
			return 4;
		last_ns = ns;
		if (i % 100 == 0)
			sleep_ns(10000);
	}
	return 0;
}

void burn(int64_t ns)
{
	int64_t end_ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (kernel_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

void sleep_ns(int64_t ns)
{
	struct timespec ts = {ns / NS_PER_S, ns % NS_PER_S};

	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
}

void assert_child(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	assert_int_equal(status, 0);
}

static char *map_pages(size_t n, int protection)
{
	void *pages = mmap(NULL, n * 4096, protection,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	return pages;
}

void bad_pointers(void **ret_pointers)
{
	char *pages = map_pages(2, PROT_READ | PROT_WRITE);

	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	ret_pointers[0] = NULL;
	ret_pointers[1] = pages + 4096;
	/* The first half of it can be stored. */
	ret_pointers[2] = pages + 4096 - 8;
	ret_pointers[3] = map_pages(1, PROT_READ);
	ret_pointers[4] = (void *)UINT64_C(0xffff800000000000);
	ret_pointers[5] = map_pages(1, PROT_NONE);
	assert_int_equal(munmap(ret_pointers[5], 4096), 0);
}
