/* SPDX-License-Identifier: MIT */
/*
 * A mixed load: threads that work, call the kernel, leave their CPU in every
 * common way, move to another, take signals and fork, and after each such thing
 * hold the clock against the kernel's.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/fast.h"
#include "check.h"
#include "cpuclock.h"

#define MAX_ERRORS 200000

/* The kernel's clock has no order with a carried total below this. */
#define TOLERANCE_NS 20000

struct worker {
	pthread_t thread;
	int64_t end_ns; /* CLOCK_MONOTONIC */
	unsigned int seed;
	int pipe[2];
	cpu_set_t cpus;
	struct cpuclock_times last;
	struct load_result result;
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	/* Past libc, as the library does. */
	syscall(SYS_clock_gettime, clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t kernel_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static unsigned int random_below(struct worker *worker, unsigned int limit)
{
	return (unsigned int)rand_r(&worker->seed) % limit;
}

static struct timespec moment(struct worker *worker)
{
	return (struct timespec){0, 1000 + random_below(worker, 500000)};
}

/* ---- Ways to spend time
 * -------------------------------------------------------- */

static void spin(struct worker *worker)
{
	for (volatile unsigned int i = random_below(worker, 300000); i > 0; i--)
		;
}

static void call_kernel(struct worker *worker)
{
	for (unsigned int i = random_below(worker, 200); i > 0; i--)
		syscall(SYS_getppid);
}

static void sleep_a_moment(struct worker *worker)
{
	struct timespec time = moment(worker);

	nanosleep(&time, NULL);
}

static void poll_a_moment(struct worker *worker)
{
	struct timespec time = moment(worker);

	ppoll(NULL, 0, &time, NULL);
}

static void wait_for_condition(struct worker *worker)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += random_below(worker, 500000);
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
}

static void *write_later(void *arg)
{
	struct worker *worker = arg;
	const struct timespec time = {0, 200000};

	nanosleep(&time, NULL);
	if (write(worker->pipe[1], "x", 1) != 1)
		return NULL;
	return NULL;
}

static void read_pipe(struct worker *worker)
{
	pthread_t writer;
	char byte;

	if (pthread_create(&writer, NULL, write_later, worker) != 0)
		return;
	while (read(worker->pipe[0], &byte, 1) < 0 && errno == EINTR)
		;
	pthread_join(writer, NULL);
}

static void yield(struct worker *worker)
{
	for (unsigned int i = random_below(worker, 20); i > 0; i--)
		sched_yield();
}

static void migrate(struct worker *worker)
{
	int n = (int)random_below(worker,
				  (unsigned int)CPU_COUNT(&worker->cpus));
	cpu_set_t one;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &worker->cpus) || n-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		break;
	}
	sched_setaffinity(0, sizeof(worker->cpus), &worker->cpus);
}

static void fault_pages(struct worker *worker)
{
	size_t size = (size_t)4096 * (1 + random_below(worker, 64));
	volatile char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	for (size_t i = 0; i < size; i += 4096)
		memory[i] = 1;
	munmap((void *)memory, size);
}

/* What handlers see must keep the promises too. */
static __thread struct worker *current;

static void observe(struct worker *worker);

static void on_signal(int signal)
{
	int saved = errno;

	(void)signal;
	if (current)
		observe(current);
	errno = saved;
}

static void take_signal(struct worker *worker)
{
	(void)worker;
	raise(SIGUSR1);
}

/* In the child: its clock began anew, and is this thread's no more. */
static bool child_is_right(void)
{
	struct cpuclock_times times;
	int64_t before = kernel_ns();
	int err = cpuclock_self(&times);
	int64_t after = kernel_ns();

	return err == 0 && times.user_ns + times.system_ns == times.total_ns &&
	       times.total_ns >= before - TOLERANCE_NS &&
	       times.total_ns <= after + CPUCLOCK__WINDOW_NS;
}

static void fork_child(struct worker *worker)
{
	int status = 0;
	pid_t pid;

	/* It costs much: not every time. */
	if (random_below(worker, 20) != 0)
		return;
	pid = fork();
	if (pid == 0)
		_exit(child_is_right() ? 0 : 1);
	if (pid < 0)
		return;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	worker->result.children++;
	worker->result.bad_children += status != 0;
}

static void (*const activities[])(struct worker *worker) = {
	spin,
	call_kernel,
	sleep_a_moment,
	poll_a_moment,
	wait_for_condition,
	read_pipe,
	yield,
	migrate,
	fault_pages,
	take_signal,
	fork_child,
};

#define N_ACTIVITIES (sizeof(activities) / sizeof(activities[0]))

/* ---- Holding the clock against the kernel's
 * ------------------------------------- */

static void record_error(struct worker *worker, int64_t error_ns)
{
	struct load_result *result = &worker->result;
	size_t place = result->n_errors;

	if (error_ns > INT32_MAX)
		error_ns = INT32_MAX;
	if (error_ns < INT32_MIN)
		error_ns = INT32_MIN;
	if (place == MAX_ERRORS) {
		place = (size_t)rand_r(&worker->seed) % result->reads;
		if (place >= MAX_ERRORS)
			return;
	} else {
		result->n_errors++;
	}
	result->errors[place] = (int32_t)error_ns;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* One answer. A signal handler may call this in the midst of itself: its errors
 * are then the later ones, and `last` moves forward only. */
static void observe(struct worker *worker)
{
	struct load_result *result = &worker->result;
	struct cpuclock_times last = worker->last;
	struct cpuclock_times times;
	int64_t before = kernel_ns();
	int64_t after;

	if (cpuclock_self(&times))
		return;
	after = kernel_ns();

	result->reads++;
	result->unequal += times.user_ns + times.system_ns != times.total_ns;
	result->backwards += times.total_ns < last.total_ns ||
			     times.user_ns < last.user_ns ||
			     times.system_ns < last.system_ns;
	result->too_far += times.total_ns > after + CPUCLOCK__WINDOW_NS;
	result->behind += times.total_ns < before - TOLERANCE_NS;
	result->worst_ahead_ns =
		max(result->worst_ahead_ns, times.total_ns - after);
	result->worst_behind_ns =
		max(result->worst_behind_ns, before - times.total_ns);
	record_error(worker, times.total_ns - (before + after) / 2);
	worker->last = times;
}

static uint64_t switches(void)
{
	struct rusage usage;

	syscall(SYS_getrusage, RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

/*
 * A miss is an answer that was carried forward from before a switch. The switch
 * was after the first answer and before the second one, so there is no doubt.
 */
static void watch(struct worker *worker)
{
	struct load_result *result = &worker->result;
	uint64_t anchor, before, after;

	observe(worker);
	anchor = cpuclock__fast_anchor();
	before = switches();
	activities[random_below(worker, N_ACTIVITIES)](worker);
	after = switches();
	observe(worker);

	result->switches += after - before;
	if (anchor && cpuclock__fast_anchor() == anchor) {
		result->carried++;
		result->misses += after != before;
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	current = worker;
	while (now_ns(CLOCK_MONOTONIC) < worker->end_ns) {
		watch(worker);
		/* Most reads of a program follow each other closely; an epoch
		 * that has a cost is given to such threads only. */
		for (int i = 0; i < 50; i++)
			observe(worker);
	}
	current = NULL;
	return NULL;
}

/* ---- All threads
 * -------------------------------------------------------------------- */

static void add(struct load_result *sum, struct load_result *one)
{
	sum->reads += one->reads;
	sum->carried += one->carried;
	sum->switches += one->switches;
	sum->misses += one->misses;
	sum->backwards += one->backwards;
	sum->unequal += one->unequal;
	sum->too_far += one->too_far;
	sum->behind += one->behind;
	sum->children += one->children;
	sum->bad_children += one->bad_children;
	sum->worst_ahead_ns = max(sum->worst_ahead_ns, one->worst_ahead_ns);
	sum->worst_behind_ns = max(sum->worst_behind_ns, one->worst_behind_ns);
	memcpy(sum->errors + sum->n_errors, one->errors,
	       one->n_errors * sizeof(*one->errors));
	sum->n_errors += one->n_errors;
}

static int start_worker(struct worker *worker, int64_t time_ns)
{
	worker->end_ns = now_ns(CLOCK_MONOTONIC) + time_ns;
	worker->seed = (unsigned int)(uintptr_t)worker;
	worker->result.errors = calloc(MAX_ERRORS, sizeof(int32_t));
	if (!worker->result.errors)
		return -ENOMEM;
	if (pipe(worker->pipe) != 0)
		return -errno;
	sched_getaffinity(0, sizeof(worker->cpus), &worker->cpus);
	return -pthread_create(&worker->thread, NULL, work, worker);
}

int load_run(int threads, int64_t time_ns, struct load_result *ret_result)
{
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = SA_RESTART};
	struct sigaction old;
	struct worker *workers = calloc((size_t)threads, sizeof(*workers));
	struct load_result sum = {
		.worst_ahead_ns = INT64_MIN,
		.worst_behind_ns = INT64_MIN,
		.errors = calloc((size_t)threads * MAX_ERRORS, sizeof(int32_t)),
	};
	int started = 0;
	int err = workers && sum.errors ? 0 : -ENOMEM;

	sigaction(SIGUSR1, &action, &old);
	while (!err && started < threads) {
		workers[started].result.worst_ahead_ns = INT64_MIN;
		workers[started].result.worst_behind_ns = INT64_MIN;
		err = start_worker(&workers[started], time_ns);
		started += !err;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(workers[i].thread, NULL);
		add(&sum, &workers[i].result);
		close(workers[i].pipe[0]);
		close(workers[i].pipe[1]);
		free(workers[i].result.errors);
	}
	sigaction(SIGUSR1, &old, NULL);
	free(workers);
	if (err) {
		free(sum.errors);
		return err;
	}
	*ret_result = sum;
	return 0;
}

bool load_kept_promises(const struct load_result *result)
{
	return result->misses + result->backwards + result->unequal +
		       result->too_far + result->behind +
		       result->bad_children ==
	       0;
}

static int compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

int32_t load_percentile(struct load_result *result, double percent)
{
	size_t place;

	if (result->n_errors == 0)
		return 0;
	qsort(result->errors, result->n_errors, sizeof(*result->errors),
	      compare);
	place = (size_t)(percent / 100 * (double)(result->n_errors - 1));
	return result->errors[place];
}
