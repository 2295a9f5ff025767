/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>

#include "constructor.h"
#include "cycles.h"
#include "fast.h"
#include "fast_thread.h"
#include "sys.h"

/* What is carried forward of user time, as a part of this. */
#define SHARE_SHIFT 31
#define SHARE_ONE   (INT64_C(1) << SHARE_SHIFT)

/* User time's share is not told from less than this. */
#define MIN_SHARE_NS 50000

static __thread struct cpuclock__thread self __attribute__((
	tls_model("initial-exec"))) = {.generation = CPUCLOCK__NO_GENERATION};

/* In a child of fork. */
static void forget_word_after_fork(void)
{
	if (cpuclock__have_forkguard() &&
	    !cpuclock__is_generation(self.generation))
		cpuclock__thread_forget_word(&self, self.busy);
}

CPUCLOCK__CONSTRUCTOR static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, forget_word_after_fork);
}

bool cpuclock__epoch_leave(void)
{
	struct cpuclock__thread *thread = &self;
	bool here = thread->word && cpuclock__is_generation(thread->generation);

	/* In this order: a signal handler may read in between. */
	thread->denied = true;
	atomic_signal_fence(memory_order_seq_cst);
	thread->cycles = 0;
	atomic_signal_fence(memory_order_seq_cst);
	thread->word = NULL;
	return here;
}

/*
 * A child of vfork(2) runs on this thread's memory. Its clock is behind: the
 * kernel's answer for one thread never falls. It gets that answer, and leaves
 * no trace.
 */
static bool is_of_other(struct cpuclock__thread *thread,
			const struct cpuclock__reading *reading)
{
	if (reading->total_ns < thread->total_ns)
		return true;
	thread->total_ns = reading->total_ns;
	return false;
}

static int64_t slow_total(struct cpuclock__thread *thread)
{
	struct cpuclock__reading reading = {0};
	int err = cpuclock__thread_ask(thread, false, &reading);

	if (err)
		return err;
	if (is_of_other(thread, &reading))
		return reading.total_ns;
	thread->last_total_ns =
		cpuclock__max(reading.total_ns,
			      cpuclock__max(thread->last_total_ns,
					    cpuclock__nested_bound(thread)));
	return thread->last_total_ns;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/*
 * User time's share until the next split: the kernel's since the last one, and
 * so much more or less that what is carried meets the kernel's after a window.
 * Too little time tells nothing of the share.
 */
static void update_share(struct cpuclock__thread *thread,
			 int64_t kernel_user_ns,
			 const struct cpuclock_times *times)
{
	int64_t total_ns = times->total_ns - thread->split_total_ns;
	int64_t user_ns =
		kernel_user_ns - (thread->user_ns - thread->user_ahead_ns);
	int64_t ahead_ns = times->user_ns - kernel_user_ns;

	if (total_ns >= MIN_SHARE_NS)
		thread->kernel_share =
			(uint32_t)((unsigned __int128)clamp(user_ns, 0,
							    total_ns) *
				   SHARE_ONE / (uint64_t)total_ns);
	thread->user_ahead_ns = (int32_t)clamp(ahead_ns, -CPUCLOCK__WINDOW_NS,
					       CPUCLOCK__WINDOW_NS);
	thread->user_share = (uint32_t)clamp(
		thread->kernel_share -
			thread->user_ahead_ns * SHARE_ONE / CPUCLOCK__WINDOW_NS,
		0, SHARE_ONE);
}

static int slow_self(struct cpuclock__thread *thread,
		     struct cpuclock_times *ret_times)
{
	struct cpuclock__reading reading = {0};
	struct cpuclock_times times;
	int64_t kernel_user_ns;
	uint64_t nested = 0;
	int err = cpuclock__thread_ask(thread, true, &reading);

	if (err)
		return err;
	if (is_of_other(thread, &reading)) {
		*ret_times = cpuclock__split(reading.total_ns, &reading.usage);
		return 0;
	}
	/* Before the total that goes with it, lest a newer one be lost. */
	if (cpuclock__nested_bound(thread))
		nested = __atomic_load_n(&thread->nested_split,
					 __ATOMIC_RELAXED);
	atomic_signal_fence(memory_order_seq_cst);
	times = cpuclock__split(
		cpuclock__max(reading.total_ns,
			      cpuclock__max(thread->last_total_ns,
					    cpuclock__nested_bound(thread))),
		&reading.usage);
	kernel_user_ns = times.user_ns;
	cpuclock__keep_last_split(thread, &times);
	if (cpuclock__nested_split_is_fresh(thread, times.total_ns))
		cpuclock__split_keep(&times, nested, kernel_user_ns,
				     times.total_ns - kernel_user_ns);
	/* Served; unless there is a newer one, which is for the next call. */
	__atomic_compare_exchange_n(&thread->nested_split, &nested, 0, 0,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);

	update_share(thread, kernel_user_ns, &times);
	/* A nested call would misread the old bound against a far newer split.
	 */
	if (times.total_ns - thread->split_total_ns > CPUCLOCK__NSEC_PER_SEC)
		thread->last_split = 0;
	atomic_signal_fence(memory_order_seq_cst);
	thread->split_total_ns = times.total_ns;
	thread->user_ns = times.user_ns;
	thread->has_split = thread->cycles != 0;
	thread->last_total_ns = times.total_ns;
	atomic_signal_fence(memory_order_seq_cst);
	thread->last_split = cpuclock__split_bound(&times);
	*ret_times = times;
	return 0;
}

/*
 * The total carried forward, or negative if it may not be. The epoch is looked
 * at last: had the thread left its CPU between the anchor and the read of the
 * counter, the word would have changed by then.
 */
static inline int64_t carry_total(const struct cpuclock__thread *thread)
{
	int64_t total_ns;
	uint64_t cycles;

	if (!cpuclock__is_generation(thread->generation))
		return -1;
	cycles = cpuclock__cycles() - thread->cycles;
	/* In the window the product has less than 64 bits. */
	if (cycles > atomic_load_explicit(&cpuclock__process->limit,
					  memory_order_relaxed))
		return -1;
	total_ns = thread->total_ns +
		   (int64_t)(cycles * atomic_load_explicit(
					      &cpuclock__process->rate,
					      memory_order_relaxed) >>
			     CPUCLOCK__RATE_SHIFT);
	total_ns = cpuclock__max(total_ns, thread->last_total_ns);

	atomic_signal_fence(memory_order_seq_cst);
	return *thread->word == thread->value ? total_ns : -1;
}

static inline void begin(struct cpuclock__thread *thread)
{
	/* What was read before, such as nested, was read before. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void end(struct cpuclock__thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = false;
	atomic_signal_fence(memory_order_seq_cst);
}

/*
 * After nested calls. Their split is served at once: its bound, of which there
 * are but low halves, would not be understood later.
 */
static int64_t serve_nested(struct cpuclock__thread *thread)
{
	struct cpuclock_times times;
	int err;

	if (thread->nested_split == 0)
		return slow_total(thread);
	err = slow_self(thread, &times);
	return err ? err : times.total_ns;
}

int64_t cpuclock__fast_total(void)
{
	struct cpuclock__thread *thread = &self;
	uint32_t nested = thread->nested;
	int64_t total_ns;

	if (thread->busy)
		return cpuclock__nested_total(thread);
	begin(thread);
	total_ns = carry_total(thread);
	if (total_ns >= 0)
		thread->last_total_ns = total_ns;
	else
		total_ns = slow_total(thread);
	end(thread);

	/* What a nested call answered, the next one may not fall below. */
	while (__builtin_expect(thread->nested != nested, 0)) {
		nested = thread->nested;
		begin(thread);
		total_ns = serve_nested(thread);
		end(thread);
	}
	return total_ns;
}

static inline bool carry_self(struct cpuclock__thread *thread,
			      struct cpuclock_times *ret_times)
{
	int64_t total_ns = thread->has_split ? carry_total(thread) : -1;
	int64_t since_ns = total_ns - thread->split_total_ns;

	if (total_ns < 0)
		return false;
	ret_times->total_ns = total_ns;
	ret_times->user_ns = thread->user_ns +
			     (since_ns * thread->user_share >> SHARE_SHIFT);
	ret_times->system_ns = total_ns - ret_times->user_ns;
	thread->last_total_ns = total_ns;
	thread->last_split = cpuclock__split_bound(ret_times);
	return true;
}

int cpuclock__fast_self(struct cpuclock_times *ret_times)
{
	struct cpuclock__thread *thread = &self;
	uint32_t nested = thread->nested;
	int err = 0;

	if (thread->busy)
		return cpuclock__nested_self(thread, ret_times);
	begin(thread);
	if (!carry_self(thread, ret_times))
		err = slow_self(thread, ret_times);
	end(thread);

	while (__builtin_expect(thread->nested != nested, 0)) {
		nested = thread->nested;
		begin(thread);
		err = slow_self(thread, ret_times);
		end(thread);
	}
	return err;
}

uint64_t cpuclock__fast_anchor(void)
{
	return cpuclock__is_generation(self.generation) ? self.cycles : 0;
}
