/* SPDX-License-Identifier: MIT */
/*
 * reader clock|usage|wall|process N [WAY]
 *
 * Reads one clock N times, without a look at what it is told, and ends: by
 * return, or by a WAY: _exit, kill, or, after 'sandbox' and the numbers of the
 * system calls that are allowed, in a seccomp filter that kills at any other.
 * Prints the errno of the reads that failed.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_RULES 8

static int read_own_clock(int i)
{
	static clockid_t clocks[] = {CLOCK_THREAD_CPUTIME_ID, -2, 0};
	struct timespec ts;

	if (clocks[2] == 0)
		pthread_getcpuclockid(pthread_self(), &clocks[2]);
	return clock_gettime(clocks[i % 3], &ts);
}

static int read_usage(int i)
{
	struct rusage usage;

	(void)i;
	return getrusage(RUSAGE_THREAD, &usage);
}

static int read_wall_clock(int i)
{
	struct timespec ts;

	(void)i;
	return clock_gettime(CLOCK_MONOTONIC, &ts);
}

static int read_process(int i)
{
	struct timespec ts;
	struct rusage usage;

	return i % 2 ? getrusage(RUSAGE_SELF, &usage)
		     : clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
}

static const struct {
	const char *name;
	int (*read)(int i);
} clocks[] = {
	{"clock", read_own_clock},
	{"usage", read_usage},
	{"wall", read_wall_clock},
	{"process", read_process},
};

/* Kills at all but the calls named, and at those that print and end. */
static int enter_sandbox(char **names, int n_names)
{
	static const struct {
		const char *name;
		unsigned int number;
	} known[] = {
		{"clock_gettime", SYS_clock_gettime},
		{"getrusage", SYS_getrusage},
	};
	unsigned int allowed[MAX_RULES] = {SYS_write, SYS_exit_group};
	struct sock_filter rules[2 * MAX_RULES + 2];
	struct sock_fprog program = {.filter = rules};
	size_t n_allowed = 2;

	for (int i = 0; i < n_names; i++) {
		for (size_t j = 0; j < 2; j++) {
			if (strcmp(names[i], known[j].name) == 0)
				allowed[n_allowed++] = known[j].number;
		}
	}
	rules[program.len++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n_allowed; i++) {
		rules[program.len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		rules[program.len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	rules[program.len++] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void print_errno(int number)
{
	char text[] = "errno 000\n";

	text[6] = (char)('0' + number / 100);
	text[7] = (char)('0' + number / 10 % 10);
	text[8] = (char)('0' + number % 10);
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(3);
}

int main(int argc, char **argv)
{
	const char *way = argc > 3 ? argv[3] : "";
	size_t clock = 0;
	int failure = 0;

	while (clock < 3 && argc > 2 && strcmp(argv[1], clocks[clock].name))
		clock++;
	if (argc < 3)
		return 2;
	if (strcmp(way, "sandbox") == 0 &&
	    enter_sandbox(argv + 4, argc - 4) != 0)
		return 77;
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (clocks[clock].read(i) != 0)
			failure = errno;
	}
	if (failure)
		print_errno(failure);
	if (strcmp(way, "_exit") == 0)
		_exit(0);
	if (strcmp(way, "kill") == 0)
		raise(SIGKILL);
	/* What libc does at exit the sandbox need not allow. */
	if (strcmp(way, "sandbox") == 0)
		syscall(SYS_exit_group, 0);
	return 0;
}
