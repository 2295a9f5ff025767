/* SPDX-License-Identifier: MIT */
/*
 * The processor's constant-rate counter, one part for each architecture:
 *
 *   cpuclock__cycles          reads it; other instructions may pass
 *   cpuclock__cycles_ordered  reads it after all that stands before, and
 *                             before all that stands behind
 *
 * CPUCLOCK__HAVE_CYCLES is 0 where none is known: there both read
 * CLOCK_MONOTONIC_RAW, in ns, from the vDSO.
 */
#ifndef CPUCLOCK_CYCLES_H
#define CPUCLOCK_CYCLES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)

#define CPUCLOCK__HAVE_CYCLES 1

static inline uint64_t cpuclock__cycles(void)
{
	return __builtin_ia32_rdtsc();
}

/* LFENCE waits for the instructions before it on Intel and, as Linux sets it
 * up, on AMD (arch/x86/kernel/cpu/amd.c). */
static inline uint64_t cpuclock__cycles_ordered(void)
{
	uint64_t cycles;

	__builtin_ia32_lfence();
	cycles = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return cycles;
}

#elif defined(__aarch64__)

#define CPUCLOCK__HAVE_CYCLES 1

static inline uint64_t cpuclock__cycles(void)
{
	uint64_t cycles;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(cycles));
	return cycles;
}

static inline uint64_t cpuclock__cycles_ordered(void)
{
	uint64_t cycles;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb"
			 : "=r"(cycles)
			 :
			 : "memory");
	return cycles;
}

#else

#define CPUCLOCK__HAVE_CYCLES 0

static inline uint64_t cpuclock__cycles(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t cpuclock__cycles_ordered(void)
{
	return cpuclock__cycles();
}

#endif

/* May the counter be read, and does the processor state a constant rate? */
bool cpuclock__cycles_usable(void);

/*
 * Nanoseconds per step of the counter, times 2^32; 0 while that is not known to
 * 1e-4: until about 1 ms after the process started, and again after the rate
 * was seen to change. MT-Safe, AS-Safe. No system call where
 * CLOCK_MONOTONIC_RAW is in the vDSO.
 */
uint64_t cpuclock__cycles_rate(void);

#define CPUCLOCK__RATE_SHIFT 32

#endif
