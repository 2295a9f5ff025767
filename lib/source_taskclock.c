/* SPDX-License-Identifier: MIT */
/*
 * taskclock - the page of a perf task-clock event, by its own formula.
 *
 * The kernel keeps in the page, as of the last time that the thread was put on
 * a CPU, the time that the event ran and what turns the cycle counter into the
 * time since (include/uapi/linux/perf_event.h, cap_user_time). The event counts
 * from when it was opened: what the thread had used before is added.
 *
 * Counts total by the kernel's perf_clock: with interrupts and stolen time,
 * which CLOCK_THREAD_CPUTIME_ID may leave out, and without some of each switch,
 * so that it drifts from that clock. Steps of the counter, up to date. Needs
 * permission for perf events, and a kernel whose sched_clock is the cycle
 * counter: no virtual machine with a paravirtual clock. Taxes every switch.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "constructor.h"
#include "cycles.h"
#include "forkguard.h"
#include "perf_page.h"
#include "source.h"
#include "sys.h"

struct thread {
	uint64_t generation;
	struct perf_event_mmap_page *page; /* NULL if it cannot have one */
	int64_t before_ns;		   /* used before the event began */
	int64_t last_ns;
	bool opening;
};

static __thread struct thread self __attribute__((
	tls_model("initial-exec"))) = {.generation = CPUCLOCK__NO_GENERATION};

static pthread_key_t page_key;
static bool have_page_key;

static void close_page(void *page)
{
	cpuclock__perf_page_close(page);
}

static void forget_page(void)
{
	pthread_setspecific(page_key, NULL);
}

CPUCLOCK__CONSTRUCTOR static void make_page_key(void)
{
	have_page_key = pthread_key_create(&page_key, close_page) == 0 &&
			pthread_atfork(NULL, NULL, forget_page) == 0;
}

/* The time since the event began: the formula of the uapi header. */
static int64_t page_time(const volatile struct perf_event_mmap_page *page)
{
	uint64_t running, cycles, quotient, remainder, offset;
	uint32_t sequence, multiplier;
	uint16_t shift;

	do {
		sequence = page->lock;
		atomic_signal_fence(memory_order_seq_cst);
		running = page->time_running;
		multiplier = page->time_mult;
		shift = page->time_shift;
		offset = page->time_offset;
		cycles = cpuclock__cycles();
		/* A counter of less than 64 bits, as of arm64. */
		if (page->cap_user_time_short)
			cycles = page->time_cycles +
				 ((cycles - page->time_cycles) &
				  page->time_mask);
		atomic_signal_fence(memory_order_seq_cst);
	} while (page->lock != sequence);

	quotient = cycles >> shift;
	remainder = cycles & ((UINT64_C(1) << shift) - 1);
	return (int64_t)(running + offset + quotient * multiplier +
			 (remainder * multiplier >> shift));
}

static void open_page(struct thread *thread)
{
	struct perf_event_mmap_page *page;
	int saved = errno;

	thread->opening = true;
	/* In a child of fork nothing is left of the parent's thread. */
	if (thread->page)
		forget_page();
	thread->page = NULL;
	thread->last_ns = 0;
	page = cpuclock__perf_page_open(PERF_COUNT_SW_TASK_CLOCK);
	if (page && (!page->cap_user_time ||
		     pthread_setspecific(page_key, page) != 0)) {
		cpuclock__perf_page_close(page);
		page = NULL;
	}
	if (page) {
		int64_t time_ns = page_time(page);

		thread->before_ns =
			cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID) -
			time_ns;
	}
	thread->page = page;
	atomic_signal_fence(memory_order_seq_cst);
	thread->generation = cpuclock__enter_process();
	thread->opening = false;
	errno = saved;
}

static int64_t read_taskclock(const struct cpuclock *clock)
{
	struct thread *thread = &self;
	int64_t time_ns;

	(void)clock;
	if (!cpuclock__is_generation(thread->generation) && !thread->opening)
		open_page(thread);
	/* Out of locked memory, or within open_page: the kernel's own answer.
	 */
	if (!thread->page || thread->opening)
		return cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID);

	time_ns = thread->before_ns + page_time(thread->page);
	if (time_ns < thread->last_ns)
		time_ns = thread->last_ns;
	thread->last_ns = time_ns;
	return time_ns;
}

static const struct cpuclock__verdict *probe(void)
{
	static const struct cpuclock__verdict
		no_formula = {-EOPNOTSUPP,
			      "cap_user_time is 0: the kernel's sched_clock is "
			      "not the cycle counter, as in virtual machines "
			      "with kvm-clock"},
		no_counter = {-EOPNOTSUPP, "the cycle counter may not be read"},
		no_guard = {-ENOSYS, "the kernel has no MADV_WIPEONFORK"},
		no_key = {-EAGAIN, "no key of pthread_key_create(3) is left"};
	struct perf_event_mmap_page *page;
	int has_formula;

	if (!cpuclock__have_forkguard())
		return &no_guard;
	if (!CPUCLOCK__HAVE_CYCLES || !cpuclock__cycles_usable())
		return &no_counter;
	if (!have_page_key)
		return &no_key;
	page = cpuclock__perf_page_open(PERF_COUNT_SW_TASK_CLOCK);
	if (!page)
		return cpuclock__perf_page_verdict(errno);
	has_formula = page->cap_user_time;
	cpuclock__perf_page_close(page);
	return has_formula ? &cpuclock__works : &no_formula;
}

static int64_t resolution(enum cpuclock_kind kind)
{
	(void)kind;
	return 1;
}

const struct cpuclock__source cpuclock__source_taskclock = {
	.name = "taskclock",
	.summary = "the page of a perf task-clock event, by its own formula",
	.targets = CPUCLOCK__BIT(CPUCLOCK_SELF),
	.kinds = CPUCLOCK__BIT(CPUCLOCK_TOTAL),
	.system_calls = 0,
	.probe = probe,
	.read = read_taskclock,
	.resolution = resolution,
};
