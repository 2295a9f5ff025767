/* SPDX-License-Identifier: MIT */
/*
 * What POSIX, clock_gettime(2) and getrusage(2) let a program expect, as tests
 * that know nothing of cpuclock. They pass without the shim, and must pass with
 * it.
 */
#ifndef CPUCLOCK_TESTS_EXPECT_H
#define CPUCLOCK_TESTS_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

/* How far the shim's clock may be ahead of the kernel's, and behind it. */
#define AHEAD_NS  (1 * NS_PER_MS + 20000)
#define BEHIND_NS 20000

/* A clock id as the kernel reads it: 0 PROF, 1 VIRT, 2 SCHED; 4 of a thread. */
#define CLOCK_ID(id, low) ((clockid_t)(~(uint32_t)(id) << 3 | (low)))

/* What the kernel says, by a system call of its own, or -errno. */
int64_t kernel_ns(clockid_t clockid);
long kernel_usage(int who, struct rusage *ret_usage);

/* What libc's name says, or -errno. */
int64_t libc_ns(clockid_t clockid);

int64_t timeval_ns(const struct timeval *tv);

/* The calling thread's own clock ids. */
#define N_OWN 4
void own_clocks(clockid_t *ret_clocks);

/* Is it told the truth, many times over, and never less than before? For
 * children and threads: 0, or a number that says what is wrong. */
int check_own_time(void);

/* Uses this much CPU time. */
void burn(int64_t ns);
void sleep_ns(int64_t ns);

/* The exit status of a child is to be 0. */
void assert_child(pid_t pid);

/* Pointers that the kernel answers EFAULT to. */
#define N_BAD 6
void bad_pointers(void **ret_pointers);

#endif
