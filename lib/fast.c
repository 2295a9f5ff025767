/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "constructor.h"
#include "cycles.h"
#include "fast.h"
#include "forkguard.h"
#include "split.h"
#include "sys.h"

/* What is carried forward of user time, as a part of this. */
#define SHARE_SHIFT 31
#define SHARE_ONE   (INT64_C(1) << SHARE_SHIFT)

/* User time's share is not told from less than this. */
#define MIN_SHARE_NS 50000

/* Between two counter reads further apart nobody knows when the clock was read:
 * that is no anchor. */
#define MAX_BRACKET_NS 10000

/* Ages are counted in about milliseconds; the most is 1 s. */
#define AGE_SHIFT 20
#define MAX_AGE	  1024

/* A thread without an epoch that has a cost looks at its habits so often... */
#define HABIT_READS 255

/* ... and takes the epoch if it reads this many times for each switch. */
#define READS_PER_SWITCH 16

/*
 * The state of a thread. Only the thread itself and its signal handlers touch
 * it: each field is written whole, and compiler barriers keep the order.
 */
struct thread {
	/* The anchor; it holds in the process of this generation only. */
	uint64_t generation;
	cpuclock__epoch_word *word; /* NULL if the thread has no epoch */
	uint64_t value;
	uint64_t cycles;  /* 0 if there is none */
	int64_t total_ns; /* the kernel's last answer, also without anchor */

	/* The highest answers so far in the process of that generation. */
	int64_t last_total_ns;
	uint64_t last_split;

	/* The split when the total was split_total_ns. */
	int64_t split_total_ns;
	int64_t user_ns;
	int32_t user_ahead_ns; /* of the kernel's user time */
	uint32_t user_share;   /* by which it is carried, of SHARE_ONE */
	uint32_t kernel_share; /* as the kernel last told it */
	bool has_split;	       /* taken with the anchor */

	bool denied;	     /* tried to have an epoch, in vain */
	bool knows_switches; /* the next field is as of the anchor */
	uint8_t reads;	     /* without an epoch, since the last look */
	uint32_t switches;

	/* From here on: what entering a process leaves alone. */
	bool busy;		   /* within a call */
	uint32_t nested;	   /* calls that came while busy */
	uint32_t nested_split_age; /* the total at that time, in 2^20 ns */

	/* The highest answers of those calls in the process of this one. */
	uint64_t nested_generation;
	int64_t nested_total_ns;
	uint64_t nested_split;
};

_Static_assert(sizeof(struct thread) <= 128, "at most two cache lines");

static __thread struct thread self __attribute__((
	tls_model("initial-exec"))) = {.generation = CPUCLOCK__NO_GENERATION};

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t to_ns(uint64_t cycles)
{
	return (int64_t)((unsigned __int128)cycles * cpuclock__process->rate >>
			 CPUCLOCK__RATE_SHIFT);
}

/* In a child of fork. */
static void forget_word(const struct thread *thread, bool in_call)
{
	const struct cpuclock__epoch *epoch = cpuclock__epoch_chosen();
	int saved = errno;

	if (thread->word && epoch)
		epoch->forget(thread->word, in_call);
	errno = saved;
}

static void forget_word_after_fork(void)
{
	if (cpuclock__have_forkguard() &&
	    !cpuclock__is_generation(self.generation))
		forget_word(&self, self.busy);
}

CPUCLOCK__CONSTRUCTOR static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, forget_word_after_fork);
}

bool cpuclock__epoch_leave(void)
{
	struct thread *thread = &self;
	bool here = thread->word && cpuclock__is_generation(thread->generation);

	/* In this order: a signal handler may read in between. */
	thread->denied = true;
	atomic_signal_fence(memory_order_seq_cst);
	thread->cycles = 0;
	atomic_signal_fence(memory_order_seq_cst);
	thread->word = NULL;
	return here;
}

/* The first read of a thread in this process. */
static void enter_process(struct thread *thread)
{
	uint64_t generation = cpuclock__enter_process();

	if (thread->generation == generation)
		return;
	/* In a child of fork nothing is left of the parent's thread. */
	forget_word(thread, false);
	/*
	 * Nothing of what calls nested in this one need: busy above all, which
	 * as part of a structure would be false for a moment.
	 */
	memset(thread, 0, offsetof(struct thread, busy));
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
static bool deserves(struct thread *thread, const struct cpuclock__epoch *epoch)
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

static bool attach(struct thread *thread, const struct cpuclock__epoch *epoch)
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

/* The kernel's answer. */
struct reading {
	int64_t total_ns;
	uint64_t cycles; /* when it was given; for anchors only */
	bool is_vague;	 /* that is known badly */
	bool has_usage;
	struct rusage usage;
};

static int read_usage(struct reading *reading)
{
	reading->has_usage = true;
	return cpuclock__getrusage(RUSAGE_THREAD, &reading->usage);
}

static int read_plainly(bool want_usage, struct reading *reading)
{
	reading->has_usage = false;
	reading->total_ns = cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID);
	if (reading->total_ns < 0)
		return (int)reading->total_ns;
	return want_usage ? read_usage(reading) : 0;
}

static int read_with_cycles(bool want_usage, struct reading *reading)
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
static bool set_anchor(struct thread *thread, const struct reading *reading,
		       uint64_t value, bool goes_on)
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
static int read_anchored(struct thread *thread,
			 const struct cpuclock__epoch *epoch, bool want_usage,
			 struct reading *reading)
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

static int read_once(struct thread *thread, bool want_usage,
		     struct reading *reading)
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

/*
 * The slow way to any answer: asks the kernel, and prepares the fast one. Once
 * more if a signal handler has forked in between, and this is the child.
 */
static int read_slowly(struct thread *thread, bool want_usage,
		       struct reading *reading)
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

/* What calls nested in this one, or in those before, have answered. */
static int64_t nested_bound(const struct thread *thread)
{
	return thread->nested_generation == thread->generation
		       ? thread->nested_total_ns
		       : 0;
}

/*
 * Of the split that a nested call left there are but low halves, which say
 * nothing after 2 s. It is served before that, unless a handler jumped out of a
 * call.
 */
static bool nested_split_is_fresh(const struct thread *thread, int64_t total_ns)
{
	uint32_t now = (uint32_t)(total_ns >> AGE_SHIFT);

	return now - thread->nested_split_age <= MAX_AGE;
}

/*
 * A child of vfork(2) runs on this thread's memory. Its clock is behind: the
 * kernel's answer for one thread never falls. It gets that answer, and leaves
 * no trace.
 */
static bool is_of_other(struct thread *thread, const struct reading *reading)
{
	if (reading->total_ns < thread->total_ns)
		return true;
	thread->total_ns = reading->total_ns;
	return false;
}

static int64_t slow_total(struct thread *thread)
{
	struct reading reading = {0};
	int err = read_slowly(thread, false, &reading);

	if (err)
		return err;
	if (is_of_other(thread, &reading))
		return reading.total_ns;
	thread->last_total_ns =
		max(reading.total_ns,
		    max(thread->last_total_ns, nested_bound(thread)));
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
static void update_share(struct thread *thread, int64_t kernel_user_ns,
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

/* The last answer was carried forward, for a window at most, from this. */
static void keep_last_split(const struct thread *thread,
			    struct cpuclock_times *times)
{
	cpuclock__split_keep(times, thread->last_split, thread->user_ns,
			     thread->split_total_ns - thread->user_ns);
}

static int slow_self(struct thread *thread, struct cpuclock_times *ret_times)
{
	struct reading reading = {0};
	struct cpuclock_times times;
	int64_t kernel_user_ns;
	uint64_t nested = 0;
	int err = read_slowly(thread, true, &reading);

	if (err)
		return err;
	if (is_of_other(thread, &reading)) {
		*ret_times = cpuclock__split(reading.total_ns, &reading.usage);
		return 0;
	}
	/* Before the total that goes with it, lest a newer one be lost. */
	if (nested_bound(thread))
		nested = __atomic_load_n(&thread->nested_split,
					 __ATOMIC_RELAXED);
	atomic_signal_fence(memory_order_seq_cst);
	times = cpuclock__split(
		max(reading.total_ns,
		    max(thread->last_total_ns, nested_bound(thread))),
		&reading.usage);
	kernel_user_ns = times.user_ns;
	keep_last_split(thread, &times);
	if (nested_split_is_fresh(thread, times.total_ns))
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
 * In a child of fork what a nested call finds is its parent's, and the call
 * that it came in may yet write more of that: so nothing of the latter is used,
 * and what nested calls have answered themselves begins anew.
 */
static bool enter_nested(struct thread *thread)
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
			forget_word(thread, true);
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
static int64_t nested_total(struct thread *thread)
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
		total_ns = max(total_ns, thread->last_total_ns);
	do {
		total_ns = max(total_ns, nested_ns);
	} while (bounded &&
		 !__atomic_compare_exchange_n(
			 &thread->nested_total_ns, &nested_ns, total_ns, 0,
			 __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	thread->nested++;
	return total_ns;
}

static int nested_self(struct thread *thread, struct cpuclock_times *ret_times)
{
	struct cpuclock_times times;
	struct rusage usage;
	uint64_t bound;

	enter_nested(thread);
	bound = __atomic_load_n(&thread->nested_split, __ATOMIC_RELAXED);
	do {
		int64_t total_ns = nested_total(thread);
		int err;

		if (total_ns < 0)
			return (int)total_ns;
		err = cpuclock__getrusage(RUSAGE_THREAD, &usage);
		if (err)
			return err;
		times = cpuclock__split(total_ns, &usage);
		if (cpuclock__is_generation(thread->generation))
			keep_last_split(thread, &times);
		if (nested_split_is_fresh(thread, total_ns))
			cpuclock__split_keep(&times, bound, times.user_ns,
					     times.system_ns);
		thread->nested_split_age = (uint32_t)(total_ns >> AGE_SHIFT);
	} while (!__atomic_compare_exchange_n(
		&thread->nested_split, &bound, cpuclock__split_bound(&times), 0,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	thread->nested++;
	*ret_times = times;
	return 0;
}

/*
 * The total carried forward, or negative if it may not be. The epoch is looked
 * at last: had the thread left its CPU between the anchor and the read of the
 * counter, the word would have changed by then.
 */
static inline int64_t carry_total(const struct thread *thread)
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
	total_ns = max(total_ns, thread->last_total_ns);

	atomic_signal_fence(memory_order_seq_cst);
	return *thread->word == thread->value ? total_ns : -1;
}

static inline void begin(struct thread *thread)
{
	/* What was read before, such as nested, was read before. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void end(struct thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = false;
	atomic_signal_fence(memory_order_seq_cst);
}

/*
 * After nested calls. Their split is served at once: its bound, of which there
 * are but low halves, would not be understood later.
 */
static int64_t serve_nested(struct thread *thread)
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
	struct thread *thread = &self;
	uint32_t nested = thread->nested;
	int64_t total_ns;

	if (thread->busy)
		return nested_total(thread);
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

static inline bool carry_self(struct thread *thread,
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
	struct thread *thread = &self;
	uint32_t nested = thread->nested;
	int err = 0;

	if (thread->busy)
		return nested_self(thread, ret_times);
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
