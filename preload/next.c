/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"

static int ask_clock_gettime(clockid_t clockid, struct timespec *ret_time)
{
	return (int)syscall(SYS_clock_gettime, clockid, ret_time);
}

static int ask_getrusage(int who, struct rusage *ret_usage)
{
	return (int)syscall(SYS_getrusage, who, ret_usage);
}

int (*next_clock_gettime)(clockid_t clockid,
			  struct timespec *ret_time) = ask_clock_gettime;
int (*next_getrusage)(int who, struct rusage *ret_usage) = ask_getrusage;

/* What the library calls; the linker is told so (--wrap). */
int __wrap_clock_gettime(clockid_t clockid, struct timespec *ret_time);

int __wrap_clock_gettime(clockid_t clockid, struct timespec *ret_time)
{
	return next_clock_gettime(clockid, ret_time);
}

/* Before the library's constructors, which read a clock of the vDSO. */
__attribute__((constructor(101))) static void find_next(void)
{
	void *found = dlsym(RTLD_NEXT, "clock_gettime");

	if (found)
		*(void **)&next_clock_gettime = found;
	found = dlsym(RTLD_NEXT, "getrusage");
	if (found)
		*(void **)&next_getrusage = found;
}
