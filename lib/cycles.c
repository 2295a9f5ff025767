/* SPDX-License-Identifier: MIT */
/*
 * The rate of the cycle counter, measured against CLOCK_MONOTONIC_RAW without
 * waiting: between the moment that the library was loaded and the first use,
 * and from then on once a second, as a virtual machine can move to another
 * host.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "constructor.h"
#include "cycles.h"
#include "forkguard.h"

#define NSEC_PER_SEC 1000000000

/* Two rates that differ by more than 1 / 4096 are not one rate. */
#define TOLERANCE_SHIFT 12

/* After so many changes of rate the counter is given up. */
#define MAX_CHANGES 16

/* Both clocks at one instant, to within width_ns. */
struct pair {
	uint64_t ns;
	uint64_t cycles;
	uint64_t width_ns;
};

static struct pair start;
static _Atomic uint64_t rate;
static _Atomic uint64_t next_check; /* of the counter */
static atomic_int changes;

#ifdef __x86_64__

#define CPUID_POWER	    0x80000007
#define CPUID_INVARIANT_TSC (1U << 8)

bool cpuclock__cycles_usable(void)
{
	unsigned int eax, ebx, ecx, edx;
	int mode = PR_TSC_ENABLE;

	/* A process can have made reading it a fault: prctl(2). */
	if (prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode != PR_TSC_ENABLE)
		return false;
	return __get_cpuid(CPUID_POWER, &eax, &ebx, &ecx, &edx) &&
	       edx & CPUID_INVARIANT_TSC;
}

#else

bool cpuclock__cycles_usable(void)
{
	return true;
}

#endif

static uint64_t raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* The best of some tries: an interruption shows as a wide pair. */
static struct pair read_pair(void)
{
	struct pair best = {.width_ns = UINT64_MAX};

	for (int i = 0; i < 5; i++) {
		uint64_t before = raw_ns();
		uint64_t cycles = cpuclock__cycles_ordered();
		uint64_t width = raw_ns() - before;

		if (width < best.width_ns)
			best = (struct pair){before + width / 2, cycles, width};
	}
	return best;
}

/* Set for good; start itself is for who measures. */
static atomic_bool has_start;

CPUCLOCK__CONSTRUCTOR static void take_start(void)
{
	if (!cpuclock__cycles_usable())
		return;
	start = read_pair();
	has_start = true;
}

/* 0 if the pairs are too close for their width: an error above 1e-4. */
static uint64_t rate_between(const struct pair *from, const struct pair *to)
{
	uint64_t ns = to->ns - from->ns;
	uint64_t cycles = to->cycles - from->cycles;

	if (ns < 5000 * (from->width_ns + to->width_ns) || cycles == 0)
		return 0;
	return (uint64_t)(((unsigned __int128)ns << CPUCLOCK__RATE_SHIFT) /
			  cycles);
}

static bool differ(uint64_t a, uint64_t b)
{
	uint64_t distance = a > b ? a - b : b - a;

	return distance > a >> TOLERANCE_SHIFT;
}

static void measure(void)
{
	struct pair now = read_pair();
	uint64_t old = atomic_load_explicit(&rate, memory_order_relaxed);
	uint64_t new = rate_between(&start, &now);

	if (new == 0)
		return;
	if (old && differ(old, new)) {
		/* Whatever it was, a move to another host or a suspend, is
		 * over: the next measurement starts now. */
		atomic_fetch_add(&changes, 1);
		start = now;
		new = 0;
	}
	atomic_store_explicit(&rate, new, memory_order_relaxed);
	/* A second of the counter; at once while the rate is not known. */
	atomic_store_explicit(&next_check,
			      new ? now.cycles +
					      (((uint64_t)NSEC_PER_SEC
						<< (CPUCLOCK__RATE_SHIFT - 8)) /
					       (new >> 8))
				  : 0,
			      memory_order_relaxed);
	/* Old pairs would hide a change: measure the last seconds only. */
	if (new &&now.ns - start.ns > UINT64_C(4) * NSEC_PER_SEC)
		start = now;
}

uint64_t cpuclock__cycles_rate(void)
{
	struct cpuclock__process *process = cpuclock__process;
	uint64_t check =
		atomic_load_explicit(&next_check, memory_order_relaxed);

	if (!atomic_load_explicit(&has_start, memory_order_relaxed) ||
	    atomic_load_explicit(&changes, memory_order_relaxed) > MAX_CHANGES)
		return 0;
	/* Where a child of fork finds it clear, whatever its parent's threads
	 * were doing. */
	if (cpuclock__cycles() >= check &&
	    !atomic_flag_test_and_set_explicit(&process->measuring,
					       memory_order_acquire)) {
		measure();
		atomic_flag_clear_explicit(&process->measuring,
					   memory_order_release);
	}
	return atomic_load_explicit(&rate, memory_order_relaxed);
}
