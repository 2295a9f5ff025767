/* SPDX-License-Identifier: MIT */
/*
 * Spans: CPU time between two points of work that nests and changes threads.
 *
 * Self time is counted as it is used: when a span comes on top of another, one
 * reading of the clock ends the time of the lower one and begins that of the
 * upper one. So nothing is ever subtracted that was counted elsewhere, and a
 * task of any depth changes threads by one reading on either side.
 *
 * A thread is known by a serial number: addresses and TIDs are reused.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "fast.h"
#include "serial.h"

/* Of struct span: not on a thread. */
#define NOT_STARTED 0
#define STOPPED	    1
#define PAUSED	    2
#define HELD	    3 /* on top of a span that is paused */

/* In a span that counts totals only, user_ns is 0. */
struct amount {
	int64_t total_ns;
	int64_t user_ns;
};

/*
 * A child on another thread than its parent touches of the parent: thread and
 * what never changes, by reading; beside and open_beside, atomically.
 */
struct __attribute__((may_alias)) span {
	uint64_t thread; /* serial of the thread that it runs on, or a state */
	uint64_t tree;
	struct span *parent;

	/* Neighbours in the stack. */
	struct span *below;
	struct span *above;

	/* While the span counts, what the clock was then is taken off. */
	struct amount self;

	/* Of children stopped on the thread of this span, and elsewhere. */
	struct amount nested;
	struct amount beside;

	/* Children not stopped: the sum of both, which may each wrap. */
	uint32_t open_nested;
	uint32_t open_beside;

	uint32_t flags;
};

_Static_assert(CPUCLOCK__SERIAL_MIN > HELD, "no serial is a state");
_Static_assert(sizeof(struct span) <= sizeof(struct cpuclock_span),
	       "struct cpuclock_span has room for it");
_Static_assert(_Alignof(struct span) == _Alignof(struct cpuclock_span),
	       "struct cpuclock_span is placed as it needs");

/*
 * The top of a tree's stack on a thread. A place that is lost, to a fifth tree
 * or to a signal handler, loses no more than what cpuclock.h says; so a span
 * that was never stopped does no harm to others.
 */
struct place {
	uint64_t tree; /* 0 if free */
	struct span *top;
};

#define N_PLACES 4

static __thread struct {
	uint64_t serial;
	uint64_t next_tree;
	uint32_t victim;
	struct place places[N_PLACES];
} here __attribute__((tls_model("initial-exec")));

/* ---- Threads --------------------------------------------------------------
 */

static __attribute__((noinline)) uint64_t enter_process(void)
{
	uint64_t first = cpuclock__serial_first();

	if (here.serial >= first)
		return here.serial;
	for (size_t i = 0; i < N_PLACES; i++)
		here.places[i].tree = 0;
	here.serial = cpuclock__serial_draw(first);
	here.next_tree = here.serial << 32;
	return here.serial;
}

static inline uint64_t this_thread(void)
{
	return __builtin_expect(cpuclock__serial_holds(here.serial), 1)
		       ? here.serial
		       : enter_process();
}

static inline uint64_t thread_of(const struct span *span)
{
	return __atomic_load_n(&span->thread, __ATOMIC_RELAXED);
}

static inline void set_thread(struct span *span, uint64_t thread)
{
	__atomic_store_n(&span->thread, thread, __ATOMIC_RELAXED);
}

/* 0 if the span is on the calling thread. */
static inline int check_runs_here(uint64_t thread)
{
	if (thread == NOT_STARTED)
		return -EINVAL;
	return thread == this_thread() ? 0 : -EXDEV;
}

/* ---- Time -----------------------------------------------------------------
 */

static inline bool is_split(const struct span *span)
{
	return span->flags & CPUCLOCK_SPAN_SPLIT;
}

static inline int read_clock(const struct span *span, struct amount *ret_now)
{
	struct cpuclock_times times;
	int err;

	if (!is_split(span)) {
		ret_now->total_ns = cpuclock__fast_total();
		return ret_now->total_ns < 0 ? (int)ret_now->total_ns : 0;
	}
	err = cpuclock__fast_self(&times);
	if (err)
		return err;
	*ret_now = (struct amount){times.total_ns, times.user_ns};
	return 0;
}

/* The span counts from now on; from now on no more. */
static inline void begin(struct span *span, const struct amount *now)
{
	span->self.total_ns -= now->total_ns;
	if (is_split(span))
		span->self.user_ns -= now->user_ns;
}

static inline void end(struct span *span, const struct amount *now)
{
	span->self.total_ns += now->total_ns;
	if (is_split(span))
		span->self.user_ns += now->user_ns;
}

/* User time first: see close_child. */
static inline struct amount inclusive_of(const struct span *span)
{
	struct amount sum = {0};

	if (is_split(span))
		sum.user_ns = span->self.user_ns + span->nested.user_ns +
			      __atomic_load_n(&span->beside.user_ns,
					      __ATOMIC_ACQUIRE);
	sum.total_ns =
		span->self.total_ns + span->nested.total_ns +
		__atomic_load_n(&span->beside.total_ns, __ATOMIC_RELAXED);
	return sum;
}

static void add(struct amount *sum, const struct amount *amount)
{
	sum->total_ns += amount->total_ns;
	sum->user_ns += amount->user_ns;
}

static struct cpuclock_times to_times(const struct span *span,
				      const struct amount *amount)
{
	if (!is_split(span))
		return (struct cpuclock_times){amount->total_ns, -1, -1};
	return (struct cpuclock_times){amount->total_ns, amount->user_ns,
				       amount->total_ns - amount->user_ns};
}

/* ---- Parents --------------------------------------------------------------
 */

/* Only the thread itself puts a span on it: if it is here, it stays for now. */
static void open_child(struct span *parent)
{
	if (thread_of(parent) == here.serial)
		parent->open_nested++;
	else
		__atomic_fetch_add(&parent->open_beside, 1, __ATOMIC_RELAXED);
}

/*
 * Once it has one child less, the parent can be stopped and its memory be gone.
 * The total goes first, so that no reader sees more user time than time.
 */
static void close_child(struct span *parent, const struct amount *inclusive)
{
	if (thread_of(parent) == here.serial) {
		parent->nested.total_ns += inclusive->total_ns;
		if (is_split(parent))
			parent->nested.user_ns += inclusive->user_ns;
		parent->open_nested--;
		return;
	}
	__atomic_fetch_add(&parent->beside.total_ns, inclusive->total_ns,
			   __ATOMIC_RELAXED);
	if (is_split(parent))
		__atomic_fetch_add(&parent->beside.user_ns, inclusive->user_ns,
				   __ATOMIC_RELEASE);
	__atomic_fetch_sub(&parent->open_beside, 1, __ATOMIC_RELEASE);
}

static inline bool has_open_children(const struct span *span)
{
	return span->open_nested +
		       __atomic_load_n(&span->open_beside, __ATOMIC_ACQUIRE) !=
	       0;
}

/* ---- The stack of a tree on a thread --------------------------------------
 */

static inline struct place *find_place(uint64_t tree)
{
	for (size_t i = 0; i < N_PLACES; i++) {
		if (here.places[i].tree == tree)
			return &here.places[i];
	}
	return NULL;
}

static inline struct place *take_place(void)
{
	struct place *place = find_place(0);

	return place ? place : &here.places[here.victim++ % N_PLACES];
}

static struct span *top_above(struct span *span)
{
	while (span->above)
		span = span->above;
	return span;
}

/* The top of a stack that the span belongs on, or NULL. */
static inline struct span *top_for(const struct span *span,
				   const struct place *place)
{
	if (span->parent && thread_of(span->parent) == here.serial)
		return top_above(span->parent);
	return place ? place->top : NULL;
}

/* The spans from @base to @top go onto the calling thread. */
static inline void push(struct span *base, struct span *top,
			const struct amount *now)
{
	struct place *place = find_place(base->tree);
	struct span *below = top_for(base, place);

	if (below) {
		end(below, now);
		below->above = base;
	}
	base->below = below;
	begin(top, now);

	if (!place)
		place = take_place();
	place->tree = base->tree;
	place->top = top;
}

/* They leave it, and what is below them goes on. */
static inline void pop(struct span *base, struct span *top,
		       const struct amount *now)
{
	struct place *place = find_place(base->tree);
	struct span *below = base->below;

	end(top, now);
	if (below) {
		base->below = NULL;
		below->above = NULL;
		begin(below, now);
	}
	if (place && place->top == top) {
		place->tree = below ? base->tree : 0;
		place->top = below;
	}
}

/* ---- Calls ----------------------------------------------------------------
 */

static int check_parent(const struct span *parent, unsigned int flags)
{
	uint64_t thread = thread_of(parent);

	if (thread == NOT_STARTED || thread == STOPPED)
		return -EINVAL;
	return flags & ~parent->flags ? -EINVAL : 0;
}

static uint64_t new_tree(void)
{
	uint64_t tree = ++here.next_tree;

	if ((uint32_t)tree == 0)
		here.next_tree = tree = cpuclock__serial_draw(0) << 32 | 1;
	return tree;
}

/* Field by field: gcc would clear the whole by a slow string instruction. */
static inline void clear(struct span *span, struct span *parent, uint64_t tree,
			 uint32_t flags)
{
	span->tree = tree;
	span->parent = parent;
	span->below = NULL;
	span->above = NULL;
	span->self.total_ns = 0;
	span->self.user_ns = 0;
	span->nested.total_ns = 0;
	span->nested.user_ns = 0;
	span->beside.total_ns = 0;
	span->beside.user_ns = 0;
	span->open_nested = 0;
	span->open_beside = 0;
	span->flags = flags;
}

int cpuclock_span_start(struct cpuclock_span *opaque,
			struct cpuclock_span *opaque_parent, unsigned int flags)
{
	struct span *span = (struct span *)opaque;
	struct span *parent = (struct span *)opaque_parent;
	uint64_t thread = this_thread();
	struct amount now = {0};
	int err = 0;

	if (span == parent)
		return -EINVAL;
	if (parent)
		err = check_parent(parent, flags);
	else if (flags & ~(unsigned int)CPUCLOCK_SPAN_SPLIT)
		err = -EINVAL;
	set_thread(span, NOT_STARTED);
	if (err)
		return err;
	if (parent)
		flags = parent->flags;
	clear(span, parent, parent ? parent->tree : new_tree(), flags);

	err = read_clock(span, &now);
	if (err)
		return err;
	push(span, span, &now);
	set_thread(span, thread);
	if (parent)
		open_child(parent);
	return 0;
}

int64_t cpuclock_span_stop(struct cpuclock_span *opaque)
{
	struct span *span = (struct span *)opaque;
	uint64_t thread = thread_of(span);
	struct amount inclusive, now = {0};
	int err;

	if (thread == STOPPED)
		return -EALREADY;
	if (thread == HELD)
		return -EBUSY;
	if (thread != PAUSED) {
		err = check_runs_here(thread);
		if (err)
			return err;
	}
	if (span->above || has_open_children(span))
		return -EBUSY;
	if (thread != PAUSED) {
		err = read_clock(span, &now);
		if (err)
			return err;
		pop(span, span, &now);
	}

	set_thread(span, STOPPED);
	inclusive = inclusive_of(span);
	if (span->parent) {
		this_thread();
		close_child(span->parent, &inclusive);
	}
	return inclusive.total_ns;
}

int cpuclock_span_pause(struct cpuclock_span *opaque)
{
	struct span *span = (struct span *)opaque;
	uint64_t thread = thread_of(span);
	struct amount now = {0};
	int err;

	if (thread == STOPPED)
		return -EINVAL;
	if (thread == PAUSED || thread == HELD)
		return -EALREADY;
	err = check_runs_here(thread);
	if (!err)
		err = read_clock(span, &now);
	if (err)
		return err;

	pop(span, top_above(span), &now);
	set_thread(span, PAUSED);
	for (span = span->above; span; span = span->above)
		set_thread(span, HELD);
	return 0;
}

int cpuclock_span_resume(struct cpuclock_span *opaque)
{
	struct span *span = (struct span *)opaque;
	uint64_t thread = thread_of(span);
	struct amount now = {0};
	int err;

	if (thread == NOT_STARTED || thread == STOPPED)
		return -EINVAL;
	if (thread == HELD)
		return -EBUSY;
	if (thread != PAUSED)
		return -EALREADY;
	thread = this_thread();
	err = read_clock(span, &now);
	if (err)
		return err;

	push(span, top_above(span), &now);
	for (; span; span = span->above)
		set_thread(span, thread);
	return 0;
}

int cpuclock_span_read(const struct cpuclock_span *opaque,
		       struct cpuclock_span_times *ret_times)
{
	const struct span *span = (const struct span *)opaque;
	uint64_t thread = thread_of(span);
	struct amount now = {0};
	struct amount own, inclusive;
	int err;

	if (thread != STOPPED && thread != PAUSED && thread != HELD) {
		err = check_runs_here(thread);
		if (!err && !span->above)
			err = read_clock(span, &now);
		if (err)
			return err;
	}
	own = span->self;
	inclusive = inclusive_of(span);
	add(&own, &now);
	add(&inclusive, &now);
	ret_times->self = to_times(span, &own);
	ret_times->inclusive = to_times(span, &inclusive);
	return 0;
}
