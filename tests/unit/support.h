/* SPDX-License-Identifier: MIT */
/* What the unit tests share: the kernel's own clocks, and work to be billed. */
#ifndef CPUCLOCK_TESTS_SUPPORT_H
#define CPUCLOCK_TESTS_SUPPORT_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

#ifdef __has_feature
#define HAS_FEATURE(feature) __has_feature(feature)
#else
#define HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define WITH_ADDRESS_SANITIZER 1
#else
#define WITH_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define WITH_THREAD_SANITIZER 1
#else
#define WITH_THREAD_SANITIZER 0
#endif

/*
 * Skips the rest of the test that calls it, and says why. Only for the thread
 * and process that cmocka runs the test in.
 */
void skip_because(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* Ids as the kernel reads them (include/linux/posix-timers.h). */
clockid_t kernel_thread_clock(pid_t tid);
clockid_t kernel_process_clock(pid_t pid);

/* What clock_gettime(2) says, or -errno. */
int64_t kernel_ns(clockid_t clock);

/*
 * How far a source may be ahead of the kernel's clock: `fast` carries the time
 * of up to a window ago forward, interrupts and stolen time included; what
 * `taskclock` counts drifts from that clock. Of any name with its epoch.
 */
int64_t lead_ns(const char *source);

/* The step in which the kernel samples user and system time. */
int64_t tick_ns(void);

/*
 * Uses CPU time of the calling thread: in user mode, with a system call now
 * and then to look at the clock; or in the kernel, without a descriptor.
 */
void burn_user(int64_t ns);
void burn_kernel(int64_t ns);

/* Some microseconds of user mode, without a system call. */
void spin(void);

void sleep_ns(int64_t ns);

/* Does the kernel know of it still? tgid is 0 for a process. */
int is_alive(pid_t tgid, pid_t id);

/* Waits until the kernel has let go of the id; 0, or -ETIMEDOUT. */
int wait_until_gone(pid_t tgid, pid_t id);

/* Ends a child, without a word from a sanitizer on what the parent still has */
void end_child(int status) __attribute__((noreturn));

#endif
