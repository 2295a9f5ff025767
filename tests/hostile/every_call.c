/* SPDX-License-Identifier: MIT */
/*
 * Uses every call of the library, in whatever world this is, and checks what
 * must hold in all of them: right answers, or -errno and a reason. Prints the
 * sources; with the option -q nothing. For the worlds that the unit tests
 * cannot enter: a static program, valgrind, a kernel that refuses its clocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpuclock.h"

#define N_KINDS	  4
#define N_TARGETS 4
#define N_FILES	  64
#define ANY_ERRNO 4242

/* How far a clock without system calls may be from the kernel's. */
#define WINDOW_NS INT64_C(1000000)

static const char *const kinds[N_KINDS] = {"total", "user", "system", "ticks"};
static const char *const targets[N_TARGETS] = {"self", "thread", "process",
					       "foreign"};

static int failures;

static void check(bool holds, int line, const char *text)
{
	if (holds)
		return;
	fprintf(stderr, "every_call.c:%d: %s\n", line, text);
	failures++;
}

#define CHECK(condition) check((condition), __LINE__, #condition)

/* Someone else to read: a thread of this process, and a child process. */
struct others {
	pthread_t thread;
	int wake[2];
	pid_t tid;
	pid_t child;
};

static int64_t kernel_total(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
		return -errno;
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void burn(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

static void check_calling_thread(void)
{
	struct cpuclock_source_info info;
	struct cpuclock_times times = {-1, -1, -1};
	int64_t before, total, after, user, system;
	int err;

	errno = ANY_ERRNO;
	before = kernel_total();
	errno = ANY_ERRNO;
	total = cpuclock_total();
	CHECK(errno == ANY_ERRNO);
	after = kernel_total();
	if (before < 0)
		CHECK(total == before);
	else
		CHECK(before - WINDOW_NS <= total &&
		      total <= after + WINDOW_NS);

	errno = ANY_ERRNO;
	user = cpuclock_user();
	system = cpuclock_system();
	err = cpuclock_self(&times);
	CHECK(errno == ANY_ERRNO);
	/* As cpuclock.h says, rusage is behind it where fast is not. */
	CHECK(cpuclock_source_info("rusage", &info) == 0);
	CHECK((user >= 0) == (info.status == 0));
	if (err) {
		CHECK(err < 0 && user == err && system == err);
		CHECK(times.total_ns == -1 && times.user_ns == -1);
		return;
	}
	CHECK(times.user_ns + times.system_ns == times.total_ns);
	CHECK(times.user_ns >= user && times.system_ns >= system);
	CHECK(times.total_ns >= total && user >= 0 && system >= 0);
	CHECK(times.total_ns <= kernel_total() + WINDOW_NS);
}

static pid_t id_of(const struct others *others, enum cpuclock_target target)
{
	switch (target) {
	case CPUCLOCK_THREAD:
		return others->tid;
	case CPUCLOCK_PROCESS:
		return getpid();
	case CPUCLOCK_FOREIGN:
		return others->child;
	default:
		return 0;
	}
}

/* Opens, reads twice, closes; what must hold, as the table says. */
static void check_clock(const struct others *others, const char *source,
			enum cpuclock_target target, enum cpuclock_kind kind,
			int expected)
{
	struct cpuclock *const none = (struct cpuclock *)&failures;
	struct cpuclock *clock = none;
	int64_t first, second;
	int err;

	errno = ANY_ERRNO;
	err = cpuclock_open(target, id_of(others, target), kind, source,
			    &clock);
	CHECK(errno == ANY_ERRNO);
	if (err != expected)
		fprintf(stderr, "%s of %s by %s: %d, not %d\n", kinds[kind],
			targets[target], source ? source : "best", err,
			expected);
	CHECK(err == expected);
	if (err) {
		CHECK(err < 0 && clock == none);
		return;
	}
	first = cpuclock_read(clock);
	second = cpuclock_read(clock);
	CHECK(errno == ANY_ERRNO);
	CHECK(first >= 0 && second >= first);
	CHECK(second < INT64_C(3600) * 1000000000);
	CHECK(!source || strcmp(cpuclock_clock_source(clock), source) == 0);
	cpuclock_close(clock);
}

static void check_source(const struct others *others, const char *name)
{
	struct cpuclock_source_info info;

	CHECK(cpuclock_source_info(name, &info) == 0);
	CHECK(strcmp(info.name, name) == 0 && *info.summary);
	CHECK(info.targets && info.kinds && info.system_calls >= 0);
	CHECK(info.status <= 0 && !info.status == !info.why);
	if (info.why)
		CHECK(*info.why && !strchr(info.why, '\n'));
	printf("source %s: %s\n", name, info.why ? info.why : "works");

	for (int kind = 0; kind < N_KINDS; kind++) {
		bool gives = info.kinds & 1U << kind;
		int64_t step = cpuclock_source_resolution(
			name, (enum cpuclock_kind)kind);

		/* A step may be unknown where the source does not work. */
		CHECK(gives ? step > 0 || info.status : step == -EOPNOTSUPP);
		for (int target = 0; target < N_TARGETS; target++) {
			int expected = -EOPNOTSUPP;

			if (gives && info.targets & 1U << target)
				expected = info.status;
			else if (gives && target == CPUCLOCK_FOREIGN &&
				 strcmp(name, "posix") == 0)
				expected = info.status ? info.status : -EPERM;
			check_clock(others, name, (enum cpuclock_target)target,
				    (enum cpuclock_kind)kind, expected);
		}
	}
}

/* The first of the table that works and gives it. */
static const char *best(enum cpuclock_target target, enum cpuclock_kind kind)
{
	const char *name;

	for (size_t i = 0; (name = cpuclock_source_at(i)); i++) {
		struct cpuclock_source_info info;

		if (!cpuclock_source_info(name, &info) && !info.status &&
		    info.targets & 1U << target && info.kinds & 1U << kind)
			return name;
	}
	return NULL;
}

static void check_best_of(const struct others *others,
			  enum cpuclock_target target, enum cpuclock_kind kind)
{
	const char *wanted = best(target, kind);
	const char *chosen = cpuclock_best_source(target, kind);

	CHECK(!wanted == !chosen);
	if (!wanted || !chosen)
		return;
	CHECK(strcmp(wanted, chosen) == 0);
	check_clock(others, NULL, target, kind, 0);
}

static void check_best(const struct others *others)
{
	for (int target = 0; target < N_TARGETS; target++) {
		for (int kind = 0; kind < N_KINDS; kind++)
			check_best_of(others, (enum cpuclock_target)target,
				      (enum cpuclock_kind)kind);
	}
	CHECK(*cpuclock_self_source());
}

static void check_refusals(pid_t ended)
{
	static const pid_t impossible[] = {0, -1, -4194304, 4194305, 1 << 29};
	struct cpuclock_source_info info;
	struct cpuclock *clock;

	for (int target = CPUCLOCK_THREAD; target < N_TARGETS; target++) {
		enum cpuclock_target whose = (enum cpuclock_target)target;
		const char *source =
			cpuclock_best_source(whose, CPUCLOCK_TOTAL);

		for (size_t i = 0;
		     i < sizeof(impossible) / sizeof(impossible[0]); i++)
			CHECK(cpuclock_open(whose, impossible[i],
					    CPUCLOCK_TOTAL, NULL,
					    &clock) == -EINVAL);
		if (source)
			CHECK(cpuclock_open(whose, ended, CPUCLOCK_TOTAL, NULL,
					    &clock) == -ESRCH);
	}
	CHECK(cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL, "nosuch",
			    &clock) == -ENOENT);
	CHECK(cpuclock_source_info("nosuch", &info) == -ENOENT);
	CHECK(cpuclock_source_resolution("nosuch", CPUCLOCK_TOTAL) == -ENOENT);
	cpuclock_close(NULL);
}

static void check_clockids(void)
{
	struct cpuclock_clockid id = {CPUCLOCK_ID_SCHED, 1, 0};
	struct cpuclock_clockid back;
	clockid_t clockid = 0;

	CHECK(cpuclock_clockid_encode(&id, &clockid) == 0 && clockid == -2);
	CHECK(cpuclock_clockid_decode(clockid, &back) == 0);
	CHECK(back.type == id.type && back.per_thread == 1 && back.value == 0);
	id.value = -1;
	CHECK(cpuclock_clockid_encode(&id, &clockid) == -EINVAL);
	CHECK(cpuclock_clockid_decode(-1, &back) == -EINVAL);
	CHECK(cpuclock_clockid_decode(CLOCK_MONOTONIC, &back) == -EINVAL);
}

static void check_span(void)
{
	struct cpuclock_span span;
	struct cpuclock_span_times times;
	int err = cpuclock_span_start(&span, NULL, 0);

	if (err) {
		CHECK(err < 0 && err == cpuclock_total());
		return;
	}
	burn();
	CHECK(cpuclock_span_pause(&span) == 0);
	CHECK(cpuclock_span_resume(&span) == 0);
	CHECK(cpuclock_span_read(&span, &times) == 0);
	CHECK(cpuclock_span_stop(&span) > 0);
	CHECK(cpuclock_span_stop(&span) == -EALREADY);
}

static void *wait_for_end(void *arg)
{
	struct others *others = arg;
	char byte;

	__atomic_store_n(&others->tid, (pid_t)syscall(SYS_gettid),
			 __ATOMIC_RELEASE);
	while (read(others->wake[0], &byte, 1) < 0 && errno == EINTR)
		;
	return NULL;
}

static bool begin(struct others *others)
{
	*others = (struct others){0};
	if (pipe(others->wake))
		return false;
	others->child = fork();
	if (others->child == 0) {
		/* Ends with its parent, whatever becomes of that. */
		char byte;

		close(others->wake[1]);
		burn();
		_exit(read(others->wake[0], &byte, 1) < 0);
	}
	if (others->child < 0 ||
	    pthread_create(&others->thread, NULL, wait_for_end, others))
		return false;
	while (!__atomic_load_n(&others->tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	return true;
}

/* Returns the PID that nobody has any more. */
static pid_t end(struct others *others)
{
	close(others->wake[1]);
	pthread_join(others->thread, NULL);
	waitpid(others->child, NULL, 0);
	close(others->wake[0]);
	return others->child;
}

static unsigned long long open_files(void)
{
	unsigned long long files = 0;

	for (int fd = 0; fd < N_FILES; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			files |= 1ULL << fd;
	}
	return files;
}

int main(void)
{
	unsigned long long files = open_files();
	struct others others;
	const char *name;

	if (!begin(&others)) {
		perror("every_call");
		return 1;
	}
	burn();
	check_calling_thread();
	for (size_t i = 0; (name = cpuclock_source_at(i)); i++)
		check_source(&others, name);
	check_best(&others);
	check_clockids();
	check_span();
	check_refusals(end(&others));
	check_calling_thread();
	printf("cpuclock_total: %s\n",
	       cpuclock_total() < 0 ? "fails" : cpuclock_self_source());
	printf("cpuclock_user: %s\n", cpuclock_user() < 0 ? "fails" : "works");
	CHECK(open_files() == files);
	if (fflush(stdout))
		failures++;
	return failures ? 1 : 0;
}
