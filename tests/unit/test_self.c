/* SPDX-License-Identifier: MIT */
/*
 * The calling thread: cpuclock_total, _user, _system and _self, against the
 * kernel's clock and against each other; in signal handlers, while threads
 * migrate, after every kind of fork, on the smallest stack, and without malloc.
 *
 * "user <= total" is what the JVM lost when it went from /proc to clock ids:
 * openjdk/jdk #28556 and #28545. Here it must hold for any call after another.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpuclock.h"
#include "support.h"

/* Since glibc 2.34. */
pid_t _Fork(void) __attribute__((weak));

/* ---- What was returned bounds what is returned after it ------------------ */

/*
 * The largest answers so far of one thread, handlers included, and the first
 * call that broke a rule. A call that a handler interrupts may return less
 * than the handler got: it began before. So a call is held to the bounds as
 * they were when it began.
 */
struct watch {
	volatile int64_t total, user, system;
	volatile long calls;
	const char *volatile fault;
	volatile int64_t got, bound;
};

static void raise_to(volatile int64_t *bound, int64_t ns)
{
	/* A handler in between makes it too low at worst: the test is milder */
	if (ns > *bound)
		*bound = ns;
}

static void check(struct watch *watch, const char *rule, int64_t got,
		  int64_t bound)
{
	if (got >= bound || watch->fault)
		return;
	watch->got = got;
	watch->bound = bound;
	watch->fault = rule;
}

static void call_total(struct watch *watch)
{
	int64_t bound = watch->total, parts = watch->user + watch->system;
	int64_t ns = cpuclock_total();

	check(watch, "total >= total before", ns, bound);
	check(watch, "total >= user before + system before", ns, parts);
	raise_to(&watch->total, ns);
}

static void call_user(struct watch *watch)
{
	int64_t bound = watch->user, ns = cpuclock_user();

	check(watch, "user >= user before", ns, bound);
	check(watch, "total >= user", cpuclock_total(), ns);
	raise_to(&watch->user, ns);
}

static void call_system(struct watch *watch)
{
	int64_t bound = watch->system, ns = cpuclock_system();

	check(watch, "system >= system before", ns, bound);
	check(watch, "total >= system", cpuclock_total(), ns);
	raise_to(&watch->system, ns);
}

static void call_self(struct watch *watch)
{
	int64_t total = watch->total, user = watch->user,
		system = watch->system;
	struct cpuclock_times times = {-1, -1, -1};

	check(watch, "cpuclock_self() == 0", -abs(cpuclock_self(&times)), 0);
	check(watch, "self: user + system == total",
	      -llabs(times.user_ns + times.system_ns - times.total_ns), 0);
	check(watch, "self: total >= total before", times.total_ns, total);
	check(watch, "self: user >= user before", times.user_ns, user);
	check(watch, "self: system >= system before", times.system_ns, system);
	raise_to(&watch->total, times.total_ns);
	raise_to(&watch->user, times.user_ns);
	raise_to(&watch->system, times.system_ns);
}

static void call_any(struct watch *watch)
{
	switch (watch->calls++ % 4) {
	case 0:
		call_total(watch);
		break;
	case 1:
		call_user(watch);
		break;
	case 2:
		call_self(watch);
		break;
	default:
		call_system(watch);
		break;
	}
}

static void assert_no_fault(const struct watch *watch)
{
	if (!watch->fault)
		return;
	print_error("%s is broken by call %ld: %lld, and %lld\n", watch->fault,
		    watch->calls, (long long)watch->got,
		    (long long)watch->bound);
	fail();
}

/* Runs it on a thread without a past, and waits. */
static void run_in_thread(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, function, arg), 0);
	pthread_join(thread, NULL);
}

/* ---- One thread ---------------------------------------------------------- */

static void *call_a_million_times(void *arg)
{
	struct watch *watch = arg;

	while (watch->calls < 1000000)
		call_any(watch);
	return NULL;
}

static void no_part_of_a_million_calls_decreases(void **state)
{
	struct watch watch = {0};

	(void)state;
	run_in_thread(call_a_million_times, &watch);
	assert_no_fault(&watch);
}

/* Where user mode and the kernel take turns, the split has most to move. */
static void *call_between_work(void *arg)
{
	struct watch *watch = arg;
	int i;

	for (i = 0; i < 2000; i++) {
		if (i / 100 % 2)
			burn_kernel(30000);
		else
			spin();
		call_any(watch);
	}
	return NULL;
}

static void no_part_decreases_as_the_work_changes(void **state)
{
	struct watch watch = {0};

	(void)state;
	run_in_thread(call_between_work, &watch);
	assert_no_fault(&watch);
}

/*
 * It may be ahead by a window. It is behind only for the time between a look
 * at the kernel's clock and one at the counter: mostly next to nothing, but a
 * machine may well stand still in between.
 */
static void total_is_the_kernels_clock(void **state)
{
	const int rounds = 100000;
	int64_t lead = lead_ns(cpuclock_self_source());
	struct cpuclock_times times;
	int near = 0, i;

	(void)state;
	for (i = 0; i < rounds; i++) {
		int64_t before = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
		int64_t total = cpuclock_total(), after;

		assert_int_equal(cpuclock_self(&times), 0);
		after = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
		assert_true(total >= before - lead && total <= after + lead);
		assert_true(times.total_ns >= total);
		assert_true(times.total_ns <= after + lead);
		near += total >= before - 20000 && total <= after + 20000;
	}
	print_message("# %d of %d within 20 us\n", near, rounds);
	assert_true(near > rounds / 2);
}

static void errno_and_the_rest_are_left_alone(void **state)
{
	struct cpuclock_times times[3];

	(void)state;
	memset(times, 0xa5, sizeof(times));
	errno = 4242;
	assert_true(cpuclock_total() >= 0);
	assert_true(cpuclock_user() >= 0);
	assert_true(cpuclock_system() >= 0);
	assert_int_equal(cpuclock_self(&times[1]), 0);
	assert_int_equal(errno, 4242);
	assert_memory_equal(&times[0], &times[2], sizeof(times[0]));
}

struct split {
	struct cpuclock_times before, user_work, kernel_work;
	int64_t sampled_ns; /* CPUCLOCK_PROF of the thread */
};

static void *work_in_both_modes(void *arg)
{
	struct split *split = arg;

	cpuclock_self(&split->before);
	burn_user(200 * NS_PER_MS);
	cpuclock_self(&split->user_work);
	burn_kernel(200 * NS_PER_MS);
	cpuclock_self(&split->kernel_work);
	split->sampled_ns = kernel_ns(-4);
	return NULL;
}

static bool is_near(int64_t ns, int64_t expected)
{
	return llabs(ns - expected) <= 40 * NS_PER_MS;
}

/*
 * It rests on samples, of which the kernel takes few or none where CPUs are
 * contended or stolen by a hypervisor.
 */
static void split_is_that_of_the_work(void **state)
{
	struct split split;
	int try;

	(void)state;
	for (try = 0; try < 8; try++) {
		run_in_thread(work_in_both_modes, &split);
		assert_true(split.kernel_work.total_ns >= 400 * NS_PER_MS);
		if (is_near(split.user_work.user_ns, 200 * NS_PER_MS) &&
		    is_near(split.user_work.system_ns, 0) &&
		    is_near(split.kernel_work.user_ns, 200 * NS_PER_MS) &&
		    is_near(split.kernel_work.system_ns, 200 * NS_PER_MS))
			return;
		print_message("# try %d: %lld + %lld, then %lld + %lld ns; "
			      "%lld sampled\n",
			      try + 1, (long long)split.user_work.user_ns,
			      (long long)split.user_work.system_ns,
			      (long long)split.kernel_work.user_ns,
			      (long long)split.kernel_work.system_ns,
			      (long long)split.sampled_ns);
	}
	if (split.sampled_ns < 300 * NS_PER_MS)
		skip_because("the kernel sampled %lld ns of 400 ms",
			     (long long)split.sampled_ns);
	fail();
}

static void *sleep_a_little(void *arg)
{
	struct split *split = arg;

	burn_user(20 * NS_PER_MS);
	cpuclock_self(&split->before);
	sleep_ns(100 * NS_PER_MS);
	cpuclock_self(&split->user_work);
	return NULL;
}

static void sleep_is_not_billed(void **state)
{
	struct split split;

	(void)state;
	run_in_thread(sleep_a_little, &split);
	assert_true(split.user_work.total_ns - split.before.total_ns <
		    25 * NS_PER_MS);
}

/*
 * What is kept of the last answers may be less than all of their bits, and no
 * longer than they need; but a query may well use seconds between two calls.
 * As that takes its time, it goes on while the other tests run.
 */
static struct {
	pthread_t thread;
	struct watch watch;
} patient;

static void call_after_long_work(struct watch *watch, void (*burn)(int64_t))
{
	int i;

	/* For the split to be anywhere but where the kernel's is. */
	for (i = 0; i < 400; i++) {
		if (i / 20 % 2)
			burn_kernel(30000);
		else
			spin();
		call_any(watch);
	}
	/* More than 2^31 ns. */
	burn(2300 * NS_PER_MS);
	for (i = 0; i < 1000; i++)
		call_any(watch);
}

static void *work_for_long(void *arg)
{
	call_after_long_work(arg, burn_kernel);
	call_after_long_work(arg, burn_user);
	return NULL;
}

static void no_part_decreases_over_seconds_without_a_call(void **state)
{
	(void)state;
	pthread_join(patient.thread, NULL);
	assert_no_fault(&patient.watch);
	assert_true(patient.watch.total > 4600 * NS_PER_MS);
}

/* ---- Signal handlers ----------------------------------------------------- */

/* Of the thread that is being interrupted; others block the signals. */
static struct watch interrupted;
static volatile sig_atomic_t handled;

static void call_all_in_handler(int signal)
{
	int saved = errno;

	(void)signal;
	call_self(&interrupted);
	call_user(&interrupted);
	call_system(&interrupted);
	call_total(&interrupted);
	if (errno != saved)
		check(&interrupted, "errno is left", 0, 1);
	handled++;
}

struct pest {
	pthread_t victim;
	volatile int stop;
};

static void *send_signals(void *arg)
{
	struct pest *pest = arg;

	while (!__atomic_load_n(&pest->stop, __ATOMIC_RELAXED)) {
		pthread_kill(pest->victim, SIGUSR1);
		spin();
	}
	return NULL;
}

static void handle(int signal, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler,
				   .sa_flags = SA_RESTART};

	sigaction(signal, &action, NULL);
}

/* Signals that threads other than the one in question shall not get. */
static void mask_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(how, &set, NULL);
}

/* As many calls as it takes; they may take next to no time. */
#define ENOUGH_HANDLERS 2000
#define MOST_CALLS	(WITH_THREAD_SANITIZER ? 1000000L : 100000000L)

static void *call_while_interrupted(void *arg)
{
	const struct itimerval often = {{0, 500}, {0, 500}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	struct pest pest = {pthread_self(), 0};
	pthread_t thread;
	long i;

	(void)arg;
	if (pthread_create(&thread, NULL, send_signals, &pest))
		return NULL;
	mask_signals(SIG_UNBLOCK);
	setitimer(ITIMER_PROF, &often, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < 300000 || (handled < ENOUGH_HANDLERS && i < MOST_CALLS);
	     i++)
		call_any(&interrupted);
	setitimer(ITIMER_PROF, &never, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	__atomic_store_n(&pest.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	mask_signals(SIG_BLOCK);
	return NULL;
}

static void no_part_decreases_when_handlers_call_in_between(void **state)
{
	(void)state;
	memset(&interrupted, 0, sizeof(interrupted));
	handled = 0;
	/* Three signals, so that handlers are interrupted by handlers. */
	handle(SIGPROF, call_all_in_handler);
	handle(SIGALRM, call_all_in_handler);
	handle(SIGUSR1, call_all_in_handler);
	run_in_thread(call_while_interrupted, NULL);
	print_message("# %d handlers in %ld calls\n", (int)handled,
		      interrupted.calls);
	assert_no_fault(&interrupted);
	if (WITH_THREAD_SANITIZER)
		skip_because("ThreadSanitizer puts handlers off until a call "
			     "that it knows");
	assert_true(handled > 100);
}

/* ---- Many threads, migrating --------------------------------------------- */

#define N_MIGRANTS 4

struct migrant {
	pthread_t thread;
	struct watch watch;
	cpu_set_t cpus;
	long moves;
};

/* To the next CPU that this process may use. */
static void migrate(struct migrant *migrant)
{
	int cpu = sched_getcpu();
	cpu_set_t one;
	int i;

	for (i = 1; i <= CPU_SETSIZE; i++) {
		if (CPU_ISSET((cpu + i) % CPU_SETSIZE, &migrant->cpus))
			break;
	}
	CPU_ZERO(&one);
	CPU_SET((cpu + i) % CPU_SETSIZE, &one);
	if (!sched_setaffinity(0, sizeof(one), &one) && sched_getcpu() != cpu)
		migrant->moves++;
}

static void *call_and_migrate(void *arg)
{
	struct migrant *migrant = arg;

	while (migrant->watch.calls < 40000) {
		call_any(&migrant->watch);
		if (migrant->watch.calls % 50 == 0)
			migrate(migrant);
	}
	return NULL;
}

static void no_part_decreases_as_threads_migrate(void **state)
{
	struct migrant migrants[N_MIGRANTS];
	long moves = 0;
	size_t i;

	(void)state;
	memset(migrants, 0, sizeof(migrants));
	for (i = 0; i < N_MIGRANTS; i++) {
		assert_int_equal(sched_getaffinity(0, sizeof(migrants[i].cpus),
						   &migrants[i].cpus),
				 0);
		assert_int_equal(pthread_create(&migrants[i].thread, NULL,
						call_and_migrate, &migrants[i]),
				 0);
	}
	for (i = 0; i < N_MIGRANTS; i++) {
		pthread_join(migrants[i].thread, NULL);
		moves += migrants[i].moves;
	}
	for (i = 0; i < N_MIGRANTS; i++)
		assert_no_fault(&migrants[i].watch);
	print_message("# %ld moves\n", moves);
	if (!moves)
		skip_because("there is but one CPU to be on");
}

/* ---- After fork ---------------------------------------------------------- */

/* In memory that a child shares, so that it can tell what it found. */
struct family {
	struct watch watch; /* of the child */
	struct cpuclock_times first, grown;
	int64_t kernel_ns; /* right after first */
	int done;
};

static struct family *family;

static int begin(void **state)
{
	(void)state;
	if (pthread_create(&patient.thread, NULL, work_for_long,
			   &patient.watch))
		return -1;
	family = mmap(NULL, sizeof(*family), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return family == MAP_FAILED;
}

static int end(void **state)
{
	(void)state;
	return munmap(family, sizeof(*family));
}

static void look_as_a_child(void)
{
	int i;

	cpuclock_self(&family->first);
	family->kernel_ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
	raise_to(&family->watch.total, family->first.total_ns);
	raise_to(&family->watch.user, family->first.user_ns);
	raise_to(&family->watch.system, family->first.system_ns);
	for (i = 0; i < 1000; i++)
		call_any(&family->watch);
	burn_user(40 * NS_PER_MS);
	for (i = 0; i < 1000; i++)
		call_any(&family->watch);
	cpuclock_self(&family->grown);
	family->done = 1;
}

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void assert_sane_child(pid_t pid)
{
	const struct cpuclock_times *first = &family->first;
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(family->done);
	assert_no_fault(&family->watch);
	assert_true(first->total_ns >= 0 && first->user_ns >= 0 &&
		    first->system_ns >= 0);
	assert_int_equal(first->user_ns + first->system_ns, first->total_ns);
	assert_true(first->total_ns <= family->kernel_ns);
	assert_true(family->grown.total_ns - first->total_ns >= 40 * NS_PER_MS);
	assert_true(family->grown.user_ns > first->user_ns);
}

/* A parent whose times are large, and known to the library. */
static void become_old(void)
{
	struct cpuclock_times times;

	burn_user(100 * NS_PER_MS);
	burn_kernel(100 * NS_PER_MS);
	cpuclock_self(&times);
}

static void assert_child_begins_anew(pid_t (*make_child)(void))
{
	struct watch parent = {0};
	pid_t pid;
	int i;

	become_old();
	for (i = 0; i < 3; i++) {
		memset(family, 0, sizeof(*family));
		call_self(&parent);
		pid = make_child();
		if (!pid) {
			look_as_a_child();
			end_child(0);
		}
		call_self(&parent);
		assert_sane_child(pid);
		assert_no_fault(&parent);
	}
}

static void child_of_fork_begins_anew(void **state)
{
	(void)state;
	assert_child_begins_anew(fork);
}

static void child_of_underscore_fork_begins_anew(void **state)
{
	(void)state;
	if (!_Fork)
		skip_because("this libc has no _Fork");
	assert_child_begins_anew(_Fork);
}

static void child_of_raw_clone_begins_anew(void **state)
{
	(void)state;
	assert_child_begins_anew(raw_clone);
}

static void grandchild_begins_anew(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	memset(family, 0, sizeof(*family));
	become_old();
	pid = fork();
	if (!pid) {
		become_old();
		pid = raw_clone();
		if (!pid) {
			look_as_a_child();
			end_child(0);
		}
		end_child(waitpid(pid, &status, 0) != pid || status);
	}
	assert_sane_child(pid);
}

static volatile sig_atomic_t is_child;

static void clone_in_handler(int signal)
{
	int saved = errno;
	pid_t pid = raw_clone();

	(void)signal;
	if (!pid)
		is_child = 1;
	else if (pid > 0)
		handled++;
	errno = saved;
}

/*
 * The call that was interrupted began in the parent and may answer for it; the
 * next ones are of the child, whatever the first has left behind.
 */
static void look_after_an_interrupted_call(void)
{
	struct watch watch = {0};
	int64_t lead = lead_ns(cpuclock_self_source());
	struct cpuclock_times times;
	int64_t kernel, user;
	int i;

	for (i = 0; i < 100; i++) {
		call_self(&watch);
		cpuclock_self(&times);
		user = cpuclock_user();
		kernel = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
		check(&watch, "child's user >= 0", times.user_ns, 0);
		check(&watch, "child's system >= 0", times.system_ns, 0);
		check(&watch, "child's clock >= total", kernel + lead,
		      times.total_ns);
		check(&watch, "child's clock >= user", kernel + lead, user);
		call_any(&watch);
	}
	if (watch.fault)
		family->watch = watch;
	end_child(watch.fault != NULL);
}

static void *fork_in_the_midst_of_calls(void *arg)
{
	struct pest pest = {pthread_self(), 0};
	pthread_t thread;
	int *failed = arg;
	int i, status;

	become_old();
	if (pthread_create(&thread, NULL, send_signals, &pest))
		return NULL;
	mask_signals(SIG_UNBLOCK);
	for (i = 0; handled < 300 && i < 300000000; i++) {
		cpuclock_user();
		if (is_child)
			look_after_an_interrupted_call();
	}
	mask_signals(SIG_BLOCK);
	if (is_child)
		look_after_an_interrupted_call();
	__atomic_store_n(&pest.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	for (i = 0; i < handled; i++)
		*failed |= wait(&status) < 0 || status;
	return NULL;
}

static void child_made_in_the_midst_of_a_call_begins_anew(void **state)
{
	int failed = 0;

	(void)state;
	if (WITH_THREAD_SANITIZER)
		skip_because("ThreadSanitizer puts handlers off until the call "
			     "is over");
	memset(family, 0, sizeof(*family));
	handled = 0;
	is_child = 0;
	handle(SIGUSR1, clone_in_handler);
	run_in_thread(fork_in_the_midst_of_calls, &failed);
	print_message("# %d children\n", (int)handled);
	assert_no_fault(&family->watch);
	assert_false(failed);
	assert_true(handled > 0);
}

/* What a child found that runs on its parent's memory. */
struct borrower {
	struct watch watch;
	int64_t kernel_ns; /* right after the first call */
	int64_t first_ns;
};

/* Not vfork(2), which is not to be returned from; the same flags. */
static int be_a_borrower(void *arg)
{
	struct borrower *borrower = arg;
	int i;

	/* Until then the parent's answer may stand: see the header. */
	burn_user(2 * NS_PER_MS);
	borrower->first_ns = cpuclock_total();
	borrower->kernel_ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
	for (i = 0; i < 1000; i++)
		call_any(&borrower->watch);
	return 0;
}

static void skip_if_clone_is_a_fork(void)
{
	if (WITH_THREAD_SANITIZER)
		skip_because("ThreadSanitizer takes every clone(2) for a fork");
}

static pid_t lend_memory(struct borrower *borrower)
{
	static char stack[65536] __attribute__((aligned(16)));

	memset(borrower, 0, sizeof(*borrower));
	return clone(be_a_borrower, stack + sizeof(stack),
		     CLONE_VM | CLONE_VFORK | SIGCHLD, borrower);
}

static void vfork_child_does_the_parent_no_harm(void **state)
{
	int64_t lead = lead_ns(cpuclock_self_source());
	struct cpuclock_times before, after;
	struct borrower child;
	int i;

	(void)state;
	skip_if_clone_is_a_fork();
	become_old();
	for (i = 0; i < 20; i++) {
		int64_t kernel;
		pid_t pid;

		cpuclock_self(&before);
		pid = lend_memory(&child);
		assert_true(pid > 0);
		cpuclock_self(&after);
		kernel = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(after.user_ns + after.system_ns,
				 after.total_ns);
		assert_true(after.total_ns <= kernel + lead);
		assert_true(after.total_ns >= before.total_ns);
		assert_true(after.user_ns >= before.user_ns);
		assert_true(after.system_ns >= before.system_ns);
	}
}

static void vfork_child_is_told_its_own_total_after_a_window(void **state)
{
	int64_t lead = lead_ns(cpuclock_self_source());
	struct borrower child;
	int i;

	(void)state;
	skip_if_clone_is_a_fork();
	become_old();
	for (i = 0; i < 20; i++) {
		pid_t pid;

		/* For the parent to have just been told its own. */
		cpuclock_total();
		pid = lend_memory(&child);
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (child.first_ns > child.kernel_ns + lead)
			fail_msg("%lld ns of a child that has used %lld",
				 (long long)child.first_ns,
				 (long long)child.kernel_ns);
	}
}

/* ---- Small stacks -------------------------------------------------------- */

/* One handle of each source and kind of the calling thread. */
#define N_HANDLES_MAX 64

static struct cpuclock *handles[N_HANDLES_MAX];
static size_t n_handles;

static int open_handles(void **state)
{
	const char *source;
	unsigned int i, kind;

	(void)state;
	n_handles = 0;
	for (i = 0; (source = cpuclock_source_at(i)); i++) {
		for (kind = 0; kind < 4 && n_handles < N_HANDLES_MAX - 1;
		     kind++) {
			if (!cpuclock_open(CPUCLOCK_SELF, 0, kind, source,
					   &handles[n_handles]))
				n_handles++;
			if (!cpuclock_open(CPUCLOCK_PROCESS, getpid(), kind,
					   source, &handles[n_handles]))
				n_handles++;
		}
	}
	return n_handles == 0;
}

static int close_handles(void **state)
{
	(void)state;
	while (n_handles)
		cpuclock_close(handles[--n_handles]);
	return 0;
}

/* Every call that is AS-Safe. */
static void call_all_that_is_safe(struct watch *watch)
{
	struct cpuclock_clockid id = {CPUCLOCK_ID_SCHED, 1, 1};
	clockid_t clockid;
	size_t i;

	call_self(watch);
	call_user(watch);
	call_system(watch);
	call_total(watch);
	for (i = 0; i < n_handles; i++) {
		check(watch, "cpuclock_read() >= 0", cpuclock_read(handles[i]),
		      0);
		check(watch, "a handle has a source",
		      *cpuclock_clock_source(handles[i]), 1);
	}
	check(watch, "there is a source", *cpuclock_self_source(), 1);
	check(watch, "there is a resolution",
	      cpuclock_source_resolution(cpuclock_source_at(0), CPUCLOCK_TOTAL),
	      1);
	check(watch, "encode", cpuclock_clockid_encode(&id, &clockid), 0);
	check(watch, "decode", cpuclock_clockid_decode(clockid, &id), 0);
}

static void *call_on_a_small_stack(void *arg)
{
	struct watch *watch = arg;

	call_all_that_is_safe(watch);
	watch->calls++;
	return NULL;
}

static void smallest_stack_is_enough(void **state)
{
	struct watch watch = {0};
	pthread_attr_t attributes;
	pthread_t thread;
	long size = sysconf(_SC_THREAD_STACK_MIN);
	int r;

	(void)state;
	pthread_attr_init(&attributes);
	r = pthread_attr_setstacksize(&attributes, (size_t)size);
	assert_int_equal(r, 0);
	r = pthread_create(&thread, &attributes, call_on_a_small_stack, &watch);
	pthread_attr_destroy(&attributes);
	if (r)
		skip_because("no thread starts on %ld bytes of stack: %s", size,
			     strerror(r));
	pthread_join(thread, NULL);
	print_message("# %ld bytes of stack\n", size);
	assert_no_fault(&watch);
	assert_int_equal(watch.calls, 1);
}

/* ---- malloc: not in handlers, and not always --------------------------- */

#if defined(__GLIBC__) && !WITH_ADDRESS_SANITIZER && !WITH_THREAD_SANITIZER
#define OWN_MALLOC 1
#else
#define OWN_MALLOC 0
#endif

/* The allocator is as good as locked by the code that the handler stopped. */
static __thread volatile sig_atomic_t in_handler;
static volatile sig_atomic_t allocations_in_handlers;
static __thread volatile sig_atomic_t memory_is_short;

#if OWN_MALLOC

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static bool refuse(void)
{
	allocations_in_handlers += in_handler;
	if (memory_is_short)
		errno = ENOMEM;
	return memory_is_short;
}

void *malloc(size_t size)
{
	return refuse() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refuse() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
	return refuse() ? NULL : __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
	return refuse() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	*ret_block = memalign(alignment, size);
	return *ret_block ? 0 : ENOMEM;
}

void free(void *block)
{
	allocations_in_handlers += in_handler;
	__libc_free(block);
}

#endif

static void skip_without_own_malloc(void)
{
	if (!OWN_MALLOC)
		skip_because("malloc is a sanitizer's, or not glibc's, and "
			     "cannot be replaced");
}

static void call_in_handler_that_must_not_allocate(int signal)
{
	(void)signal;
	in_handler = 1;
	call_all_that_is_safe(&interrupted);
	in_handler = 0;
	handled++;
}

static void *allocate_while_interrupted(void *arg)
{
	struct pest pest = {pthread_self(), 0};
	pthread_t thread;
	long i;

	(void)arg;
	if (pthread_create(&thread, NULL, send_signals, &pest))
		return NULL;
	mask_signals(SIG_UNBLOCK);
	for (i = 0; handled < 2000 && i < 20000000; i++)
		free(malloc((size_t)i % 5000));
	mask_signals(SIG_BLOCK);
	__atomic_store_n(&pest.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return NULL;
}

static void handler_that_interrupts_malloc_may_make_the_safe_calls(void **state)
{
	(void)state;
	memset(&interrupted, 0, sizeof(interrupted));
	handled = 0;
	allocations_in_handlers = 0;
	handle(SIGUSR1, call_in_handler_that_must_not_allocate);
	run_in_thread(allocate_while_interrupted, NULL);
	print_message("# %d handlers, %zu handles\n", (int)handled, n_handles);
	assert_true(handled > 0);
	assert_no_fault(&interrupted);
	skip_without_own_malloc();
	assert_int_equal(allocations_in_handlers, 0);
}

static void open_says_that_memory_is_short(void **state)
{
	static char here[1];
	struct cpuclock *clock = (void *)here;
	int r;

	(void)state;
	skip_without_own_malloc();
	memory_is_short = 1;
	errno = 4242;
	r = cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL, NULL, &clock);
	memory_is_short = 0;
	assert_int_equal(errno, 4242);
	assert_int_equal(r, -ENOMEM);
	assert_ptr_equal(clock, here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_part_of_a_million_calls_decreases),
		cmocka_unit_test(no_part_decreases_as_the_work_changes),
		cmocka_unit_test(total_is_the_kernels_clock),
		cmocka_unit_test(errno_and_the_rest_are_left_alone),
		cmocka_unit_test(split_is_that_of_the_work),
		cmocka_unit_test(sleep_is_not_billed),
		cmocka_unit_test(
			no_part_decreases_when_handlers_call_in_between),
		cmocka_unit_test(no_part_decreases_as_threads_migrate),
		cmocka_unit_test(child_of_fork_begins_anew),
		cmocka_unit_test(child_of_underscore_fork_begins_anew),
		cmocka_unit_test(child_of_raw_clone_begins_anew),
		cmocka_unit_test(grandchild_begins_anew),
		cmocka_unit_test(child_made_in_the_midst_of_a_call_begins_anew),
		cmocka_unit_test(vfork_child_does_the_parent_no_harm),
		cmocka_unit_test(
			vfork_child_is_told_its_own_total_after_a_window),
		cmocka_unit_test_setup_teardown(smallest_stack_is_enough,
						open_handles, close_handles),
		cmocka_unit_test_setup_teardown(
			handler_that_interrupts_malloc_may_make_the_safe_calls,
			open_handles, close_handles),
		cmocka_unit_test(open_says_that_memory_is_short),
		cmocka_unit_test(no_part_decreases_over_seconds_without_a_call),
	};

	mask_signals(SIG_BLOCK);
	/* What answers is settled by then, whatever tests are run. */
	cpuclock_best_source(CPUCLOCK_SELF, CPUCLOCK_TOTAL);
	return cmocka_run_group_tests_name("self", tests, begin, end);
}
