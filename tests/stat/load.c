/* SPDX-License-Identifier: MIT */
/*
 * A process for stat.bats to look at: load WHAT [ARG...]. It says "ready" when
 * it is as WHAT says.
 */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void burn(clockid_t clock, double seconds)
{
	int64_t end_ns = clock_ns(clock) + (int64_t)(seconds * 1e9);

	while (clock_ns(clock) < end_ns)
		;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void *sleep_named(void *name)
{
	if (name)
		prctl(PR_SET_NAME, name);
	for (;;)
		pause();
	return NULL;
}

static void *spin_named(void *name)
{
	if (name)
		prctl(PR_SET_NAME, name);
	for (;;)
		;
	return NULL;
}

static void *burn_40_ms(void *name)
{
	prctl(PR_SET_NAME, name ? name : "short");
	burn(CLOCK_THREAD_CPUTIME_ID, 0.04);
	return NULL;
}

static void start(void *(*work)(void *), const char *name)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	if (pthread_create(&thread, &attr, work, (void *)(uintptr_t)name))
		exit(1);
	pthread_attr_destroy(&attr);
}

static void *burn_and_execute(void *unused)
{
	burn(CLOCK_THREAD_CPUTIME_ID, 0.3);
	ready();
	/* A line is to be read. */
	if (getchar() != EOF)
		execl("/proc/self/exe", "stat_load", "sleep", "0", NULL);
	exit(1);
	return unused;
}

/* A thread that has worked executes a program that does not, once a line can be
 * read: exec */
static void run_exec(char **args)
{
	(void)args;
	start(burn_and_execute, NULL);
	pause();
}

/* Sleeping threads: sleep N */
static void run_sleep(char **args)
{
	for (int i = atoi(args[0]); i > 0; i--)
		start(sleep_named, "w 12) (x");
	usleep(100000);
	ready();
	pause();
}

/* Busy threads, while main sleeps: spin NAME... */
static void run_spin(char **args)
{
	for (; *args; args++)
		start(spin_named, *args);
	usleep(100000);
	ready();
	pause();
}

/* A thread for each byte: its name has the byte first and in the middle. */
static void run_bytes(char **args)
{
	static char names[256][16];

	(void)args;
	for (int byte = 1; byte < 256; byte++) {
		snprintf(names[byte], sizeof(names[byte]), "%cx%cy%d", byte,
			 byte, byte);
		start(sleep_named, names[byte]);
	}
	usleep(100000);
	ready();
	pause();
}

/* Threads of 40 ms, one after the other: short SECONDS. At the end the clock of
 * the process. */
static void run_short(char **args)
{
	int64_t end_ns = clock_ns(CLOCK_MONOTONIC) +
			 (int64_t)(strtod(args[0], NULL) * 1e9);

	ready();
	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, burn_40_ms, NULL))
			exit(1);
		pthread_join(thread, NULL);
	}
	printf("%lld\n", (long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void *end_at_once(void *unused)
{
	return unused;
}

/* So many threads end, once a line can be read, and then "done": ends N */
static void run_ends(char **args)
{
	ready();
	if (getchar() == EOF)
		exit(1);
	for (int i = atoi(args[0]); i > 0; i--) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_at_once, NULL))
			exit(1);
		pthread_join(thread, NULL);
	}
	puts("done");
	fflush(stdout);
	pause();
}

/* The main thread ends, a thread works on: leaderless NAME */
static void run_leaderless(char **args)
{
	start(spin_named, args[0]);
	usleep(100000);
	ready();
	pthread_exit(NULL);
}

/* Changes its name: rename NAME */
static void run_rename(char **args)
{
	ready();
	burn(CLOCK_MONOTONIC, 0.3);
	prctl(PR_SET_NAME, args[0]);
	for (;;)
		burn(CLOCK_MONOTONIC, 1);
}

/* Works for so long, in so many threads: work SECONDS N */
static void *work_for(void *seconds)
{
	burn(CLOCK_THREAD_CPUTIME_ID, *(const double *)seconds);
	return NULL;
}

static void run_work(char **args)
{
	double seconds = strtod(args[0], NULL);
	int n = atoi(args[1]);
	pthread_t threads[64];

	for (int i = 0; i < n && i < 64; i++)
		pthread_create(&threads[i], NULL, work_for, &seconds);
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	printf("%lld\n", (long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static pid_t fork_as(pid_t pid)
{
	struct clone_args clone = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&pid,
		.set_tid_size = 1,
	};

	return (pid_t)syscall(SYS_clone3, &clone, sizeof(clone));
}

/* kill(2) takes -1 for everyone. */
static void kill_child(pid_t pid)
{
	if (pid <= 0)
		exit(1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A child that has worked gives its PID to one that does not, once a line can
 * be read; or whose threads work for so long each, and end: reuse [SECONDS] */
static void run_reuse(char **args)
{
	static char two[] = "2";
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (pid == 0) {
		prctl(PR_SET_NAME, "first");
		burn(CLOCK_PROCESS_CPUTIME_ID, 0.3);
		printf("%d\n", getpid());
		ready();
		pause();
	}
	if (getchar() == EOF)
		exit(1);
	kill_child(pid);
	pid = fork_as(pid);
	if (pid < 0)
		exit(77);
	if (pid == 0) {
		prctl(PR_SET_NAME, "second");
		if (args[0]) {
			run_work((char *[]){args[0], two});
			_exit(0);
		}
	}
	if (args[0])
		waitpid(pid, NULL, 0);
	pause();
}

/* Nobody waits for its child, which has worked. */
static void run_zombie(char **args)
{
	siginfo_t info;

	(void)args;
	if (fork() == 0) {
		prctl(PR_SET_NAME, "undead");
		burn(CLOCK_PROCESS_CPUTIME_ID, 0.2);
		_exit(0);
	}
	waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
	ready();
	pause();
}

/* Its child has worked, and the kernel does not keep the account of it. */
static void run_unwaited(char **args)
{
	(void)args;
	signal(SIGCHLD, SIG_IGN);
	if (fork() == 0) {
		burn(CLOCK_PROCESS_CPUTIME_ID, 0.3);
		_exit(0);
	}
	waitpid(-1, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(char **args);
	} modes[] = {
		{"sleep", run_sleep},
		{"spin", run_spin},
		{"bytes", run_bytes},
		{"short", run_short},
		{"ends", run_ends},
		{"exec", run_exec},
		{"leaderless", run_leaderless},
		{"rename", run_rename},
		{"reuse", run_reuse},
		{"zombie", run_zombie},
		{"unwaited", run_unwaited},

		{"work", run_work},
	};

	/* Not to outlive a test that fails. */
	alarm(60);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]);
	     i++) {
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run(argv + 2);
			return 0;
		}
	}
	return 2;
}
