/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cycles.h"
#include "fast.h"
#include "forkguard.h"
#include "split.h"
#include "sys.h"

/* What is carried forward of user time, as a part of this. */
#define SHARE_SHIFT 31
#define SHARE_ONE   (INT64_C(1) << SHARE_SHIFT)

/* No split lies further away from the kernel's than this. */
#define MAX_LEAD_NS INT64_C(4000000)

/* An anchor whose two counter reads are further apart is taken at the later. */
#define MAX_BRACKET_NS 10000

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
	uint64_t cycles;
	uint64_t rate;
	int64_t total_ns;

	/* The highest answers so far in the process of that generation. */
	int64_t last_total_ns;
	uint64_t last_split;

	/* The split when the total was split_total_ns. */
	int64_t split_total_ns;
	int64_t user_ns;
	int32_t lead_ns;     /* user_ns, less the kernel's at that time */
	uint32_t user_share; /* of SHARE_ONE */
	bool has_split;	     /* taken with the anchor */

	bool denied;	     /* tried to have an epoch, in vain */
	bool knows_switches; /* the next field is as of the anchor */
	uint8_t reads;	     /* without an epoch, since the last look */
	uint32_t switches;

	/* From here on: what entering a process leaves alone. */
	bool busy;	 /* within a call */
	uint32_t nested; /* calls that came while busy */

	/* The highest answers of those calls in the process of this one. */
	uint64_t nested_generation;
	int64_t nested_total_ns;
	uint64_t nested_split;
};

_Static_assert(sizeof(struct thread) <= 128, "at most two cache lines");

static __thread struct thread self __attribute__((
	tls_model("initial-exec"))) = {.generation = CPUCLOCK__NO_GENERATION};

/* In the order in which they are tried. */
static const struct cpuclock__epoch *const epochs[] = {&cpuclock__epoch_rseq,
						       &cpuclock__epoch_perf};

#define N_EPOCHS (sizeof(epochs) / sizeof(epochs[0]))

/* NULL until one is chosen, and again when it was caught lying. */
static const struct cpuclock__epoch *_Atomic chosen;
static atomic_bool decided;

static struct cpuclock__verdict verdict = {
	-EAGAIN, "the cycle counter's rate is not known yet"};

/* ---- Choosing an epoch ------------------------------------------------------
 */

static void decide(const struct cpuclock__epoch *epoch,
		   const struct cpuclock__verdict *found)
{
	verdict.why = found->why;
	verdict.status = found->status;
	chosen = found->status ? NULL : epoch;
	decided = true;
}

static const struct cpuclock__verdict *
test_epoch(const struct cpuclock__epoch *epoch)
{
	const struct cpuclock__verdict *found = epoch->probe();

	return found->status ? found : cpuclock__epoch_test(epoch);
}

/* "rseq: this; perf: that" */
static const char *join_reasons(const struct cpuclock__verdict *const *found)
{
	static char reasons[512];
	char *end = reasons;

	for (size_t i = 0; i < N_EPOCHS; i++) {
		end = stpcpy(end, i ? "; " : "");
		end = stpcpy(end, epochs[i]->name + sizeof("fast:") - 1);
		end = stpcpy(end, ": ");
		end = stpcpy(end, found[i]->why);
	}
	return reasons;
}

static void choose_first(void)
{
	const struct cpuclock__verdict *found[N_EPOCHS];
	struct cpuclock__verdict none = {-EOPNOTSUPP, NULL};

	for (size_t i = 0; i < N_EPOCHS; i++) {
		found[i] = test_epoch(epochs[i]);
		if (found[i]->status == 0) {
			decide(epochs[i], found[i]);
			return;
		}
	}
	none.why = join_reasons(found);
	decide(NULL, &none);
}

/* Not before the counter's rate is known, or never: then it is decided. */
static bool can_have_epoch(void)
{
	static const struct cpuclock__verdict
		no_page = {-ENOSYS, "the kernel has no MADV_WIPEONFORK"},
		no_counter = {-EOPNOTSUPP, "the cycle counter may not be read, "
					   "or has no constant rate"};

	if (!cpuclock__have_forkguard()) {
		/* Else a constructor reads before ours have run. */
		if (cpuclock__forkguard_is_missing())
			decide(NULL, &no_page);
		return false;
	}
	if (!cpuclock__cycles_usable()) {
		decide(NULL, &no_counter);
		return false;
	}
	return cpuclock__cycles_rate() != 0;
}

/* Chooses once. */
static void choose(void)
{
	int idle = 0;

	if (!can_have_epoch() ||
	    !atomic_compare_exchange_strong(&cpuclock__process->choosing, &idle,
					    1))
		return;
	if (!decided)
		choose_first();
	cpuclock__process->choosing = 0;
}

/* The epoch did not end though the thread was switched out: never again. */
static void give_up(void)
{
	static const struct cpuclock__verdict lied = {
		-EOPNOTSUPP,
		"turned off: the kernel did not show that a thread "
		"was switched out"};

	decide(NULL, &lied);
	cpuclock__process->limit = 0;
}

/* ---- Anchors
 * ------------------------------------------------------------------ */

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Enough for 1 s at any rate of a counter. */
static int64_t to_ns(const struct thread *thread, uint64_t cycles)
{
	return (int64_t)((unsigned __int128)cycles * thread->rate >>
			 CPUCLOCK__RATE_SHIFT);
}

/* In a child of fork. */
static void forget_word(const struct thread *thread, bool in_call)
{
	const struct cpuclock__epoch *epoch = chosen;
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

__attribute__((constructor)) static void watch_fork(void)
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

static int read_with_cycles(const struct thread *thread, bool want_usage,
			    struct reading *reading)
{
	uint64_t before = cpuclock__cycles_ordered();
	uint64_t after;
	int err = read_plainly(false, reading);

	if (err)
		return err;
	after = cpuclock__cycles_ordered();
	reading->cycles = before + (after - before) / 2;
	if (to_ns(thread, after - before) > MAX_BRACKET_NS)
		reading->cycles = after;
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
	if (*thread->word != value)
		return false;
	if (reading->has_usage)
		switches = switches_of(&reading->usage);
	if (goes_on && reading->has_usage && thread->knows_switches &&
	    switches != thread->switches) {
		/* A child of vfork counts its own switches. */
		if (!cpuclock__is_guest())
			give_up();
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
			 struct reading *reading, bool *ret_anchored)
{
	for (int tries = 0; tries < 2; tries++) {
		bool goes_on = thread->cycles && *thread->word == thread->value;
		uint64_t value =
			goes_on ? thread->value : epoch->arm(thread->word);
		int err;

		atomic_signal_fence(memory_order_seq_cst);
		err = read_with_cycles(thread, want_usage || goes_on, reading);
		if (err)
			return err;
		/* A signal handler can have forked: the word is gone then. */
		if (!cpuclock__is_generation(thread->generation))
			return 0;
		*ret_anchored = set_anchor(thread, reading, value, goes_on);
		if (*ret_anchored)
			return 0;
		thread->cycles = 0;
	}
	if (want_usage && !reading->has_usage)
		return read_usage(reading);
	return 0;
}

static int read_once(struct thread *thread, bool want_usage,
		     struct reading *reading, bool *ret_anchored)
{
	/* One look: another thread can find it lying at any time. */
	const struct cpuclock__epoch *epoch = chosen;
	uint64_t rate = epoch ? cpuclock__cycles_rate() : 0;
	bool attached;
	int saved = errno;

	*ret_anchored = false;
	attached = rate && attach(thread, epoch);
	errno = saved;
	if (!attached)
		return read_plainly(want_usage, reading);
	if (rate != thread->rate) {
		thread->rate = rate;
		cpuclock__process->limit = ((uint64_t)CPUCLOCK__WINDOW_NS
					    << CPUCLOCK__RATE_SHIFT) /
					   rate;
	}
	return read_anchored(thread, epoch, want_usage, reading, ret_anchored);
}

/*
 * The slow way to any answer: asks the kernel, and prepares the fast one. Once
 * more if a signal handler has forked in between, and this is the child.
 */
static int read_slowly(bool want_usage, struct reading *reading,
		       bool *ret_anchored)
{
	struct thread *thread = &self;
	int saved = errno;
	int err;

	if (!decided)
		choose();
	errno = saved;
	*ret_anchored = false;
	if (!cpuclock__have_forkguard()) {
		/* No answer is ahead of the kernel's: none is a bound. */
		thread->last_total_ns = 0;
		return read_plainly(want_usage, reading);
	}
	do {
		enter_process(thread);
		err = read_once(thread, want_usage, reading, ret_anchored);
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

static int64_t slow_total(struct thread *thread)
{
	struct reading reading = {0};
	bool anchored;
	int err = read_slowly(false, &reading, &anchored);

	if (err)
		return err;
	thread->last_total_ns =
		max(reading.total_ns,
		    max(thread->last_total_ns, nested_bound(thread)));
	return thread->last_total_ns;
}

/*
 * User time's share of what comes: that which the kernel saw since the last
 * split, less what the answers are already ahead of the kernel's. So they never
 * get further away than the window, and come back: the kernel itself can turn
 * from all user to all system for long. Were the share that of the answers, it
 * would lead away from the kernel's split, to where a bound no longer holds.
 */
static void update_share(struct thread *thread,
			 const struct cpuclock_times *kernels,
			 const struct cpuclock_times *times)
{
	int64_t total_ns = times->total_ns - thread->split_total_ns;
	int64_t user_ns =
		kernels->user_ns - (thread->user_ns - thread->lead_ns);
	int64_t lead_ns = times->user_ns - kernels->user_ns;
	int64_t share = thread->user_share;

	if (total_ns > 0) {
		user_ns = min(max(user_ns, 0), total_ns);
		share = (int64_t)((unsigned __int128)user_ns * SHARE_ONE /
				  (uint64_t)total_ns);
	}
	lead_ns = min(max(lead_ns, -MAX_LEAD_NS), MAX_LEAD_NS);
	share -= lead_ns * SHARE_ONE / CPUCLOCK__WINDOW_NS;
	thread->user_share = (uint32_t)min(max(share, 0), SHARE_ONE);
	thread->lead_ns = (int32_t)lead_ns;
}

static int slow_self(struct thread *thread, struct cpuclock_times *ret_times)
{
	struct reading reading = {0};
	struct cpuclock_times kernels, times;
	uint64_t nested = 0;
	bool anchored;
	int err = read_slowly(true, &reading, &anchored);

	if (err)
		return err;
	/* Before the total that goes with it, lest a newer one be lost. */
	if (nested_bound(thread))
		nested = __atomic_load_n(&thread->nested_split,
					 __ATOMIC_RELAXED);
	atomic_signal_fence(memory_order_seq_cst);
	kernels = cpuclock__split(
		max(reading.total_ns,
		    max(thread->last_total_ns, nested_bound(thread))),
		&reading.usage);
	times = kernels;
	cpuclock__split_keep(&times, thread->last_split,
			     thread->split_total_ns);
	cpuclock__split_keep(&times, nested, thread->nested_total_ns);
	/* Served; unless there is a newer one, which is for the next call. */
	__atomic_compare_exchange_n(&thread->nested_split, &nested, 0, 0,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);

	update_share(thread, &kernels, &times);
	thread->split_total_ns = times.total_ns;
	thread->user_ns = times.user_ns;
	thread->has_split = anchored;
	thread->last_total_ns = times.total_ns;
	thread->last_split = cpuclock__split_bound(&times);
	*ret_times = times;
	return 0;
}

/* ---- Calls that a signal handler makes while its thread is in one
 * ------------ */

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

/* They ask the kernel, leave the anchor alone, and are a bound from then on. */
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
			cpuclock__split_keep(&times, thread->last_split,
					     thread->split_total_ns);
		cpuclock__split_keep(&times, bound, thread->nested_total_ns);
	} while (!__atomic_compare_exchange_n(
		&thread->nested_split, &bound, cpuclock__split_bound(&times), 0,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	thread->nested++;
	*ret_times = times;
	return 0;
}

/* ---- The fast way
 * --------------------------------------------------------------- */

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
		   (int64_t)(cycles * thread->rate >> CPUCLOCK__RATE_SHIFT);
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
		total_ns = slow_total(thread);
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

/* ---- What is in use
 * ---------------------------------------------------------------- */

const char *cpuclock__fast_name(void)
{
	const struct cpuclock__epoch *epoch = chosen;

	return epoch ? epoch->name : NULL;
}

const struct cpuclock__verdict *cpuclock__fast_probe(void)
{
	const struct timespec moment = {0, 200000};

	for (int tries = 0; tries < 200 && !decided; tries++) {
		choose();
		if (!decided)
			cpuclock__syscall(SYS_nanosleep, (long)&moment, 0, 0);
	}
	return &verdict;
}

const struct cpuclock__verdict *
cpuclock__fast_use(const struct cpuclock__epoch *epoch)
{
	const struct timespec moment = {0, 200000};

	cpuclock__process->limit = 0;
	cpuclock__process->generation = 0;
	decided = false;
	chosen = NULL;
	for (int tries = 0; epoch && !decided && tries < 200; tries++) {
		if (can_have_epoch())
			decide(epoch, test_epoch(epoch));
		else if (!decided)
			cpuclock__syscall(SYS_nanosleep, (long)&moment, 0, 0);
	}
	return cpuclock__fast_probe();
}
