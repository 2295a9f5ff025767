/* SPDX-License-Identifier: MIT */
/*
 * The processor's constant-rate counter, one part for each architecture:
 *
 *   cpuclock__cycles          reads it; other instructions may pass
 *   cpuclock__cycles_ordered  reads it after all that stands before, and
 *                             before all that stands behind
 *
 * CPUCLOCK__HAVE_CYCLES is 0 where none is known: there both read
 * CLOCK_MONOTONIC, in ns, from the vDSO.
 */
#ifndef CPUCLOCK_CYCLES_H
#define CPUCLOCK_CYCLES_H

#include <stdint.h>

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

#include <time.h>

#define CPUCLOCK__HAVE_CYCLES 0

static inline uint64_t cpuclock__cycles(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t cpuclock__cycles_ordered(void)
{
	return cpuclock__cycles();
}

#endif

#endif
