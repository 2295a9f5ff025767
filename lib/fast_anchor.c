/* SPDX-License-Identifier: MIT */
/* Asking the kernel, and anchoring on its answer. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "cycles.h"
#include "fast.h"
#include "fast_thread.h"
#include "sys.h"

/* Between two counter reads further apart nobody knows when the clock was read:
 * that is no anchor. */
#define MAX_BRACKET_NS 10000

/* A thread without an epoch that has a cost looks at its habits so often... */
#define HABIT_READS 255

/* ... and takes the epoch if it reads this many times for each switch. */
#define READS_PER_SWITCH 16

static int64_t to_ns(uint64_t cycles)
{
	return (int64_t)((unsigned __int128)cycles * cpuclock__process->rate >>
			 CPUCLOCK__RATE_SHIFT);
}

void cpuclock__thread_forget_word(const struct cpuclock__thread *thread,
				  bool in_call)
{
	const struct cpuclock__epoch *epoch = cpuclock__epoch_chosen();
	int saved = errno;

	if (thread->word && epoch)
		epoch->forget(thread->word, in_call);
	errno = saved;
}

/* The first read of a thread in this process. */
static void enter_process(struct cpuclock__thread *thread)
{
	uint64_t generation = cpuclock__enter_process();

	if (thread->generation == generation)
		return;
	/* In a child of fork nothing is left of the parent's thread. */
	cpuclock__thread_forget_word(thread, false);
	/*
	 * Nothing of what calls nested in this one need: busy above all, which
	 * as part of a structure would be false for a moment.
	 */
	memset(thread, 0, offsetof(struct cpuclock__thread, busy));
	atomic_signal_fence(memory_order_seq_cst);
	thread->generation = generation;
}

static uint32_t switches_of(const struct rusage *usage)
{
	return (uint32_t)usage->ru_nvcsw + (uint32_t)usage->ru_nivcsw;
}

/*
 * Is a thread that has no epoch to get one? At once if that is free; else when
 * its reads show that it pays, looked at every so often.
 */
static bool deserves(struct cpuclock__thread *thread,
		     const struct cpuclock__epoch *epoch)
{
	struct rusage usage;
	uint32_t before = thread->switches;
	bool known = thread->knows_switches;

	if (!epoch->has_cost)
		return true;
	if (++thread->reads < HABIT_READS)
		return false;
	thread->reads = 0;
	if (cpuclock__getrusage(RUSAGE_THREAD, &usage))
		return false;
	thread->switches = switches_of(&usage);
	thread->knows_switches = true;
	return known &&
	       (thread->switches - before) * READS_PER_SWITCH < HABIT_READS;
}

static bool attach(struct cpuclock__thread *thread,
		   const struct cpuclock__epoch *epoch)
{
	if (thread->denied)
		return false;
	if (thread->word)
		return true;
	if (!deserves(thread, epoch))
		return false;
	/* The event would be the child's, the word its parent's for good. */
	if (epoch->has_cost && cpuclock__is_guest())
		return false;
	thread->word = epoch->attach();
	thread->denied = !thread->word;
	thread->cycles = 0;
	thread->knows_switches = false;
	return thread->word;
}

static int read_usage(struct cpuclock__reading *reading)
{
	reading->has_usage = true;
	return cpuclock__getrusage(RUSAGE_THREAD, &reading->usage);
}

static int read_plainly(bool want_usage, struct cpuclock__reading *reading)
{
	reading->has_usage = false;
	reading->total_ns = cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID);
	if (reading->total_ns < 0)
		return (int)reading->total_ns;
	return want_usage ? read_usage(reading) : 0;
}

static int read_with_cycles(bool want_usage, struct cpuclock__reading *reading)
{
	uint64_t before = cpuclock__cycles_ordered();
	uint64_t after;
	int err = read_plainly(false, reading);

	if (err)
		return err;
	after = cpuclock__cycles_ordered();
	reading->cycles = before + (after - before) / 2;
	reading->is_vague = to_ns(after - before) > MAX_BRACKET_NS;
	return want_usage ? read_usage(reading) : 0;
}

/*
 * Keeps the reading as the anchor, if the epoch held until after it. The switch
 * counts of an epoch that goes on must agree: so a kernel is found out that
 * does not end an epoch at a switch, though it passed the self-test.
 */
static bool set_anchor(struct cpuclock__thread *thread,
		       const struct cpuclock__reading *reading, uint64_t value,
		       bool goes_on)
{
	uint32_t switches = 0;

	atomic_signal_fence(memory_order_seq_cst);
	if (*thread->word != value || reading->is_vague)
		return false;
	if (reading->has_usage)
		switches = switches_of(&reading->usage);
	if (goes_on && reading->has_usage && thread->knows_switches &&
	    switches != thread->switches) {
		/* A child of vfork counts its own switches. */
		if (!cpuclock__is_guest())
			cpuclock__epoch_give_up();
		return false;
	}
	thread->value = value;
	thread->cycles = reading->cycles;
	thread->total_ns = reading->total_ns;
	thread->switches = switches;
	thread->knows_switches = reading->has_usage;
	thread->has_split = false;
	return true;
}

/*
 * Reads the kernel's clock, and anchors there unless the thread is switched out
 * time and again: then the answer is as good, and the next call tries anew.
 */
static int read_anchored(struct cpuclock__thread *thread,
			 const struct cpuclock__epoch *epoch, bool want_usage,
			 struct cpuclock__reading *reading)
{
	for (int tries = 0; tries < 2; tries++) {
		bool goes_on = thread->cycles && *thread->word == thread->value;
		uint64_t value = thread->value;
		int err;

		/* No old anchor may hold in an epoch that begins now. */
		if (!goes_on) {
			thread->cycles = 0;
			atomic_signal_fence(memory_order_seq_cst);
			value = epoch->arm(thread->word);
		}
		atomic_signal_fence(memory_order_seq_cst);
		err = read_with_cycles(want_usage || goes_on, reading);
		if (err)
			return err;
		/* A signal handler can have forked: the word is gone then. */
		if (!cpuclock__is_generation(thread->generation))
			return 0;
		/* Not this thread's clock: no anchor of its. */
		if (reading->total_ns < thread->total_ns)
			break;
		if (set_anchor(thread, reading, value, goes_on))
			return 0;
		thread->cycles = 0;
	}
	if (want_usage && !reading->has_usage)
		return read_usage(reading);
	return 0;
}

static void set_rate(uint64_t rate)
{
	if (rate == cpuclock__process->rate && cpuclock__process->limit)
		return;
	cpuclock__process->rate = rate;
	cpuclock__process->limit =
		((uint64_t)CPUCLOCK__WINDOW_NS << CPUCLOCK__RATE_SHIFT) / rate;
}

static int read_once(struct cpuclock__thread *thread, bool want_usage,
		     struct cpuclock__reading *reading)
{
	int saved = errno;
	/* One look: another thread can find it lying at any time. */
	const struct cpuclock__epoch *epoch = cpuclock__epoch_choose();
	uint64_t rate = epoch ? cpuclock__cycles_rate() : 0;
	bool attached = rate && attach(thread, epoch);

	errno = saved;
	if (!attached)
		return read_plainly(want_usage, reading);
	set_rate(rate);
	return read_anchored(thread, epoch, want_usage, reading);
}

/* Once more if a signal handler has forked in between, and this is the child.
 */
int cpuclock__thread_ask(struct cpuclock__thread *thread, bool want_usage,
			 struct cpuclock__reading *reading)
{
	int err;

	if (!cpuclock__have_forkguard()) {
		/* No answer is ahead of the kernel's: none is a bound. */
		thread->last_total_ns = 0;
		return read_plainly(want_usage, reading);
	}
	do {
		enter_process(thread);
		err = read_once(thread, want_usage, reading);
	} while (!err && !cpuclock__is_generation(thread->generation));
	return err;
}
