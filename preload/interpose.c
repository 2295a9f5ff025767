/* SPDX-License-Identifier: MIT */
/*
 * clock_gettime(2) and getrusage(2) in front of libc's. A read of the calling
 * thread's CPU time is answered here, all else by the function that would have
 * answered without the shim.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "answer.h"
#include "next.h"
#include "own_thread.h"
#include "report.h"
#include "sys.h"
#include "writable.h"

/*
 * Under names of their own, as libc's headers promise to the compiler that no
 * caller passes a bad pointer.
 */
int preload_clock_gettime(clockid_t clockid,
			  struct timespec *ret_time) __asm__("clock_gettime")
	__attribute__((visibility("default")));
int preload_getrusage(int who, struct rusage *ret_usage) __asm__("getrusage")
	__attribute__((visibility("default")));

/*
 * Of a CPU clock the kernel itself stores the time, and answers EFAULT to a bad
 * pointer. So it is asked once for each page, and then it is known.
 */
static int own_time(clockid_t clockid, struct timespec *ret_time)
{
	bool was_asked = !is_known_writable(ret_time);
	int64_t total_ns;

	if (was_asked) {
		if (next_clock_gettime(clockid, ret_time) != 0)
			return -1;
		know_writable(ret_time);
	}
	total_ns = report ? answer_total_counted(was_asked) : answer_total();
	if (total_ns < 0)
		return next_clock_gettime(clockid, ret_time);
	ret_time->tv_sec = total_ns / CPUCLOCK__NSEC_PER_SEC;
	ret_time->tv_nsec = total_ns % CPUCLOCK__NSEC_PER_SEC;
	return 0;
}

int preload_clock_gettime(clockid_t clockid, struct timespec *ret_time)
{
	if (is_own_clock(clockid))
		return own_time(clockid, ret_time);
	if (report)
		report_count(clockid < 0 || clockid == CLOCK_PROCESS_CPUTIME_ID
				     ? REPORT_OTHER_CPU_CLOCK
				     : REPORT_OTHER_CLOCK);
	return next_clock_gettime(clockid, ret_time);
}

/* Cut as the kernel cuts: so the sum is never above total. */
static struct timeval to_timeval(int64_t ns)
{
	return (struct timeval){
		.tv_sec = ns / CPUCLOCK__NSEC_PER_SEC,
		.tv_usec = ns % CPUCLOCK__NSEC_PER_SEC / 1000,
	};
}

int preload_getrusage(int who, struct rusage *ret_usage)
{
	int result = next_getrusage(who, ret_usage);
	struct cpuclock_times times;

	if (result != 0 || who != RUSAGE_THREAD || answer_times(&times) < 0) {
		if (report)
			report_count(REPORT_OTHER_USAGE);
		return result;
	}
	ret_usage->ru_utime = to_timeval(times.user_ns);
	ret_usage->ru_stime = to_timeval(times.system_ns);
	if (report)
		report_count(REPORT_USAGE);
	return result;
}
