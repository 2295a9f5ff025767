/* SPDX-License-Identifier: MIT */
/*
 * System calls as the library makes them: raw, so that a library which
 * interposes libc's names is never asked, and with errno left as it was.
 * Each returns the kernel's result, or -errno.
 */
#ifndef CPUCLOCK_SYS_H
#define CPUCLOCK_SYS_H

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CPUCLOCK__NSEC_PER_SEC INT64_C(1000000000)

/* The kernel's struct timespec is libc's only where long has 64 bits. */
_Static_assert(sizeof(long) == 8, "cpuclock supports 64-bit Linux only");

static inline long cpuclock__syscall4(long number, long a, long b, long c,
				      long d)
{
	int saved = errno;
	long result = syscall(number, a, b, c, d);

	if (result == -1) {
		result = -errno;
		errno = saved;
	}
	return result;
}

static inline long cpuclock__syscall(long number, long a, long b, long c)
{
	return cpuclock__syscall4(number, a, b, c, 0);
}

static inline int64_t cpuclock__clock_gettime(clockid_t clockid)
{
	struct timespec ts;
	long err = cpuclock__syscall(SYS_clock_gettime, clockid, (long)&ts, 0);

	return err ? err : ts.tv_sec * CPUCLOCK__NSEC_PER_SEC + ts.tv_nsec;
}

static inline int64_t cpuclock__clock_getres(clockid_t clockid)
{
	struct timespec ts;
	long err = cpuclock__syscall(SYS_clock_getres, clockid, (long)&ts, 0);

	return err ? err : ts.tv_sec * CPUCLOCK__NSEC_PER_SEC + ts.tv_nsec;
}

static inline int cpuclock__getrusage(int who, struct rusage *ret_usage)
{
	return (int)cpuclock__syscall(SYS_getrusage, who, (long)ret_usage, 0);
}

#endif
