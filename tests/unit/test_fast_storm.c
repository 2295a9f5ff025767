/* SPDX-License-Identifier: MIT */
/*
 * Threads that spin, sleep, migrate, take signals, fork and end at random: each
 * read against the kernel's clock, and no step backwards of total, user or
 * system. The counter switched off beforehand is here too.
 *
 * Public reports: scylladb/seastar #416, cockroachdb/cockroach #95529 (not
 * monotone), openjdk/jdk #28556 and #28545 (user time that exceeds total),
 * rr-debugger/rr #2046, google/nsjail #191 (the counter faults).
 */
#include "fasttest.h"

#include <pthread.h>
#include <sched.h>
#include <sys/time.h>

#define STORM_MS 2500
#define THREADS	 4
#define READS	 1000000

/* What a thread was told at most, by calls that have returned. */
struct told {
	struct cpuclock_times last;
	uint64_t reads;
	uint64_t backward[3]; /* total, user, system */
	uint64_t no_sum;
	uint64_t ahead;
	uint64_t behind;
	int64_t worst_ns;
	int64_t worst_step_ns;
};

static __thread struct told told;
static __thread unsigned int seed;

static void step(int kind, int64_t *last_ns, int64_t since_ns, int64_t ns)
{
	if (ns < since_ns) {
		told.backward[kind]++;
		if (since_ns - ns > told.worst_step_ns)
			told.worst_step_ns = since_ns - ns;
	}
	if (ns > *last_ns)
		*last_ns = ns;
}

static void bracket(int64_t before, int64_t ns, int64_t after)
{
	told.reads++;
	if (ns - after > told.worst_ns)
		told.worst_ns = ns - after;
	told.ahead += ns - after > NOISE_NS;
	told.behind += before - ns > NOISE_NS;
}

static void read_total(void)
{
	int64_t since_ns = told.last.total_ns;
	int64_t before = kernel_ns();
	int64_t total_ns = cpuclock_total();

	bracket(before, total_ns, kernel_ns());
	step(0, &told.last.total_ns, since_ns, total_ns);
}

static void read_self(void)
{
	struct cpuclock_times since = told.last, times;
	int64_t before = kernel_ns();

	cpuclock_self(&times);
	bracket(before, times.total_ns, kernel_ns());
	told.no_sum += times.user_ns + times.system_ns != times.total_ns;
	step(0, &told.last.total_ns, since.total_ns, times.total_ns);
	step(1, &told.last.user_ns, since.user_ns, times.user_ns);
	step(2, &told.last.system_ns, since.system_ns, times.system_ns);
}

/* Many reads between two looks at the kernel's clock. */
static void read_in_bulk(int count)
{
	while (count--) {
		struct cpuclock_times since = told.last, times;
		int64_t total_ns = cpuclock_total();

		step(0, &told.last.total_ns, since.total_ns, total_ns);
		since = told.last;
		cpuclock_self(&times);
		told.no_sum +=
			times.user_ns + times.system_ns != times.total_ns;
		step(0, &told.last.total_ns, since.total_ns, times.total_ns);
		step(1, &told.last.user_ns, since.user_ns, times.user_ns);
		step(2, &told.last.system_ns, since.system_ns, times.system_ns);
		told.reads += 2;
	}
}

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	if (seed == 0) /* a thread that is not of the storm */
		return;
	read_self();
	read_total();
	errno = saved;
}

/* ---- The storm
 * -----------------------------------------------------------------
 */

static atomic_bool storm_ends;
static pthread_t threads[THREADS];
static pthread_mutex_t tally_lock = PTHREAD_MUTEX_INITIALIZER;
static struct told tally;
static atomic_uint wrong_children;

static void add_to_tally(void)
{
	int i;

	pthread_mutex_lock(&tally_lock);
	tally.reads += told.reads;
	for (i = 0; i < 3; i++)
		tally.backward[i] += told.backward[i];
	tally.no_sum += told.no_sum;
	tally.ahead += told.ahead;
	tally.behind += told.behind;
	if (told.worst_ns > tally.worst_ns)
		tally.worst_ns = told.worst_ns;
	if (told.worst_step_ns > tally.worst_step_ns)
		tally.worst_step_ns = told.worst_step_ns;
	pthread_mutex_unlock(&tally_lock);
}

static bool is_right(const struct told *what)
{
	return !what->backward[0] && !what->backward[1] && !what->backward[2] &&
	       !what->no_sum && what->worst_ns <= WINDOW_NS + NOISE_NS &&
	       what->ahead <= 5 + what->reads / 1000;
}

static void migrate(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(rand_r(&seed) % (unsigned int)cpus, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void fork_and_read(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int i;

		told = (struct told){0};
		for (i = 0; i < 50; i++) {
			read_total();
			read_self();
		}
		_exit(!is_right(&told));
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status)
		wrong_children++;
}

/* System time, and little else. */
static void work_in_the_kernel(void)
{
	int i;

	for (i = 0; i < 300; i++) {
		syscall(SYS_getppid);
		read_self();
	}
}

static void do_something(void)
{
	switch (rand_r(&seed) % 16) {
	case 0:
		sleep_us(rand_r(&seed) % 500);
		break;
	case 1:
		migrate();
		break;
	case 2:
		pthread_kill(threads[rand_r(&seed) % THREADS], SIGUSR1);
		break;
	case 3:
		if (rand_r(&seed) % 16 == 0)
			fork_and_read();
		break;
	case 4:
		work_in_the_kernel();
		break;
	case 5:
		sched_yield();
		break;
	case 6:
		raise(SIGUSR1);
		break;
	default:
		read_in_bulk(500);
		break;
	}
	read_total();
	read_self();
}

static void *live_short(void *arg)
{
	int i;

	seed = (unsigned int)(uintptr_t)arg | 1;
	for (i = 0; i < 3; i++)
		do_something();
	add_to_tally();
	return NULL;
}

static void *weather_storm(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg;

	seed = number + 1;
	while (!storm_ends) {
		do_something();
		if (rand_r(&seed) % 64 == 0) {
			pthread_t thread;

			pthread_create(&thread, NULL, live_short,
				       (void *)(uintptr_t)rand_r(&seed));
			pthread_join(thread, NULL);
		}
	}
	add_to_tally();
	return NULL;
}

static void set_profiling_timer(long us)
{
	const struct itimerval timer = {{0, us}, {0, us}};

	setitimer(ITIMER_PROF, &timer, NULL);
}

static void report_tally(const char *what)
{
	printf("# %s: %llu reads, worst %lld ns ahead of the kernel; %llu "
	       "ahead and %llu behind by more than %d us; steps back %llu "
	       "total, %llu user, %llu system, worst %lld ns\n",
	       what, (unsigned long long)tally.reads, (long long)tally.worst_ns,
	       (unsigned long long)tally.ahead,
	       (unsigned long long)tally.behind, (int)(NOISE_NS / 1000),
	       (unsigned long long)tally.backward[0],
	       (unsigned long long)tally.backward[1],
	       (unsigned long long)tally.backward[2],
	       (long long)tally.worst_step_ns);
	fflush(stdout);
}

static void threads_in_a_storm_are_told_the_truth(void **state)
{
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = SA_RESTART};
	uintptr_t i;
	int64_t until;

	need_epoch(state);
	tally = (struct told){0};
	wrong_children = 0;
	storm_ends = false;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGPROF, &action, NULL);
	fflush(stdout);
	/* No thread may be sent a signal before it is there. */
	pthread_mutex_lock(&tally_lock);
	for (i = 0; i < THREADS; i++)
		threads[i] = pthread_self();
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, weather_storm, (void *)i);
	pthread_mutex_unlock(&tally_lock);
	set_profiling_timer(1000);
	until = wall_ns() + STORM_MS * INT64_C(1000000);
	/* A slow machine gets more time. */
	while (wall_ns() < until)
		sleep_us(10000);
	storm_ends = true;
	set_profiling_timer(0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	report_tally("storm");
	assert_true(is_right(&tally));
	assert_int_equal(wrong_children, 0);
	if (!UNDER_TSAN && !UNDER_ASAN)
		assert_true(tally.reads >= READS);
	assert_non_null(epoch_name());
}

/* ---- User and system
 * ------------------------------------------------------------
 */

static void spin_and_read(int64_t cpu_ns)
{
	int64_t until = kernel_ns() + cpu_ns;

	while (kernel_ns() < until)
		read_in_bulk(200);
}

static void call_and_read(int64_t cpu_ns)
{
	int64_t until = kernel_ns() + cpu_ns;
	int i;

	while (kernel_ns() < until) {
		for (i = 0; i < 40; i++)
			syscall(SYS_getppid);
		read_self();
	}
}

/*
 * The kernel's split is slow to follow a thread that turns from user to system
 * work or back: then all that it adds for long is of the new kind.
 */
static void *turn_from_user_to_system(void *unused)
{
	int i;

	(void)unused;
	told = (struct told){0};
	seed = 1;
	spin_and_read(60000000);
	call_and_read(150000000);
	for (i = 0; i < 10; i++) {
		spin_and_read(15000000);
		call_and_read(15000000);
	}
	add_to_tally();
	return NULL;
}

static void split_never_decreases_when_the_work_turns(void **state)
{
	pthread_t thread;
	int i;

	need_epoch(state);
	tally = (struct told){0};
	for (i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, turn_from_user_to_system, NULL);
		pthread_join(thread, NULL);
	}
	report_tally("turns");
	assert_true(is_right(&tally));
}

/* The split is the kernel's, to within what it is carried forward. */
static void split_stays_near_that_of_the_kernel(void **state)
{
	struct cpuclock_times times, kernels;
	int64_t worst_ns = 0;
	int i;

	need_epoch(state);
	told = (struct told){0};
	for (i = 0; i < 60; i++) {
		if (i / 20 % 2)
			spin_and_read(5000000);
		else
			call_and_read(5000000);
		cpuclock_self(&times);
		cpuclock__rusage_self(&kernels);
		if (llabs(times.user_ns - kernels.user_ns) > worst_ns)
			worst_ns = llabs(times.user_ns - kernels.user_ns);
	}
	printf("# user at most %lld ns away from the kernel's\n",
	       (long long)worst_ns);
	assert_true(worst_ns <= 2 * WINDOW_NS);
	told = (struct told){0};
}

/* ---- No counter --------------------------------------------------------- */

/* The static program's exit status; 77: no such prctl, 78: no such program. */
static int run_static_program(bool with_counter)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		if (!with_counter && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0)
			_exit(77);
		execl(STATIC_PROGRAM, STATIC_PROGRAM,
		      with_counter ? "with" : "without", (char *)NULL);
		_exit(78);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		printf("# status %#x\n", (unsigned int)status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* glibc's dynamic linker reads it too: only static programs can live so. */
static void counter_that_faults_is_not_read(void **state)
{
	int result = run_static_program(false);

	(void)state;
	if (result == 77)
		SKIP("the counter cannot be switched off");
	if (result == 78)
		SKIP("no static program is built with a sanitizer");
	assert_int_equal(result, 0);
}

static void static_program_has_an_epoch_too(void **state)
{
	int result;

	(void)state;
	cpuclock__epoch_use(NULL);
	if (!epoch_name())
		SKIP("no epoch at all here: %s",
		     cpuclock__epoch_verdict()->why);
	result = run_static_program(true);
	if (result == 78)
		SKIP("no static program is built with a sanitizer");
	assert_int_equal(result, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOR_EACH_EPOCH(threads_in_a_storm_are_told_the_truth),
		FOR_EACH_EPOCH(split_never_decreases_when_the_work_turns),
		FOR_EACH_EPOCH(split_stays_near_that_of_the_kernel),
		cmocka_unit_test(counter_that_faults_is_not_read),
		cmocka_unit_test(static_program_has_an_epoch_too),
	};

	return cmocka_run_group_tests_name("fast_storm", tests, NULL, NULL);
}
