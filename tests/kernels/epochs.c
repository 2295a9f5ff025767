/* SPDX-License-Identifier: MIT */
/*
 * epochs [SOURCE]
 *
 * The promises of the clock without a system call, on this kernel, for each of
 * its epochs by itself: a sleep is seen and never billed, nor is any other time
 * off the CPU; nothing goes backwards; a child of fork has a clock of its own.
 * Then that SOURCE, such as fast:rseq, is what answers when nobody chooses.
 *
 * Prints TAP, and each verdict as a comment. Needs nothing but libc and two
 * CPUs to be of use as the static first program on a foreign kernel. All its
 * limits are the kernel's own clock and the window: time itself may be unreal.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpuclock.h"
#include "epoch.h"
#include "fast.h"
#include "perf_page.h"

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

#define BLOCKS 50

/* Reads after which a thread has an epoch, also one that it must deserve. */
#define WARM_READS 3000

static const struct cpuclock__epoch *const epochs[] = {&cpuclock__epoch_rseq,
						       &cpuclock__epoch_perf};

#define N_EPOCHS (sizeof(epochs) / sizeof(epochs[0]))

/* ---- TAP ----------------------------------------------------------------- */

/* What a check found wrong first; empty if nothing. */
struct fault {
	char text[160];
};

static int n_tests, n_failures;

static void fault(struct fault *fault, const char *what, long long got,
		  long long bound)
{
	if (!*fault->text)
		snprintf(fault->text, sizeof(fault->text), "%s: %lld, %lld",
			 what, got, bound);
}

static void report(const char *epoch, const char *name,
		   const struct fault *fault)
{
	bool ok = !*fault->text;

	printf("%sok %d - %s: %s\n", ok ? "" : "not ", ++n_tests, epoch, name);
	if (!ok)
		printf("# %s\n", fault->text);
	n_failures += !ok;
}

static void report_skip(const char *epoch, const char *name, const char *why)
{
	printf("ok %d - %s: %s # SKIP %s\n", ++n_tests, epoch, name, why);
}

/* ---- Clocks -------------------------------------------------------------- */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t kernel_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void sleep_ns(int64_t ns)
{
	const struct timespec moment = {0, ns};

	nanosleep(&moment, NULL);
}

static void warm_up(void)
{
	for (int i = 0; i < WARM_READS; i++)
		cpuclock_total();
}

/* A read as the promises have it; returns it. */
static int64_t check_read(struct fault *found, int64_t before)
{
	int64_t ns = cpuclock_total();
	int64_t limit = kernel_ns() + CPUCLOCK__WINDOW_NS;

	if (ns < before)
		fault(found, "total went backwards", ns, before);
	if (ns > limit)
		fault(found,
		      "total is ahead of the kernel by more than "
		      "the window",
		      ns, limit);
	return ns;
}

/* ---- The word ------------------------------------------------------------ */

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Each sleep ends an epoch, and few of the calls that do not block do. */
static void check_word(const struct cpuclock__epoch *epoch, struct fault *found)
{
	cpuclock__epoch_word *word = epoch->attach();
	int seen = 0, kept = 0;

	if (!word) {
		fault(found, "this thread could not have a word", 0, 0);
		return;
	}
	for (int blocks = 0; blocks < BLOCKS;) {
		long before = switches();
		uint64_t value = epoch->arm(word);

		sleep_ns(NS_PER_MS);
		seen += *word != value;
		/* A timer can fire before the thread is off its CPU. */
		blocks += *word != value || switches() != before;
	}
	for (int i = 0; i < BLOCKS; i++) {
		uint64_t value = epoch->arm(word);

		syscall(SYS_getppid);
		kept += *word == value;
	}
	printf("# %s: saw %d of %d sleeps, kept over %d of %d calls\n",
	       epoch->name, seen, BLOCKS, kept, BLOCKS);
	if (seen != BLOCKS)
		fault(found, "sleeps that it saw", seen, BLOCKS);
	if (kept < BLOCKS / 2)
		fault(found, "calls that it was kept over", kept, BLOCKS);
	epoch->detach(word);
}

/* ---- Without asking the kernel ------------------------------------------- */

/* Some answers must move on though they come from one anchor. */
static void check_carried(const struct cpuclock__epoch *epoch,
			  struct fault *found)
{
	int carried = 0;

	(void)epoch;
	warm_up();
	for (int i = 0; i < 100000; i++) {
		uint64_t anchor = cpuclock__fast_anchor();
		int64_t before_ns = cpuclock_total();
		int64_t ns = cpuclock_total();

		carried += anchor && ns > before_ns &&
			   cpuclock__fast_anchor() == anchor;
	}
	printf("# %d of 100000 pairs of reads moved on within an anchor\n",
	       carried);
	if (carried < 1000)
		fault(found, "answers that were carried forward", carried,
		      100000);
}

static int child_status(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- Off the CPU --------------------------------------------------------- */

static void check_sleep(const struct cpuclock__epoch *epoch,
			struct fault *found)
{
	int64_t most_ns = 0, wall_ns = clock_ns(CLOCK_MONOTONIC);

	(void)epoch;
	warm_up();
	for (int i = 0; i < BLOCKS; i++) {
		int64_t kernel_before_ns = kernel_ns();
		int64_t before_ns = check_read(found, 0);
		int64_t billed_ns, used_ns;

		sleep_ns(5 * NS_PER_MS);
		billed_ns = check_read(found, before_ns) - before_ns;
		used_ns = kernel_ns() - kernel_before_ns;
		if (billed_ns > used_ns + CPUCLOCK__WINDOW_NS)
			fault(found, "a sleep was billed", billed_ns, used_ns);
		if (billed_ns > most_ns)
			most_ns = billed_ns;
	}
	printf("# sleeps of 5 ms were billed at most %lld us, and took %lld "
	       "us each\n",
	       (long long)most_ns / 1000,
	       (long long)(clock_ns(CLOCK_MONOTONIC) - wall_ns) / BLOCKS /
		       1000);
}

static atomic_bool stop_hog;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *hog(void *arg)
{
	(void)arg;
	pin(0);
	while (!stop_hog)
		;
	return NULL;
}

static void read_for(struct fault *found, int64_t ns)
{
	int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + ns;
	int64_t last_ns = 0;

	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		for (int i = 0; i < 100; i++)
			last_ns = check_read(found, last_ns);
	}
}

static void check_preemption(const struct cpuclock__epoch *epoch,
			     struct fault *found)
{
	pthread_t thread;

	(void)epoch;
	warm_up();
	stop_hog = false;
	if (pthread_create(&thread, NULL, hog, NULL)) {
		fault(found, "no thread could be made", 0, 0);
		return;
	}
	pin(0);
	read_for(found, 300 * NS_PER_MS);
	stop_hog = true;
	pthread_join(thread, NULL);
}

static void check_migration(const struct cpuclock__epoch *epoch,
			    struct fault *found)
{
	int64_t last_ns = 0;

	(void)epoch;
	warm_up();
	for (int i = 0; i < 500; i++) {
		pin(i % 2);
		for (int j = 0; j < 20; j++)
			last_ns = check_read(found, last_ns);
	}
}

/* A stopped process: by a signal, and for longer than the window. */
static void check_stop(const struct cpuclock__epoch *epoch, struct fault *found)
{
	pid_t pid = fork();

	(void)epoch;
	if (pid == 0) {
		struct fault inner = {""};

		warm_up();
		read_for(&inner, 200 * NS_PER_MS);
		if (*inner.text)
			printf("# %s\n", inner.text);
		_exit(*inner.text ? 1 : 0);
	}
	for (int i = 0; i < 10 && pid > 0; i++) {
		sleep_ns(10 * NS_PER_MS);
		kill(pid, SIGSTOP);
		sleep_ns(5 * NS_PER_MS);
		kill(pid, SIGCONT);
	}
	if (child_status(pid))
		fault(found, "the child that was stopped", 1, 0);
}

/* ---- Never backwards ----------------------------------------------------- */

static void check_parts(const struct cpuclock__epoch *epoch,
			struct fault *found)
{
	struct cpuclock_times last = {0}, times;

	(void)epoch;
	for (int i = 0; i < 20000; i++) {
		int err = cpuclock_self(&times);

		if (err)
			fault(found, "cpuclock_self", err, 0);
		if (times.total_ns < last.total_ns)
			fault(found, "total went backwards", times.total_ns,
			      last.total_ns);
		if (times.user_ns < last.user_ns)
			fault(found, "user went backwards", times.user_ns,
			      last.user_ns);
		if (times.system_ns < last.system_ns)
			fault(found, "system went backwards", times.system_ns,
			      last.system_ns);
		if (times.user_ns + times.system_ns != times.total_ns)
			fault(found, "user + system is not total",
			      times.user_ns + times.system_ns, times.total_ns);
		last = times;
		if (i % 100 == 0)
			syscall(SYS_getppid);
	}
}

static void check_reads(const struct cpuclock__epoch *epoch,
			struct fault *found)
{
	int64_t last_ns = 0;

	(void)epoch;
	for (int i = 0; i < 100000; i++) {
		int64_t ns = cpuclock_total();

		if (ns < last_ns)
			fault(found, "total went backwards", ns, last_ns);
		last_ns = ns;
		if (i % 64 == 0)
			last_ns = check_read(found, last_ns);
	}
}

/* ---- Children ------------------------------------------------------------ */

/* Its parent has used far more than the window that it may be ahead. */
static int check_child(void)
{
	struct fault found = {""};
	int64_t ns = check_read(&found, 0);

	sleep_ns(2 * NS_PER_MS);
	ns = check_read(&found, ns);
	for (int i = 0; i < WARM_READS; i++)
		ns = check_read(&found, ns);
	if (*found.text)
		printf("# %s\n", found.text);
	return *found.text ? 1 : 0;
}

static void check_fork(const struct cpuclock__epoch *epoch, struct fault *found)
{
	(void)epoch;
	while (cpuclock_total() < 200 * NS_PER_MS)
		;
	for (int i = 0; i < 20; i++) {
		int64_t ns = check_read(found, 0);
		pid_t pid =
			i % 2 ? fork()
			      : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		int status;

		if (pid == 0)
			_exit(check_child());
		status = child_status(pid);
		if (status)
			fault(found, "a child failed", status, 0);
		check_read(found, ns);
	}
}

/* ---- All of it ----------------------------------------------------------- */

struct check {
	const char *name;
	void (*run)(const struct cpuclock__epoch *epoch, struct fault *found);
	bool needs_epoch;
};

static const struct check checks[] = {
	{"sees each sleep", check_word, true},
	{"carries its answers forward", check_carried, true},
	{"50 sleeps are not billed", check_sleep, false},
	{"nor is preemption", check_preemption, false},
	{"nor a migration", check_migration, false},
	{"nor a stop", check_stop, false},
	{"total never goes backwards", check_reads, false},
	{"nor do user and system, its parts", check_parts, false},
	{"a child has a clock of its own", check_fork, false},
};

#define N_CHECKS (sizeof(checks) / sizeof(checks[0]))

struct run {
	const struct check *check;
	const struct cpuclock__epoch *epoch;
	struct fault found;
};

static void *run_check(void *arg)
{
	struct run *run = arg;

	run->check->run(run->epoch, &run->found);
	return NULL;
}

/* On a thread of its own, which has no past. */
static void run_check_in_thread(const char *source,
				const struct cpuclock__epoch *epoch,
				const struct check *check)
{
	struct run run = {check, epoch, {""}};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_check, &run))
		fault(&run.found, "no thread could be made", 0, 0);
	else
		pthread_join(thread, NULL);
	report(source, check->name, &run.found);
}

/* epoch is NULL for a source that has none. */
static void run_checks(const char *source, const struct cpuclock__epoch *epoch)
{
	for (size_t i = 0; i < N_CHECKS; i++) {
		if (epoch || !checks[i].needs_epoch)
			run_check_in_thread(source, epoch, &checks[i]);
	}
}

static void try_epoch(const struct cpuclock__epoch *epoch)
{
	const struct cpuclock__verdict *verdict = cpuclock__epoch_use(epoch);
	const char *why = verdict->why;
	struct fault found = {""};

	printf("# verdict %s: %s\n", epoch->name,
	       verdict->status ? why : "works");
	if (verdict->status) {
		report_skip(epoch->name, "keeps its promises", why);
		return;
	}
	run_checks(epoch->name, epoch);
	if (strcmp(cpuclock_self_source(), epoch->name) != 0)
		fault(&found, "it is no longer in use", 0, 0);
	report(epoch->name, "was not found to lie", &found);
}

/* ---- The page's own formula ---------------------------------------------- */

/* Can the page of a task-clock event do it? Negative if it cannot be had. */
static int cap_user_time(void)
{
	const struct perf_event_mmap_page *page =
		cpuclock__perf_page_open(PERF_COUNT_SW_TASK_CLOCK);

	if (!page) {
		printf("# cap_user_time: denied\n");
		return -1;
	}
	printf("# cap_user_time: %d%s\n", page->cap_user_time,
	       page->cap_user_time_short ? ",short" : "");
	return page->cap_user_time;
}

static int deny_clock(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]),
					   code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a child: neither the window nor a sleep ends what it knows. */
static int reads_taskclock_alone(const struct cpuclock *clock)
{
	int64_t before_ns, ns;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 2;
	before_ns = cpuclock_read(clock);
	if (deny_clock())
		return 2;
	sleep_ns(5 * NS_PER_MS);
	ns = cpuclock_read(clock);
	return ns >= before_ns ? 0 : 1;
}

/*
 * It may count interrupts and what the host stole, in a sleep too: so of all
 * the time slept at most half may be billed beyond what the kernel bills.
 */
static void check_taskclock_sleeps(const struct cpuclock *clock,
				   struct fault *found)
{
	const int64_t step_ns = 5 * NS_PER_MS;
	int64_t kernel_first_ns = kernel_ns();
	int64_t first_ns = cpuclock_read(clock), last_ns = first_ns;
	int64_t billed_ns, used_ns;

	for (int i = 0; i < BLOCKS; i++) {
		int64_t ns;

		sleep_ns(step_ns);
		ns = cpuclock_read(clock);
		if (ns < last_ns)
			fault(found, "taskclock went backwards", ns, last_ns);
		last_ns = ns;
	}
	billed_ns = last_ns - first_ns;
	used_ns = kernel_ns() - kernel_first_ns;
	printf("# taskclock: %lld us in %d sleeps, %lld us by the kernel\n",
	       (long long)billed_ns / 1000, BLOCKS, (long long)used_ns / 1000);
	if (billed_ns > used_ns + BLOCKS * step_ns / 2)
		fault(found, "sleeps were billed", billed_ns, used_ns);
}

static void check_taskclock(const struct cpuclock__epoch *epoch,
			    struct fault *found)
{
	struct cpuclock *clock;
	int status = cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL,
				   "taskclock", &clock);
	int64_t last_ns = 0;
	pid_t pid;

	(void)epoch;
	if (status) {
		fault(found, "it cannot be opened", status, 0);
		return;
	}
	pid = fork();
	if (pid == 0)
		_exit(reads_taskclock_alone(clock));
	status = child_status(pid);
	if (status)
		fault(found, "it asks the kernel", status, 0);
	for (int i = 0; i < 100000; i++) {
		int64_t ns = cpuclock_read(clock);

		if (ns < last_ns)
			fault(found, "taskclock went backwards", ns, last_ns);
		last_ns = ns;
	}
	check_taskclock_sleeps(clock, found);
	cpuclock_close(clock);
}

static void try_taskclock(void)
{
	static const struct check check = {"answers by the page's own formula",
					   check_taskclock, false};
	int has_formula = cap_user_time();

	if (has_formula > 0)
		run_check_in_thread("taskclock", NULL, &check);
	else
		report_skip("taskclock", check.name,
			    has_formula ? "perf events are denied"
					: "cap_user_time is 0");
}

/* Which source answers when nobody chooses; what has no epoch is checked too.
 */
static void check_choice(const char *expected)
{
	const struct cpuclock__verdict *verdict = cpuclock__epoch_use(NULL);
	const char *source = cpuclock_self_source();
	struct fault found = {""};

	printf("# in use: %s\n", source);
	if (verdict->status)
		printf("# no epoch: %s\n", verdict->why);
	if (expected && strcmp(expected, source) != 0)
		fault(&found, "another source is in use", 0, 0);
	report("in use", expected ? expected : "a source", &found);
	if (verdict->status)
		run_checks(source, NULL);
}

int main(int argc, char *argv[])
{
	struct utsname name;

	setlinebuf(stdout); /* nothing is left for a child to print again */
	uname(&name);
	printf("# kernel: %s %s\n", name.release, name.machine);
	try_taskclock();
	for (size_t i = 0; i < N_EPOCHS; i++)
		try_epoch(epochs[i]);

	check_choice(argc > 1 ? argv[1] : NULL);
	printf("1..%d\n", n_tests);
	return n_failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
