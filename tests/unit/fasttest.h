/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the fast source share: each test runs once for each epoch,
 * on a thread that is shown to be answered without a system call.
 */
#ifndef FASTTEST_H
#define FASTTEST_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpuclock.h"
#include "epoch.h"
#include "fast.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The noise of two clocks read one after the other on a busy machine. */
#define NOISE_NS INT64_C(50000)

#define WINDOW_NS ((int64_t)CPUCLOCK__WINDOW_NS)

static inline const char *epoch_name(void)
{
	const struct cpuclock__epoch *epoch = cpuclock__epoch_chosen();

	return epoch ? epoch->name : NULL;
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

/* Two entries of a table of tests: one for each epoch. */
#define FOR_EACH_EPOCH(test)                                     \
	{#test "_with_rseq", test, use_epoch, NULL,              \
	 (void *)(uintptr_t)&cpuclock__epoch_rseq},              \
	{                                                        \
#test "_with_perf", test, use_epoch, NULL,       \
			(void *)(uintptr_t)&cpuclock__epoch_perf \
	}

#define SKIP(...)                      \
	do {                           \
		printf("# skipped: "); \
		printf(__VA_ARGS__);   \
		printf("\n");          \
		fflush(stdout);        \
		skip();                \
	} while (0)

static inline int use_epoch(void **state)
{
	cpuclock__epoch_use((const struct cpuclock__epoch *)*state);
	return 0;
}

/* Of the test that runs now; skips it where its epoch does not work. */
static inline const struct cpuclock__epoch *need_epoch(void **state)
{
	const struct cpuclock__epoch *epoch = *state;
	const char *name = epoch_name();

	if (!name || strcmp(name, epoch->name) != 0)
		SKIP("no %s here: %s", epoch->name,
		     cpuclock__epoch_verdict()->why);
	return epoch;
}

static inline int64_t kernel_ns(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static inline int64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static inline void sleep_us(long us)
{
	const struct timespec duration = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&duration, NULL);
}

static inline void spin_us(int64_t us)
{
	int64_t until = wall_ns() + us * 1000;

	while (wall_ns() < until)
		;
}

/* ---- Was that read answered without a system call? ------------------------
 */

static __thread volatile char dispatch_selector = SYSCALL_DISPATCH_FILTER_ALLOW;
static __thread volatile sig_atomic_t trapped_calls;

/* Lets the system call pass that syscall user dispatch has caught. */
static void on_system_call(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	dispatch_selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	trapped_calls++;
#ifdef __x86_64__
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] -= 2;
#else
	(void)context;
#endif
}

/* 1 yes, 0 no, -1 if this kernel has no way to tell (prctl(2), since 5.11). */
static inline int reads_without_call(void)
{
	struct sigaction action = {.sa_sigaction = on_system_call,
				   .sa_flags = SA_SIGINFO};

#ifndef __x86_64__
	return -1;
#endif
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0UL, 0UL,
		  &dispatch_selector) != 0)
		return -1;
	sigaction(SIGSYS, &action, NULL);
	trapped_calls = 0;
	dispatch_selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	cpuclock_total();
	dispatch_selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0UL, 0UL, 0UL);
	return trapped_calls == 0;
}

/*
 * Reads until the calling thread is on the fast path, which takes some hundred
 * reads with an epoch that has a cost. False: it never got there.
 */
static inline bool gets_fast(void)
{
	for (int i = 0; i < 1000; i++) {
		int fast;

		for (int j = 0; j < 100; j++)
			cpuclock_total();
		fast = reads_without_call();
		if (fast == 1 || (fast < 0 && i > 20))
			return true;
	}
	return false;
}

static inline void get_fast(void)
{
	if (!gets_fast())
		fail_msg("never answered without a system call");
}

/* ---- How far ahead of the kernel's clock -----------------------------------
 */

struct errors {
	int64_t worst_ns;  /* fast, less the kernel's clock read after it */
	int64_t behind_ns; /* the kernel's clock before, less fast */
	unsigned int count;
	unsigned int ahead;  /* times by more than the noise */
	unsigned int behind; /* likewise */
	unsigned int backward;
	int64_t last_ns;
	int64_t ahead_at_ns; /* on the wall clock */
};

/* Answers follow each other: what a hypervisor took shows in all of them until
 * the kernel has caught up. */
#define SAME_TIME_NS 20000

static inline bool is_ahead_anew(struct errors *errors)
{
	struct timespec now;
	int64_t before_ns = errors->ahead_at_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	errors->ahead_at_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	return errors->ahead_at_ns - before_ns > SAME_TIME_NS;
}

/* One read, in its bracket. */
static inline void take_error(struct errors *errors)
{
	int64_t before = kernel_ns();
	int64_t fast_ns = cpuclock_total();
	int64_t after = kernel_ns();

	errors->count++;
	if (fast_ns - after > errors->worst_ns)
		errors->worst_ns = fast_ns - after;
	if (before - fast_ns > errors->behind_ns)
		errors->behind_ns = before - fast_ns;
	errors->ahead += fast_ns - after > NOISE_NS && is_ahead_anew(errors);
	errors->behind += before - fast_ns > NOISE_NS;
	errors->backward += fast_ns < errors->last_ns;
	errors->last_ns = fast_ns;
}

static inline void report_errors(const char *what, const struct errors *errors)
{
	printf("# %s: %u reads, %u ahead by more than %d us, worst %lld ns "
	       "ahead, %lld ns behind\n",
	       what, errors->count, errors->ahead, (int)(NOISE_NS / 1000),
	       (long long)errors->worst_ns, (long long)errors->behind_ns);
	fflush(stdout);
}

/* Nothing but noise, which is rare; and no promise broken. */
static inline bool errors_are_noise(const struct errors *errors,
				    unsigned int events)
{
	return errors->backward == 0 &&
	       errors->worst_ns <= WINDOW_NS + NOISE_NS &&
	       errors->ahead <= 2 + events / 20 &&
	       errors->behind <= 2 + events / 20;
}

#endif
