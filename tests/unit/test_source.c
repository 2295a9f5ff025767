/* SPDX-License-Identifier: MIT */
/*
 * The contract, held against every source of the table: whose time it gives,
 * of which kinds, and what it answers when there is none to give. A source
 * added to the table is tested without a line added here.
 *
 * A subject is a thread or a process that does as it is told through a socket:
 * it works in user mode or in the kernel, sleeps, says what the kernel's clock
 * gives for it, and where it is the one to read a source, reads it.
 */
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpuclock.h"
#include "support.h"

#define N_KINDS	  4
#define N_TARGETS 4

/* Of no system call, and no error that the library could mean. */
#define STRANGE_ERRNO 4242

/* What the wrappers below return if a call broke the rules of all calls. */
#define BROKE_ERRNO	    (-100001)
#define BROKE_RETURN_VALUE  (-100002)
#define BROKE_OUT_PARAMETER (-100003)

static const char *const kind_words[N_KINDS] = {
	"total",
	"user",
	"system",
	"ticks",
};

/* ---- The calls, each held to the rules that hold for all ----------------- */

static int open_clock(enum cpuclock_target target, pid_t id,
		      enum cpuclock_kind kind, const char *source,
		      struct cpuclock **ret_clock)
{
	static char here[1];
	struct cpuclock *const untouched = (void *)here;
	struct cpuclock *clock = untouched;
	int r;

	errno = STRANGE_ERRNO;
	r = cpuclock_open(target, id, kind, source, &clock);
	if (errno != STRANGE_ERRNO)
		return BROKE_ERRNO;
	if (r > 0)
		return BROKE_RETURN_VALUE;
	if (r ? clock != untouched : !clock || clock == untouched)
		return BROKE_OUT_PARAMETER;
	if (!r)
		*ret_clock = clock;
	return r;
}

static int64_t read_clock(const struct cpuclock *clock)
{
	int64_t ns;

	errno = STRANGE_ERRNO;
	ns = cpuclock_read(clock);
	return errno == STRANGE_ERRNO ? ns : BROKE_ERRNO;
}

static void close_clock(struct cpuclock *clock)
{
	errno = STRANGE_ERRNO;
	cpuclock_close(clock);
	/* Also called where cmocka's assertions must not be. */
	if (errno != STRANGE_ERRNO)
		abort();
}

static int get_info(const char *source, struct cpuclock_source_info *ret_info)
{
	struct cpuclock_source_info info, before;
	int r;

	memset(&info, 0xa5, sizeof(info));
	before = info;
	errno = STRANGE_ERRNO;
	r = cpuclock_source_info(source, &info);
	if (errno != STRANGE_ERRNO)
		return BROKE_ERRNO;
	if (r > 0)
		return BROKE_RETURN_VALUE;
	if (r && memcmp(&info, &before, sizeof(info)) != 0)
		return BROKE_OUT_PARAMETER;
	if (!r)
		*ret_info = info;
	return r;
}

/* Opens and closes; what open said. */
static int try_open(enum cpuclock_target target, pid_t id,
		    enum cpuclock_kind kind, const char *source)
{
	struct cpuclock *clock = NULL;
	int r;

	r = open_clock(target, id, kind, source, &clock);
	if (!r)
		close_clock(clock);
	return r;
}

/* ---- Readers: one handle for each kind of one source and target ---------- */

struct reader {
	struct cpuclock *clocks[N_KINDS];
};

static void reader_close(struct reader *reader)
{
	size_t kind;

	for (kind = 0; kind < N_KINDS; kind++) {
		close_clock(reader->clocks[kind]);
		reader->clocks[kind] = NULL;
	}
}

static int reader_open(struct reader *reader, enum cpuclock_target target,
		       pid_t id, unsigned int kinds, const char *source)
{
	unsigned int kind;
	int r;

	for (kind = 0; kind < N_KINDS; kind++) {
		if (!(kinds & 1U << kind))
			continue;
		r = open_clock(target, id, kind, source, &reader->clocks[kind]);
		if (r)
			return r;
	}
	return 0;
}

/*
 * Reads all kinds in turn, and counts the readings below one of their kind
 * before. Whoever reads itself has to make its time pass.
 */
static int64_t reader_watch(const struct reader *reader, int64_t rounds,
			    bool work)
{
	int64_t last[N_KINDS] = {0};
	int64_t backwards = 0;
	size_t kind;

	while (rounds--) {
		for (kind = 0; kind < N_KINDS; kind++) {
			int64_t ns;

			if (!reader->clocks[kind])
				continue;
			ns = read_clock(reader->clocks[kind]);
			if (ns < 0)
				return ns;
			backwards += ns < last[kind];
			last[kind] = ns;
		}
		if (!work)
			continue;
		if (rounds % 8 == 0)
			spin();
		syscall(SYS_getppid);
	}
	return backwards;
}

/*
 * Reads total between two looks at the kernel's clock, and counts the readings
 * that are more than @slack before the first, or after the second by more than
 * the source may be ahead.
 */
static int64_t reader_bracket(const struct reader *reader, clockid_t clock,
			      int64_t slack, int64_t rounds)
{
	const struct cpuclock *total = reader->clocks[CPUCLOCK_TOTAL];
	int64_t lead = lead_ns(cpuclock_clock_source(total));
	int64_t outside = 0;

	while (rounds--) {
		int64_t before = kernel_ns(clock);
		int64_t ns = read_clock(total);
		int64_t after = kernel_ns(clock);

		if (before < 0 || after < 0 || ns < 0)
			return ns < 0 ? ns : -ENOTRECOVERABLE;
		outside += ns < before - slack || ns > after + lead;
		spin();
	}
	return outside;
}

/* ---- Subjects ------------------------------------------------------------ */

enum verb {
	BURN_USER,   /* for ns */
	BURN_KERNEL, /* for ns */
	SLEEP,	     /* for ns */
	SPIN,	     /* until the next order */
	LOOK,	     /* say what the kernel's clock gives */
	LOOK_AT,     /* say what getrusage(2) gives for a kind */
	COUNT_TICKS, /* say how much the kernel has sampled, in ns */
	OPEN,	     /* as in plan */
	READ,	     /* a kind */
	WATCH,
	BRACKET,
};

/* Where a subject is, seen from the thread of the test. */
enum place {
	THREAD,		 /* a thread of this process */
	PROCESS,	 /* the only thread of a child */
	THREAD_ELSEWHERE /* the second thread of a child */
};

/* A row of what is tested: whose time, and who reads it. */
struct whose {
	const char *words;
	enum cpuclock_target target;
	enum place place;
	bool inside; /* the subject reads */
};

static const struct whose whose_table[] = {
	{"the calling thread", CPUCLOCK_SELF, THREAD, true},
	{"another thread", CPUCLOCK_THREAD, THREAD, false},
	{"the own process", CPUCLOCK_PROCESS, PROCESS, true},
	{"another process", CPUCLOCK_PROCESS, PROCESS, false},
	{"another thread as if foreign", CPUCLOCK_FOREIGN, THREAD, false},
	{"the only thread of another process", CPUCLOCK_FOREIGN, PROCESS,
	 false},
	{"the second thread of another process", CPUCLOCK_FOREIGN,
	 THREAD_ELSEWHERE, false},
};

/* What one test is about. */
struct plan {
	struct cpuclock_source_info source;
	const struct whose *whose;
};

struct order {
	enum verb verb;
	int64_t number;
	const struct plan *plan;
};

struct subject {
	enum place place;
	int near, far; /* ends of the socket */
	pid_t pid;     /* child, or 0 */
	pid_t tgid, tid;
	pthread_t thread;
	bool running;
	struct reader reader; /* of the subject, or of the test */
};

/* Static, as teardown must find it after an assertion has failed. */
static struct subject subject;

static int64_t slack_ns(const char *source, enum cpuclock_kind kind)
{
	int64_t step = cpuclock_source_resolution(source, kind);

	/* A source may add two numbers that are each cut to its step. */
	return 2 * step + tick_ns();
}

static pid_t target_id(const struct whose *whose)
{
	if (whose->target == CPUCLOCK_SELF)
		return 0;
	return whose->target == CPUCLOCK_PROCESS ? subject.tgid : subject.tid;
}

static clockid_t own_clock(const struct whose *whose)
{
	return whose->target == CPUCLOCK_PROCESS ? CLOCK_PROCESS_CPUTIME_ID
						 : CLOCK_THREAD_CPUTIME_ID;
}

/* The kernel's own split, brought up to date. */
static int64_t own_usage(const struct whose *whose, enum cpuclock_kind kind)
{
	bool process = whose->target == CPUCLOCK_PROCESS;
	const struct timeval *time;
	struct rusage usage;

	kernel_ns(own_clock(whose));
	if (getrusage(process ? RUSAGE_SELF : RUSAGE_THREAD, &usage))
		return -errno;
	time = kind == CPUCLOCK_USER ? &usage.ru_utime : &usage.ru_stime;
	return time->tv_sec * NS_PER_S + time->tv_usec * 1000;
}

/* CPUCLOCK_PROF of the caller: its process's, or its thread's. */
static clockid_t sampled_clock(const struct whose *whose)
{
	return whose->target == CPUCLOCK_PROCESS ? -8 : -4;
}

static int64_t obey(const struct order *order)
{
	const struct plan *plan = order->plan;

	switch (order->verb) {
	case BURN_USER:
		burn_user(order->number);
		return 0;
	case BURN_KERNEL:
		burn_kernel(order->number);
		return 0;
	case SLEEP:
		sleep_ns(order->number);
		return 0;
	case SPIN:
		return 0;
	case LOOK:
		return kernel_ns(own_clock(plan->whose));
	case LOOK_AT:
		return own_usage(plan->whose, order->number);
	case COUNT_TICKS:
		return kernel_ns(sampled_clock(plan->whose));
	case OPEN:
		return reader_open(&subject.reader, plan->whose->target,
				   target_id(plan->whose), plan->source.kinds,
				   plan->source.name);
	case READ:
		return read_clock(subject.reader.clocks[order->number]);
	case WATCH:
		return reader_watch(&subject.reader, order->number, true);
	case BRACKET:
		return reader_bracket(
			&subject.reader, own_clock(plan->whose),
			slack_ns(plan->source.name, CPUCLOCK_TOTAL),
			order->number);
	}
	return -EINVAL;
}

/* Obeys until the other end is closed. */
static void *serve(void *unused)
{
	int64_t answer = syscall(SYS_gettid);
	struct order order;

	(void)unused;
	while (send(subject.far, &answer, sizeof(answer), MSG_NOSIGNAL) > 0 &&
	       recv(subject.far, &order, sizeof(order), 0) > 0) {
		answer = obey(&order);
		if (order.verb != SPIN)
			continue;
		if (send(subject.far, &answer, sizeof(answer), MSG_NOSIGNAL) <
		    0)
			break;
		while (recv(subject.far, &order, 1, MSG_PEEK | MSG_DONTWAIT) <
		       0)
			spin();
		if (recv(subject.far, &order, sizeof(order), 0) <= 0)
			break;
		answer = 0;
	}
	return NULL;
}

static void be_a_child(enum place place)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(subject.near);
	subject.tgid = getpid();
	subject.tid = subject.tgid;
	if (place == PROCESS)
		serve(NULL);
	else if (!pthread_create(&thread, NULL, serve, NULL))
		pthread_join(thread, NULL);
	_exit(0);
}

static int64_t answer_of_subject(void)
{
	int64_t answer;

	assert_int_equal(recv(subject.near, &answer, sizeof(answer), 0),
			 sizeof(answer));
	return answer;
}

static int64_t tell(enum verb verb, int64_t number, const struct plan *plan)
{
	struct order order = {verb, number, plan};

	assert_int_equal(send(subject.near, &order, sizeof(order), 0),
			 sizeof(order));
	return answer_of_subject();
}

static void start_subject(enum place place)
{
	int ends[2];

	memset(&subject, 0, sizeof(subject));
	subject.place = place;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	subject.near = ends[0];
	subject.far = ends[1];
	subject.tgid = getpid();
	if (place == THREAD) {
		assert_int_equal(
			pthread_create(&subject.thread, NULL, serve, NULL), 0);
	} else {
		subject.pid = fork();
		if (!subject.pid)
			be_a_child(place);
		assert_true(subject.pid > 0);
		close(subject.far);
		subject.far = -1;
		subject.tgid = subject.pid;
	}
	/* There is something to stop from here on. */
	subject.running = true;
	subject.tid = (pid_t)answer_of_subject();
}

/* The subject has ended when this returns, and the kernel has forgotten it. */
static void stop_subject(void)
{
	if (!subject.running)
		return;
	subject.running = false;
	shutdown(subject.near, SHUT_RDWR);
	if (subject.place == THREAD) {
		pthread_join(subject.thread, NULL);
		close(subject.far);
		wait_until_gone(subject.tgid, subject.tid);
	} else {
		if (subject.place == THREAD_ELSEWHERE)
			kill(subject.pid, SIGKILL);
		waitpid(subject.pid, NULL, 0);
		wait_until_gone(0, subject.pid);
	}
	close(subject.near);
}

static int teardown(void **state)
{
	(void)state;
	stop_subject();
	reader_close(&subject.reader);
	return 0;
}

/* ---- One source, one target ---------------------------------------------- */

/* posix is what is always there: without it there is nothing to fall back on */
static void skip_if_not_here(const struct plan *plan)
{
	if (!plan->source.status)
		return;
	if (strcmp(plan->source.name, "posix") == 0) {
		print_error("posix: %s\n", plan->source.why);
		fail();
	}
	skip_because("%s does not work here: %s", plan->source.name,
		     plan->source.why);
}

static void start(const struct plan *plan)
{
	const struct whose *whose = plan->whose;

	skip_if_not_here(plan);
	start_subject(whose->place);
	if (whose->inside)
		assert_int_equal(tell(OPEN, 0, plan), 0);
	else
		assert_int_equal(reader_open(&subject.reader, whose->target,
					     target_id(whose),
					     plan->source.kinds,
					     plan->source.name),
				 0);
}

static int64_t read_kind(const struct plan *plan, size_t kind)
{
	int64_t ns;

	if (plan->whose->inside)
		ns = tell(READ, (int64_t)kind, plan);
	else
		ns = read_clock(subject.reader.clocks[kind]);
	if (ns < 0)
		print_error("%s: %lld\n", kind_words[kind], (long long)ns);
	assert_true(ns >= 0);
	return ns;
}

static void read_kinds(const struct plan *plan, int64_t ret_ns[N_KINDS])
{
	size_t kind;

	for (kind = 0; kind < N_KINDS; kind++) {
		ret_ns[kind] = 0;
		if (plan->source.kinds & 1U << kind)
			ret_ns[kind] = read_kind(plan, kind);
	}
}

static void never_runs_backwards(void **state)
{
	const struct plan *plan = *state;
	const int n_kinds = __builtin_popcount(plan->source.kinds);
	const int64_t rounds = 20000 / n_kinds;

	start(plan);
	if (plan->whose->inside) {
		assert_int_equal(tell(WATCH, rounds, plan), 0);
		return;
	}
	assert_int_equal(tell(SPIN, 0, plan), 0);
	assert_int_equal(reader_watch(&subject.reader, rounds, false), 0);
}

/* How much each kind grew while something was done, and the kernel's clock. */
struct growth {
	int64_t ns[N_KINDS];
	int64_t kernel_ns;
};

static struct growth grow(const struct plan *plan, enum verb verb,
			  int64_t number)
{
	struct growth growth;
	int64_t before[N_KINDS];
	size_t kind;

	growth.kernel_ns = -tell(LOOK, 0, plan);
	read_kinds(plan, before);
	assert_int_equal(tell(verb, number, plan), 0);
	read_kinds(plan, growth.ns);
	growth.kernel_ns += tell(LOOK, 0, plan);
	for (kind = 0; kind < N_KINDS; kind++) {
		assert_true(growth.ns[kind] >= before[kind]);
		growth.ns[kind] -= before[kind];
	}
	return growth;
}

static void assert_between(const char *what, int64_t ns, int64_t low,
			   int64_t high)
{
	if (ns >= low && ns <= high)
		return;
	print_error("%s grew by %lld ns, not by %lld to %lld\n", what,
		    (long long)ns, (long long)low, (long long)high);
	fail();
}

static void assert_total_grew(const struct plan *plan,
			      const struct growth *growth, int64_t work)
{
	int64_t slack = slack_ns(plan->source.name, CPUCLOCK_TOTAL);

	if (plan->source.kinds & 1U << CPUCLOCK_TOTAL)
		assert_between("total", growth->ns[CPUCLOCK_TOTAL],
			       work - slack, growth->kernel_ns + slack);
}

/*
 * The kernel's own split may move by much with one more sample: asked before
 * and after, until it stood still.
 */
static void assert_part_is_the_kernels(const struct plan *plan, unsigned kind)
{
	int64_t slack = slack_ns(plan->source.name, kind);
	int64_t before, ns, after;
	int i;

	for (i = 0; i < 20; i++) {
		before = tell(LOOK_AT, kind, plan);
		ns = read_kind(plan, kind);
		after = tell(LOOK_AT, kind, plan);
		if (after - before < NS_PER_MS)
			break;
	}
	if (ns >= before - slack && ns <= after + slack)
		return;
	print_error("%s is %lld ns, and by getrusage(2) %lld to %lld\n",
		    kind_words[kind], (long long)ns, (long long)before,
		    (long long)after);
	fail();
}

static void assert_split_is_the_kernels(const struct plan *plan)
{
	unsigned int kind;

	for (kind = CPUCLOCK_USER; kind <= CPUCLOCK_SYSTEM; kind++) {
		if (plan->source.kinds & 1U << kind)
			assert_part_is_the_kernels(plan, kind);
	}
}

/* Is most of the work in the part where it was? */
static bool is_split_right(const struct plan *plan, const struct growth *growth,
			   int64_t work, enum cpuclock_kind where,
			   enum cpuclock_kind other)
{
	if (plan->source.kinds & 1U << where && growth->ns[where] < work / 2)
		return false;
	return !(plan->source.kinds & 1U << other) ||
	       growth->ns[other] <= work / 2;
}

static void assert_sleep_is_not_billed(const struct plan *plan)
{
	struct growth growth = grow(plan, SLEEP, 50 * NS_PER_MS);
	size_t kind;

	for (kind = 0; kind < N_KINDS; kind++)
		assert_between(kind_words[kind], growth.ns[kind], 0,
			       25 * NS_PER_MS);
}

static void assert_ticks_grow(const struct plan *plan)
{
	int64_t before;
	int i;

	if (!(plan->source.kinds & 1U << CPUCLOCK_TICKS))
		return;
	/* They are samples: a hypervisor may keep all of some from us. */
	before = read_kind(plan, CPUCLOCK_TICKS);
	for (i = 0; i < 50; i++) {
		tell(BURN_USER, tick_ns(), plan);
		if (read_kind(plan, CPUCLOCK_TICKS) > before)
			return;
	}
	fail_msg("50 ticks of work, and not one counted");
}

/* 100 ms in user mode, 50 ms of sleep, 100 ms in the kernel. */
static bool try_to_bill(const struct plan *plan)
{
	const int64_t work = 100 * NS_PER_MS;
	struct growth growth;
	bool right;

	growth = grow(plan, BURN_USER, work);
	assert_total_grew(plan, &growth, work);
	assert_split_is_the_kernels(plan);
	right = is_split_right(plan, &growth, work, CPUCLOCK_USER,
			       CPUCLOCK_SYSTEM);
	assert_sleep_is_not_billed(plan);
	growth = grow(plan, BURN_KERNEL, work);
	assert_total_grew(plan, &growth, work);
	assert_split_is_the_kernels(plan);
	return right && is_split_right(plan, &growth, work, CPUCLOCK_SYSTEM,
				       CPUCLOCK_USER);
}

/*
 * The split is the kernel's at all times; but the kernel estimates it out of
 * samples, of which it takes few or none where CPUs are contended or stolen by
 * a hypervisor. It is held against the work where there were enough.
 */
static void bills_work_and_no_sleep(void **state)
{
	const int64_t enough = 150 * NS_PER_MS;
	const struct plan *plan = *state;
	bool right = false;
	int64_t sampled = 0;
	int try;

	for (try = 0; try < 4 && !right; try++) {
		teardown(state);
		start(plan);
		sampled = -tell(COUNT_TICKS, 0, plan);
		right = try_to_bill(plan);
		sampled += tell(COUNT_TICKS, 0, plan);
		if (!right)
			print_message("# try %d: %s of %s, of 200 ms %lld ms "
				      "sampled\n",
				      try + 1, plan->source.name,
				      plan->whose->words,
				      (long long)(sampled / NS_PER_MS));
	}
	assert_ticks_grow(plan);
	if (!right && sampled < enough)
		skip_because("the kernel sampled %lld ms of 200, and its split "
			     "is wrong",
			     (long long)(sampled / NS_PER_MS));
	assert_true(right);
}

/*
 * Total, and the sum of the parts, with the subject at rest between two looks
 * at its clock; then total, with the subject at work.
 */
static void agrees_with_the_kernels_clock(void **state)
{
	const struct plan *plan = *state;
	const struct whose *whose = plan->whose;
	int64_t slack = slack_ns(plan->source.name, CPUCLOCK_TOTAL);
	int64_t lead = lead_ns(plan->source.name);
	int i;

	start(plan);
	for (i = 0; i < 50; i++) {
		int64_t ns[N_KINDS], before, after;

		tell(i % 2 ? BURN_USER : BURN_KERNEL, NS_PER_MS, plan);
		before = tell(LOOK, 0, plan);
		read_kinds(plan, ns);
		after = tell(LOOK, 0, plan);
		assert_between("total", ns[CPUCLOCK_TOTAL], before - slack,
			       after + lead);
		if (plan->source.kinds & 1U << CPUCLOCK_USER)
			assert_between("user + system",
				       ns[CPUCLOCK_USER] + ns[CPUCLOCK_SYSTEM],
				       before - slack, after + lead);
	}
	if (whose->inside) {
		assert_int_equal(tell(BRACKET, 2000, plan), 0);
		return;
	}
	tell(SPIN, 0, plan);
	/* There is no clock id for a thread of another process. */
	if (subject.place == THREAD)
		assert_int_equal(
			reader_bracket(&subject.reader,
				       kernel_thread_clock(subject.tid), slack,
				       2000),
			0);
	if (subject.place == PROCESS)
		assert_int_equal(
			reader_bracket(&subject.reader,
				       kernel_process_clock(subject.tgid),
				       slack, 2000),
			0);
}

static void is_esrch_once_it_has_ended(void **state)
{
	const struct plan *plan = *state;
	const struct whose *whose = plan->whose;
	unsigned int kind;

	start(plan);
	tell(BURN_USER, NS_PER_MS, plan);
	stop_subject();
	for (kind = 0; kind < N_KINDS; kind++) {
		if (!(plan->source.kinds & 1U << kind))
			continue;
		assert_int_equal(read_clock(subject.reader.clocks[kind]),
				 -ESRCH);
		assert_int_equal(try_open(whose->target, target_id(whose), kind,
					  plan->source.name),
				 -ESRCH);
	}
}

/* ---- All sources --------------------------------------------------------- */

/* Works here, and gives something of this target. */
static bool gives(const char *source, enum cpuclock_target target)
{
	struct cpuclock_source_info info = {0};

	assert_int_equal(get_info(source, &info), 0);
	return !info.status && info.targets & 1U << target;
}

static enum cpuclock_kind any_kind(const char *source)
{
	struct cpuclock_source_info info = {0};
	unsigned int kind;

	assert_int_equal(get_info(source, &info), 0);
	for (kind = 0; kind < N_KINDS; kind++) {
		if (info.kinds & 1U << kind)
			return kind;
	}
	fail_msg("%s gives nothing", source);
	return 0;
}

static void assert_open(int expected, enum cpuclock_target target, pid_t id,
			enum cpuclock_kind kind, const char *source)
{
	int r = try_open(target, id, kind, source);

	if (r == expected)
		return;
	print_error("target %d, id %d, kind %d, source %s: %d, not %d\n",
		    (int)target, (int)id, (int)kind, source ? source : "NULL",
		    r, expected);
	fail();
}

static void table_names_each_source_once(void **state)
{
	const char *name;
	bool posix = false;
	size_t i, j;

	(void)state;
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_true(*name);
		for (j = 0; j < i; j++)
			assert_string_not_equal(name, cpuclock_source_at(j));
		posix |= strcmp(name, "posix") == 0;
	}
	assert_true(posix);
	assert_null(cpuclock_source_at(i + 1));
	assert_null(cpuclock_source_at(SIZE_MAX));
}

static void source_says_what_it_is_and_why_not(void **state)
{
	struct cpuclock_source_info info = {0}, again = {0};
	const char *name;
	size_t i;

	(void)state;
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		assert_string_equal(info.name, name);
		assert_non_null(info.summary);
		assert_true(*info.summary);
		assert_true(info.targets && info.targets < 1U << N_TARGETS);
		assert_true(info.kinds && info.kinds < 1U << N_KINDS);
		assert_true(info.system_calls >= 0);
		assert_true(info.status <= 0);
		if (info.status)
			assert_true(info.why && *info.why);
		else
			assert_null(info.why);
		assert_int_equal(get_info(name, &again), 0);
		assert_memory_equal(&info, &again, sizeof(info));
	}
}

static const char *const no_names[] = {
	"",	  " ",	  "none",   "POSIX",  "posix ",
	" posix", "posi", "posixx", "self\n",
};

static void unknown_source_is_enoent(void **state)
{
	struct cpuclock_source_info info = {0};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(no_names); i++) {
		const char *name = no_names[i];

		assert_int_equal(get_info(name, &info), -ENOENT);
		assert_open(-ENOENT, CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL, name);
		errno = STRANGE_ERRNO;
		assert_int_equal(
			cpuclock_source_resolution(name, CPUCLOCK_TOTAL),
			-ENOENT);
		assert_int_equal(errno, STRANGE_ERRNO);
	}
}

/* Each of the sources, then NULL for the best of them, then NULL for the end */
static bool next_source(size_t *i, const char **ret_source)
{
	if (*i && !cpuclock_source_at(*i - 1))
		return false;
	*ret_source = cpuclock_source_at((*i)++);
	return true;
}

static void id_out_of_range_is_einval(void **state)
{
	static const pid_t ids[] = {
		0,	     -1,      -2,      4194305,	   INT_MIN,
		INT_MIN + 1, INT_MAX, 1 << 29, -(1 << 29), (1 << 29) - 1,
	};
	const char *source;
	size_t n = 0, i;

	(void)state;
	while (next_source(&n, &source)) {
		enum cpuclock_kind kind =
			source ? any_kind(source) : CPUCLOCK_TOTAL;

		for (i = 0; i < ARRAY_SIZE(ids); i++) {
			assert_open(-EINVAL, CPUCLOCK_THREAD, ids[i], kind,
				    source);
			assert_open(-EINVAL, CPUCLOCK_PROCESS, ids[i], kind,
				    source);
			assert_open(-EINVAL, CPUCLOCK_FOREIGN, ids[i], kind,
				    source);
		}
	}
}

static void self_with_an_id_is_einval(void **state)
{
	const pid_t ids[] = {1, -1, getpid(), 4194304, INT_MIN, INT_MAX};
	const char *source;
	size_t n = 0, i;

	(void)state;
	while (next_source(&n, &source)) {
		for (i = 0; i < ARRAY_SIZE(ids); i++)
			assert_open(-EINVAL, CPUCLOCK_SELF, ids[i],
				    source ? any_kind(source) : CPUCLOCK_TOTAL,
				    source);
	}
}

static void value_of_no_enum_is_einval(void **state)
{
	static const int values[] = {-1, 4,  5,	      31,     32,
				     33, 64, INT_MIN, INT_MAX};
	const char *source;
	size_t n = 0, i;

	(void)state;
	while (next_source(&n, &source)) {
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			unsigned int value = (unsigned int)values[i];

			assert_open(-EINVAL, value, getpid(), CPUCLOCK_TOTAL,
				    source);
			assert_open(-EINVAL, value, 0, CPUCLOCK_TOTAL, source);
			assert_open(-EINVAL, CPUCLOCK_SELF, 0, value, source);
			assert_open(-EINVAL, CPUCLOCK_PROCESS, getpid(), value,
				    source);
		}
	}
}

/* What open must say of a target that has, for a source that works, time. */
static int answer_by_the_table(const struct cpuclock_source_info *info,
			       unsigned int target, unsigned int kind)
{
	if (!(info->kinds & 1U << kind))
		return -EOPNOTSUPP;
	if (info->targets & 1U << target)
		return info->status;
	/* Clock ids read threads, but the kernel gives them to no other. */
	if (target == CPUCLOCK_FOREIGN && info->targets & 1U << CPUCLOCK_THREAD)
		return -EPERM;
	return -EOPNOTSUPP;
}

static void what_a_source_does_not_offer_is_refused(void **state)
{
	pid_t ids[N_TARGETS] = {0, getpid(), getpid(), 0};
	struct cpuclock_source_info info = {0};
	unsigned int target, kind;
	const char *name;
	size_t i;

	(void)state;
	start_subject(THREAD_ELSEWHERE);
	ids[CPUCLOCK_FOREIGN] = subject.tid;
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		for (target = 0; target < N_TARGETS; target++) {
			for (kind = 0; kind < N_KINDS; kind++)
				assert_open(answer_by_the_table(&info, target,
								kind),
					    target, ids[target], kind, name);
		}
	}
}

static void thread_of_another_process_is_eperm(void **state)
{
	const char *name;
	size_t i;

	(void)state;
	start_subject(THREAD_ELSEWHERE);
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		enum cpuclock_kind kind = any_kind(name);

		if (!gives(name, CPUCLOCK_THREAD))
			continue;
		assert_open(-EPERM, CPUCLOCK_THREAD, subject.tid, kind, name);
		/* Also the first thread, whose TID is the PID. */
		assert_open(-EPERM, CPUCLOCK_THREAD, subject.tgid, kind, name);
		assert_open(-EPERM, CPUCLOCK_THREAD, 1, kind, name);
	}
	assert_open(-EPERM, CPUCLOCK_THREAD, subject.tid, CPUCLOCK_TOTAL, NULL);
}

static void assert_no_process(pid_t tid)
{
	const char *source;
	unsigned int kind;
	size_t n = 0;

	while (next_source(&n, &source)) {
		for (kind = 0; kind < N_KINDS; kind++) {
			struct cpuclock_source_info info = {0};

			if (source) {
				assert_int_equal(get_info(source, &info), 0);
				if (info.status || !(info.kinds & 1U << kind) ||
				    !(info.targets & 1U << CPUCLOCK_PROCESS))
					continue;
			} else if (!cpuclock_best_source(CPUCLOCK_PROCESS,
							 kind)) {
				continue;
			}
			assert_open(-EINVAL, CPUCLOCK_PROCESS, tid, kind,
				    source);
		}
	}
}

static void thread_where_a_process_is_asked_for_is_einval(void **state)
{
	(void)state;
	start_subject(THREAD);
	assert_no_process(subject.tid);
	stop_subject();
	start_subject(THREAD_ELSEWHERE);
	assert_no_process(subject.tid);
}

static void *ask_for_itself_as_a_process(void *ret)
{
	const char *source;
	bool *wrong = ret;
	size_t n = 0;

	while (next_source(&n, &source)) {
		struct cpuclock_source_info info = {0};

		if (source && (get_info(source, &info) || info.status ||
			       !(info.targets & 1U << CPUCLOCK_PROCESS)))
			continue;
		*wrong |= try_open(CPUCLOCK_PROCESS, (pid_t)syscall(SYS_gettid),
				   CPUCLOCK_TOTAL, source) != -EINVAL;
	}
	return NULL;
}

/* The kernel takes the TID of the caller, and only of the caller, for a PID. */
static void calling_thread_is_no_process_either(void **state)
{
	bool wrong = false;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL,
					ask_for_itself_as_a_process, &wrong),
			 0);
	pthread_join(thread, NULL);
	assert_false(wrong);
}

static void id_of_no_one_is_esrch(void **state)
{
	struct cpuclock_source_info info = {0};
	unsigned int target;
	const char *name;
	pid_t id = 4194304;
	size_t i;

	(void)state;
	if (is_alive(0, id)) {
		start_subject(PROCESS);
		id = subject.tgid;
		stop_subject();
	}
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		for (target = CPUCLOCK_THREAD; target < N_TARGETS; target++) {
			if (!info.status && info.targets & 1U << target)
				assert_open(-ESRCH, target, id, any_kind(name),
					    name);
		}
	}
}

static const char *best_by_the_table(unsigned int target, unsigned int kind)
{
	struct cpuclock_source_info info = {0};
	const char *name;
	size_t i;

	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		if (!info.status && info.targets & 1U << target &&
		    info.kinds & 1U << kind)
			return name;
	}
	return NULL;
}

static void best_source_is_the_first_of_the_table_that_works(void **state)
{
	const pid_t ids[N_TARGETS] = {0, getpid(), getpid(), getpid()};
	unsigned int target, kind;

	(void)state;
	for (target = 0; target < N_TARGETS; target++) {
		for (kind = 0; kind < N_KINDS; kind++) {
			const char *expected = best_by_the_table(target, kind);
			const char *best;
			struct cpuclock *clock = NULL;

			errno = STRANGE_ERRNO;
			best = cpuclock_best_source(target, kind);
			assert_int_equal(errno, STRANGE_ERRNO);
			assert_true(!best == !expected);
			if (!best) {
				print_message("# none: target %u, %s\n", target,
					      kind_words[kind]);
				assert_true(try_open(target, ids[target], kind,
						     NULL) < 0);
				continue;
			}
			assert_string_equal(best, expected);
			assert_int_equal(open_clock(target, ids[target], kind,
						    NULL, &clock),
					 0);
			errno = STRANGE_ERRNO;
			assert_string_equal(cpuclock_clock_source(clock), best);
			assert_int_equal(errno, STRANGE_ERRNO);
			close_clock(clock);
		}
	}
	assert_null(cpuclock_best_source(4, CPUCLOCK_TOTAL));
	assert_null(cpuclock_best_source((enum cpuclock_target) - 1, 0));
	assert_null(cpuclock_best_source(CPUCLOCK_SELF, 4));
	assert_null(cpuclock_best_source(0, (enum cpuclock_kind) - 1));
}

static void clock_says_which_source_it_reads(void **state)
{
	struct cpuclock *clock = NULL;
	const char *name;
	size_t i;

	(void)state;
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		if (!gives(name, CPUCLOCK_SELF))
			continue;
		assert_int_equal(open_clock(CPUCLOCK_SELF, 0, any_kind(name),
					    name, &clock),
				 0);
		assert_string_equal(cpuclock_clock_source(clock), name);
		close_clock(clock);
	}
}

static void resolution_is_given_for_what_is_offered(void **state)
{
	struct cpuclock_source_info info = {0};
	unsigned int kind;
	const char *name;
	size_t i;

	(void)state;
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		for (kind = 0; kind < N_KINDS; kind++) {
			int64_t ns;

			errno = STRANGE_ERRNO;
			ns = cpuclock_source_resolution(name, kind);
			assert_int_equal(errno, STRANGE_ERRNO);
			if (info.kinds & 1U << kind)
				assert_true(ns > 0 && ns <= NS_PER_S / 10);
			else
				assert_int_equal(ns, -EOPNOTSUPP);
		}
		assert_true(cpuclock_source_resolution(name, 4) < 0);
		assert_true(cpuclock_source_resolution(
				    name, (enum cpuclock_kind) - 1) < 0);
	}
	assert_int_equal(cpuclock_source_resolution("posix", CPUCLOCK_TOTAL),
			 1);
	assert_int_equal(cpuclock_source_resolution("posix", CPUCLOCK_TICKS),
			 tick_ns());
}

/* Ticks are left out: they lose what a hypervisor has stolen of them. */
static void assert_whole_steps(const char *source, unsigned int kind)
{
	int64_t step = cpuclock_source_resolution(source, kind);
	int64_t total = cpuclock_source_resolution(source, CPUCLOCK_TOTAL);
	struct cpuclock *clock = NULL;
	int64_t ns;

	/* Parts that add up to a finer total are cut where it is. */
	if (total > 0 && total < step)
		step = total;
	assert_int_equal(open_clock(CPUCLOCK_SELF, 0, kind, source, &clock), 0);
	ns = read_clock(clock);
	close_clock(clock);
	assert_int_equal(ns % step, 0);
}

static void values_are_multiples_of_the_resolution(void **state)
{
	struct cpuclock_source_info info = {0};
	unsigned int kind;
	const char *name;
	size_t i;

	(void)state;
	burn_user(30 * NS_PER_MS);
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		if (info.status || !(info.targets & 1U << CPUCLOCK_SELF))
			continue;
		for (kind = 0; kind <= CPUCLOCK_SYSTEM; kind++) {
			if (info.kinds & 1U << kind)
				assert_whole_steps(name, kind);
		}
	}
}

static void closing_null_is_allowed(void **state)
{
	(void)state;
	close_clock(NULL);
}

static void source_of_the_calling_thread_is_named(void **state)
{
	const char *name;
	size_t i, length;

	(void)state;
	errno = STRANGE_ERRNO;
	name = cpuclock_self_source();
	assert_int_equal(errno, STRANGE_ERRNO);
	assert_non_null(name);
	/* An epoch may follow, as in fast:rseq. */
	length = strcspn(name, ":");
	for (i = 0; cpuclock_source_at(i); i++) {
		if (strlen(cpuclock_source_at(i)) == length &&
		    strncmp(cpuclock_source_at(i), name, length) == 0)
			return;
	}
	fail_msg("%s is not in the table", name);
}

/* ---- Handles of the calling thread --------------------------------------- */

struct borrowed {
	const struct cpuclock *clock;
	int64_t ns;
	int64_t kernel_ns;
};

static void *read_borrowed(void *arg)
{
	struct borrowed *borrowed = arg;

	borrowed->ns = read_clock(borrowed->clock);
	borrowed->kernel_ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void handle_of_self_answers_for_the_thread_that_reads(void **state)
{
	struct cpuclock_source_info info = {0};
	unsigned int kind;
	const char *name;
	size_t i;

	(void)state;
	burn_user(100 * NS_PER_MS);
	burn_kernel(100 * NS_PER_MS);
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		for (kind = 0; kind < N_KINDS; kind++) {
			struct borrowed borrowed;
			struct cpuclock *clock = NULL;
			pthread_t thread;

			if (info.status || !(info.kinds & 1U << kind) ||
			    !(info.targets & 1U << CPUCLOCK_SELF))
				continue;
			assert_int_equal(open_clock(CPUCLOCK_SELF, 0, kind,
						    name, &clock),
					 0);
			/* The kernel may have taken few samples of the parts */
			assert_true(kind != CPUCLOCK_TOTAL ||
				    read_clock(clock) >= 150 * NS_PER_MS);
			borrowed.clock = clock;
			assert_int_equal(pthread_create(&thread, NULL,
							read_borrowed,
							&borrowed),
					 0);
			pthread_join(thread, NULL);
			assert_true(borrowed.ns >= 0);
			assert_true(borrowed.ns <=
				    borrowed.kernel_ns + slack_ns(name, kind));
			close_clock(clock);
		}
	}
}

/*
 * A sleep shorter than an answer may be carried forward. The work before it
 * brings the answer back to the kernel's clock, and the look at that clock
 * brings up to date what is read from /proc.
 */
static int count_billed_naps(const struct cpuclock *clock, int naps)
{
	int billed = 0;

	while (naps--) {
		int64_t before, after;

		burn_user(1200000);
		kernel_ns(CLOCK_THREAD_CPUTIME_ID);
		before = read_clock(clock);
		sleep_ns(400000);
		after = read_clock(clock);
		assert_true(before >= 0 && after >= 0);
		billed += after - before > 300000;
	}
	return billed;
}

static void short_sleep_is_not_billed(void **state)
{
	const char *name;
	size_t i;

	(void)state;
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		struct cpuclock *clock = NULL;
		int billed;

		if (!gives(name, CPUCLOCK_SELF) ||
		    open_clock(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL, name, &clock))
			continue;
		billed = count_billed_naps(clock, 50);
		close_clock(clock);
		/* A step of 10 ms may end, and an interrupt come, in some. */
		if (billed > 15)
			fail_msg("%s: %d of 50", name, billed);
	}
}

/* ---- Ends, and what comes after ------------------------------------------ */

/* Opens and reads each kind of each source of the process; all must do. */
static void assert_process_has(pid_t pid, int64_t least_total)
{
	struct cpuclock_source_info info = {0};
	struct cpuclock *clock = NULL;
	unsigned int kind;
	const char *name;
	int64_t ns;
	size_t i;

	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		for (kind = 0; kind < N_KINDS; kind++) {
			if (info.status || !(info.kinds & 1U << kind) ||
			    !(info.targets & 1U << CPUCLOCK_PROCESS))
				continue;
			assert_int_equal(open_clock(CPUCLOCK_PROCESS, pid, kind,
						    name, &clock),
					 0);
			ns = read_clock(clock);
			close_clock(clock);
			if (ns < 0)
				print_error("%s, %s: %lld\n", name,
					    kind_words[kind], (long long)ns);
			assert_true(ns >= 0);
			if (kind == CPUCLOCK_TOTAL &&
			    ns < least_total - slack_ns(name, kind))
				fail_msg("%s: %lld of %lld ns", name,
					 (long long)ns, (long long)least_total);
		}
	}
}

static void zombie_is_readable_until_it_is_reaped(void **state)
{
	const int64_t work = 50 * NS_PER_MS;
	siginfo_t info;

	(void)state;
	start_subject(PROCESS);
	tell(BURN_USER, work, NULL);
	shutdown(subject.near, SHUT_RDWR);
	assert_int_equal(
		waitid(P_PID, (id_t)subject.pid, &info, WEXITED | WNOWAIT), 0);
	assert_process_has(subject.pid, work);
}

static void *work_then_stay(void *ready)
{
	burn_user(50 * NS_PER_MS);
	/* Not before the first thread is a zombie: see the caller. */
	if (write(*(const int *)ready, "", 1) != 1)
		_exit(1);
	pause();
	return NULL;
}

static void process_whose_first_thread_has_ended_is_readable(void **state)
{
	int ready[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	memset(&subject, 0, sizeof(subject));
	subject.place = THREAD_ELSEWHERE; /* to be killed */
	subject.pid = fork();
	assert_true(subject.pid >= 0);
	if (!subject.pid) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, work_then_stay, &ready[1]))
			_exit(1);
		/* This thread alone. */
		syscall(SYS_exit, 0);
	}
	subject.running = true;
	subject.near = ready[0];
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_process_has(subject.pid, 50 * NS_PER_MS);
}

static const char last_pid_path[] = "/proc/sys/kernel/ns_last_pid";

/* The next thread or process that is made gets the number after. */
static int set_last_id(int id)
{
	FILE *file = fopen(last_pid_path, "we");
	int r = 0;

	if (!file)
		return -errno;
	if (fprintf(file, "%d", id) < 0)
		r = -errno;
	if (fclose(file))
		r = -errno;
	return r;
}

static int get_last_id(void)
{
	FILE *file = fopen(last_pid_path, "re");
	char text[16] = "";

	if (!file)
		return -errno;
	if (!fgets(text, sizeof(text), file))
		*text = '\0';
	fclose(file);
	return *text ? (int)strtol(text, NULL, 10) : -EIO;
}

/* Ends the subject and starts another one, that has got its number. */
static void replace_subject(enum place place)
{
	struct reader reader = subject.reader;
	pid_t id = subject.tid;
	int i, r;

	/* A start time is in ticks of 10 ms: not one that is the same. */
	sleep_ns(30 * NS_PER_MS);
	for (i = 0; i < 100; i++) {
		int last = get_last_id();

		stop_subject();
		memset(&subject.reader, 0, sizeof(subject.reader));
		r = last < 0 ? last : set_last_id(id - 1);
		if (r)
			break;
		start_subject(place);
		/* Or others would get numbers that have just been freed. */
		set_last_id(last);
		if (subject.tid == id)
			break;
	}
	subject.reader = reader;
	if (r)
		skip_because("a TID cannot be asked for: %s: %s", last_pid_path,
			     strerror(-r));
	if (!subject.running || subject.tid != id)
		skip_because("others took TID %d each time", (int)id);
	print_message("# number %d was given again\n", (int)id);
}

static void assert_proc_notices(enum place place, unsigned int target)
{
	struct reader foreign = {0};
	unsigned int kind;

	if (!gives("proc", target) || !gives("proc", CPUCLOCK_FOREIGN))
		skip_because("proc does not work here");
	start_subject(place);
	assert_int_equal(
		reader_open(&subject.reader, target, subject.tid, 7, "proc"),
		0);
	assert_int_equal(
		reader_open(&foreign, CPUCLOCK_FOREIGN, subject.tid, 7, "proc"),
		0);
	tell(BURN_USER, 20 * NS_PER_MS, NULL);
	replace_subject(place);
	tell(BURN_USER, 20 * NS_PER_MS, NULL);
	for (kind = 0; kind <= CPUCLOCK_SYSTEM; kind++) {
		assert_int_equal(read_clock(subject.reader.clocks[kind]),
				 -ESRCH);
		assert_int_equal(read_clock(foreign.clocks[kind]), -ESRCH);
		assert_open(0, target, subject.tid, kind, "proc");
	}
	reader_close(&foreign);
}

static void proc_takes_no_new_thread_for_the_old(void **state)
{
	(void)state;
	assert_proc_notices(THREAD, CPUCLOCK_THREAD);
}

static void proc_takes_no_new_process_for_the_old(void **state)
{
	(void)state;
	assert_proc_notices(PROCESS, CPUCLOCK_PROCESS);
}

static void total_that_falls_is_that_of_a_new_thread(void **state)
{
	struct cpuclock *clocks[2 * N_TARGETS];
	const char *const sources[] = {"posix", "schedstat"};
	size_t n = 0, i;

	(void)state;
	start_subject(THREAD);
	tell(BURN_USER, 20 * NS_PER_MS, NULL);
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (gives(sources[i], CPUCLOCK_THREAD))
			assert_int_equal(open_clock(CPUCLOCK_THREAD,
						    subject.tid, CPUCLOCK_TOTAL,
						    sources[i], &clocks[n++]),
					 0);
		if (gives(sources[i], CPUCLOCK_FOREIGN))
			assert_int_equal(open_clock(CPUCLOCK_FOREIGN,
						    subject.tid, CPUCLOCK_TOTAL,
						    sources[i], &clocks[n++]),
					 0);
	}
	for (i = 0; i < n; i++)
		assert_true(read_clock(clocks[i]) >= 20 * NS_PER_MS);
	replace_subject(THREAD);
	for (i = 0; i < n; i++)
		assert_int_equal(read_clock(clocks[i]), -ESRCH);
	while (n)
		close_clock(clocks[--n]);
}

static void process_whose_number_went_to_a_thread_is_none(void **state)
{
	int64_t ns;

	(void)state;
	start_subject(PROCESS);
	assert_int_equal(reader_open(&subject.reader, CPUCLOCK_PROCESS,
				     subject.tid, 1, "posix"),
			 0);
	replace_subject(THREAD);
	ns = read_clock(subject.reader.clocks[CPUCLOCK_TOTAL]);
	assert_int_equal(ns, -EINVAL);
}

/* What is another thread of the parent's is none of the child's. */
static void thread_handle_in_a_child_of_fork_is_eperm(void **state)
{
	struct cpuclock_source_info info = {0};
	const char *name;
	size_t i;

	(void)state;
	start_subject(THREAD);
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		int status;
		pid_t pid;

		if (!gives(name, CPUCLOCK_THREAD))
			continue;
		assert_int_equal(get_info(name, &info), 0);
		assert_int_equal(reader_open(&subject.reader, CPUCLOCK_THREAD,
					     subject.tid, info.kinds, name),
				 0);
		pid = fork();
		if (!pid) {
			unsigned int kind;

			status = 0;
			for (kind = 0; kind < N_KINDS; kind++) {
				if (info.kinds & 1U << kind)
					status |=
						read_clock(subject.reader.clocks
								   [kind]) !=
						-EPERM;
			}
			_exit(status);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		reader_close(&subject.reader);
		if (status)
			fail_msg("%s", name);
	}
}

/* ---- System calls, counted ----------------------------------------------- */

#define N_COUNTED_READS 5

/* Reads between two calls of getppid, for a tracer to see. */
static void read_under_trace(const struct cpuclock *clock)
{
	int i;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	cpuclock_read(clock);
	raise(SIGSTOP);
	syscall(SYS_getppid);
	for (i = 0; i < N_COUNTED_READS; i++)
		cpuclock_read(clock);
	syscall(SYS_getppid);
	_exit(0);
}

/* System calls of the child between its two of getppid, or -errno. */
static int count_system_calls(pid_t pid)
{
	struct __ptrace_syscall_info info;
	int calls = 0, marks = 0, status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -EPERM;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		return -errno;
	while (!ptrace(PTRACE_SYSCALL, pid, NULL, NULL) &&
	       waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <
		    0)
			return -errno;
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (info.entry.nr == SYS_getppid)
			marks++;
		else if (marks == 1)
			calls++;
	}
	return marks == 2 ? calls : -ECHILD;
}

static void assert_system_calls(const struct cpuclock_source_info *info,
				enum cpuclock_target target,
				enum cpuclock_kind kind)
{
	pid_t id = target == CPUCLOCK_SELF ? 0 : getpid();
	struct cpuclock *clock = NULL;
	int calls, said, most;
	pid_t pid;

	assert_int_equal(open_clock(target, id, kind, info->name, &clock), 0);
	pid = fork();
	if (!pid)
		read_under_trace(clock);
	close_clock(clock);
	assert_true(pid > 0);
	calls = count_system_calls(pid);
	if (calls < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		skip_because("a child cannot be traced: %s", strerror(-calls));
	}
	said = info->system_calls * N_COUNTED_READS;
	/* Each stop brings the split up to date: it is newer than the clock. */
	most = said + (strcmp(info->name, "rusage") == 0 ? N_COUNTED_READS : 0);
	if (calls < said || calls > most)
		fail_msg("%s, target %u, %s: %d system calls in %d reads, said "
			 "to be %d in each",
			 info->name, target, kind_words[kind], calls,
			 N_COUNTED_READS, info->system_calls);
}

static void read_costs_the_system_calls_that_it_says(void **state)
{
	/* Of a child, threads of the parent are not its own. */
	static const enum cpuclock_target targets[] = {
		CPUCLOCK_SELF, CPUCLOCK_PROCESS, CPUCLOCK_FOREIGN};
	struct cpuclock_source_info info = {0};
	unsigned int kind;
	const char *name;
	size_t i, j;

	(void)state;
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		/* Where a stop of the tracer ends an epoch, all are slow. */
		if (info.status || !info.system_calls)
			continue;
		for (j = 0; j < ARRAY_SIZE(targets); j++) {
			for (kind = 0; kind < N_KINDS; kind++) {
				if (info.targets & 1U << targets[j] &&
				    info.kinds & 1U << kind)
					assert_system_calls(&info, targets[j],
							    kind);
			}
		}
	}
}

/* ---- No system calls ----------------------------------------------------- */

#define MANY_READS 100

/* The kernel's clocks refuse to answer from here on. */
static int refuse_clocks(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {ARRAY_SIZE(filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno
								    : 0;
}

/* 0 if many reads got along without the kernel, after one that did not. */
static int read_in_seclusion(const struct cpuclock *clock)
{
	int64_t last;
	int i;

	/* A thread gets an epoch that has a cost only when it reads a lot. */
	for (i = 0; i < 1000; i++)
		last = cpuclock_read(clock);
	if (refuse_clocks())
		return 77;
	for (i = 0; i < MANY_READS; i++) {
		int64_t ns = cpuclock_read(clock);

		if (ns < 0)
			return 1;
		if (ns < last)
			return 2;
		last = ns;
	}
	return 0;
}

/* A thread that is switched out, or whose window ends, has to ask again. */
static void assert_no_system_calls(const char *source, unsigned int kind)
{
	struct cpuclock *clock = NULL;
	int status = 0, try;

	assert_int_equal(open_clock(CPUCLOCK_SELF, 0, kind, source, &clock), 0);
	for (try = 0; try < 100; try++) {
		pid_t pid = fork();

		if (!pid)
			_exit(read_in_seclusion(clock));
		waitpid(pid, &status, 0);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) != 1)
			break;
	}
	close_clock(clock);
	if (WEXITSTATUS(status) == 77)
		skip_because("seccomp(2) is not allowed");
	if (status)
		fail_msg("%s, %s: %d", source, kind_words[kind],
			 WEXITSTATUS(status));
}

static void read_without_system_calls_makes_none(void **state)
{
	struct cpuclock_source_info info = {0};
	unsigned int kind;
	const char *name;
	size_t i;

	(void)state;
	for (i = 0; (name = cpuclock_source_at(i)); i++) {
		assert_int_equal(get_info(name, &info), 0);
		for (kind = 0; kind < N_KINDS; kind++) {
			if (!info.status && !info.system_calls &&
			    info.kinds & 1U << kind)
				assert_no_system_calls(name, kind);
		}
	}
}

/* ---- A /proc that goes away ---------------------------------------------- */

#define PROC_IS_STILL_HERE 77

static void read_without_proc(const char *folder, const struct reader *reader)
{
	int wrong = 0;
	size_t kind;
	int64_t ns;

	if (chroot(folder) || chdir("/"))
		_exit(PROC_IS_STILL_HERE);
	for (kind = 0; kind < N_KINDS; kind++) {
		if (!reader->clocks[kind])
			continue;
		ns = read_clock(reader->clocks[kind]);
		/* It lives, so it has not ended. */
		if (ns != -EOPNOTSUPP)
			wrong |= ns == BROKE_ERRNO ? 2 : 1;
	}
	_exit(wrong);
}

/* As for a handle opened before a chroot(2). */
static void proc_that_goes_away_is_an_error_of_its_own(void **state)
{
	static const char *const sources[] = {"proc", "schedstat"};
	static const unsigned int kinds[] = {7, 1};
	char folder[] = "/tmp/cpuclock-XXXXXX";
	struct reader reader = {0};
	int status = 0, all = 0;
	size_t i;

	(void)state;
	if (!gives("proc", CPUCLOCK_FOREIGN) ||
	    !gives("schedstat", CPUCLOCK_FOREIGN))
		skip_because("/proc is not here");
	assert_non_null(mkdtemp(folder));
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		pid_t pid;

		assert_int_equal(reader_open(&reader, CPUCLOCK_FOREIGN,
					     getpid(), kinds[i], sources[i]),
				 0);
		pid = fork();
		if (!pid)
			read_without_proc(folder, &reader);
		waitpid(pid, &status, 0);
		reader_close(&reader);
		all |= WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	}
	rmdir(folder);
	if (all == PROC_IS_STILL_HERE)
		skip_because("chroot(2) is not allowed");
	assert_int_equal(all, 0);
}

/* ---- The list of tests --------------------------------------------------- */

static const struct property {
	const char *words;
	CMUnitTestFunction function;
	bool total_only;
	bool outside_only;
} properties[] = {
	{"never runs backwards", never_runs_backwards, false, false},
	{"bills work and no sleep", bills_work_and_no_sleep, false, false},
	{"agrees with the kernel's clock", agrees_with_the_kernels_clock, true,
	 false},
	{"is ESRCH once it has ended", is_esrch_once_it_has_ended, false, true},
};

#define N_SOURCES_MAX 16
#define N_TESTS_MAX \
	(N_SOURCES_MAX * ARRAY_SIZE(whose_table) * ARRAY_SIZE(properties) + 64)

static struct plan plans[N_SOURCES_MAX * ARRAY_SIZE(whose_table)];
static char names[N_TESTS_MAX][128];
static struct CMUnitTest tests[N_TESTS_MAX];
static size_t n_tests;

static void add(const char *name, CMUnitTestFunction function,
		struct plan *plan)
{
	struct CMUnitTest *test = &tests[n_tests];

	if (n_tests == N_TESTS_MAX)
		abort();
	snprintf(names[n_tests], sizeof(names[n_tests]), "%s", name);
	test->name = names[n_tests];
	test->test_func = function;
	test->teardown_func = teardown;
	test->initial_state = plan;
	n_tests++;
}

static void add_plan(struct plan *plan)
{
	const struct whose *whose = plan->whose;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(properties); i++) {
		const struct property *property = &properties[i];
		char name[128];

		if (property->total_only &&
		    !(plan->source.kinds & 1U << CPUCLOCK_TOTAL))
			continue;
		if (property->outside_only && whose->inside)
			continue;
		snprintf(name, sizeof(name), "%s of %s %s", plan->source.name,
			 whose->words, property->words);
		add(name, property->function, plan);
	}
}

static void add_plans(void)
{
	const char *source;
	size_t n = 0, i, j;

	for (i = 0; (source = cpuclock_source_at(i)); i++) {
		for (j = 0; j < ARRAY_SIZE(whose_table); j++) {
			struct plan *plan = &plans[n];

			if (n == ARRAY_SIZE(plans) ||
			    cpuclock_source_info(source, &plan->source))
				abort();
			plan->whose = &whose_table[j];
			if (!(plan->source.targets & 1U << plan->whose->target))
				continue;
			n++;
			add_plan(plan);
		}
	}
}

#define ADD(function) add(#function, function, NULL)

int main(void)
{
	ADD(table_names_each_source_once);
	ADD(source_says_what_it_is_and_why_not);
	ADD(unknown_source_is_enoent);
	ADD(id_out_of_range_is_einval);
	ADD(self_with_an_id_is_einval);
	ADD(value_of_no_enum_is_einval);
	ADD(what_a_source_does_not_offer_is_refused);
	ADD(thread_of_another_process_is_eperm);
	ADD(thread_where_a_process_is_asked_for_is_einval);
	ADD(calling_thread_is_no_process_either);
	ADD(id_of_no_one_is_esrch);
	ADD(best_source_is_the_first_of_the_table_that_works);
	ADD(clock_says_which_source_it_reads);
	ADD(resolution_is_given_for_what_is_offered);
	ADD(values_are_multiples_of_the_resolution);
	ADD(closing_null_is_allowed);
	ADD(source_of_the_calling_thread_is_named);
	ADD(handle_of_self_answers_for_the_thread_that_reads);
	ADD(short_sleep_is_not_billed);
	ADD(zombie_is_readable_until_it_is_reaped);
	ADD(process_whose_first_thread_has_ended_is_readable);
	ADD(proc_takes_no_new_thread_for_the_old);
	ADD(proc_takes_no_new_process_for_the_old);
	ADD(total_that_falls_is_that_of_a_new_thread);
	ADD(process_whose_number_went_to_a_thread_is_none);
	ADD(thread_handle_in_a_child_of_fork_is_eperm);
	ADD(read_costs_the_system_calls_that_it_says);
	ADD(read_without_system_calls_makes_none);
	ADD(proc_that_goes_away_is_an_error_of_its_own);
	add_plans();
	/* What answers is settled by then, whatever tests are run. */
	cpuclock_best_source(CPUCLOCK_SELF, CPUCLOCK_TOTAL);
	return _cmocka_run_group_tests("source", tests, n_tests, NULL, NULL);
}
