/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "fast_thread.h"
#include "sys.h"

/*
 * In a child of fork what a nested call finds is its parent's, and the call
 * that it came in may yet write more of that: so nothing of the latter is used,
 * and what nested calls have answered themselves begins anew.
 */
static bool enter_nested(struct cpuclock__thread *thread)
{
	int64_t total_ns = thread->nested_total_ns;
	uint64_t split = thread->nested_split;
	uint64_t generation;

	if (!cpuclock__have_forkguard())
		return false;
	generation = cpuclock__enter_process();
	atomic_signal_fence(memory_order_seq_cst);
	if (thread->nested_generation != generation) {
		if (!cpuclock__is_generation(thread->generation))
			cpuclock__thread_forget_word(thread, true);
		/* Unless a call nested in this one has done it by now. */
		__atomic_compare_exchange_n(&thread->nested_total_ns, &total_ns,
					    0, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
		__atomic_compare_exchange_n(&thread->nested_split, &split, 0, 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		atomic_signal_fence(memory_order_seq_cst);
		thread->nested_generation = generation;
	}
	return true;
}

/*
 * Calls that a signal handler makes while its thread is within one. They ask
 * the kernel, leave the anchor alone, and are a bound from then on.
 */
int64_t cpuclock__nested_total(struct cpuclock__thread *thread)
{
	bool bounded = enter_nested(thread);
	int64_t total_ns = cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID);
	int64_t nested_ns =
		__atomic_load_n(&thread->nested_total_ns, __ATOMIC_RELAXED);

	if (total_ns < 0)
		return total_ns;
	if (!bounded)
		nested_ns = 0;
	else if (cpuclock__is_generation(thread->generation))
		total_ns = cpuclock__max(total_ns, thread->last_total_ns);
	do {
		total_ns = cpuclock__max(total_ns, nested_ns);
	} while (bounded &&
		 !__atomic_compare_exchange_n(
			 &thread->nested_total_ns, &nested_ns, total_ns, 0,
			 __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	thread->nested++;
	return total_ns;
}

int cpuclock__nested_self(struct cpuclock__thread *thread,
			  struct cpuclock_times *ret_times)
{
	struct cpuclock_times times;
	struct rusage usage;
	uint64_t bound;

	enter_nested(thread);
	bound = __atomic_load_n(&thread->nested_split, __ATOMIC_RELAXED);
	do {
		int64_t total_ns = cpuclock__nested_total(thread);
		int err;

		if (total_ns < 0)
			return (int)total_ns;
		err = cpuclock__getrusage(RUSAGE_THREAD, &usage);
		if (err)
			return err;
		times = cpuclock__split(total_ns, &usage);
		if (cpuclock__is_generation(thread->generation))
			cpuclock__keep_last_split(thread, &times);
		if (cpuclock__nested_split_is_fresh(thread, total_ns))
			cpuclock__split_keep(&times, bound, times.user_ns,
					     times.system_ns);
		thread->nested_split_age =
			(uint32_t)(total_ns >> CPUCLOCK__AGE_SHIFT);
	} while (!__atomic_compare_exchange_n(
		&thread->nested_split, &bound, cpuclock__split_bound(&times), 0,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	thread->nested++;
	*ret_times = times;
	return 0;
}
