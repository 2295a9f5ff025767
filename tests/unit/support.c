/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "support.h"

/*
 * cmocka 1.1.5 ends a skipped test with "not ok 1 # SKIP name", and meson
 * counts that as a failure. All that cmocka prints comes through here, and a
 * program may have a print_message of its own.
 */
void print_message(const char *const format, ...)
{
	static const char prefix[] = "not ok %u # SKIP";
	const char *text = format;
	va_list args;

	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof("not ") - 1;
	va_start(args, format);
	vprintf(text, args);
	va_end(args);
	fflush(stdout);
}

void skip_because(const char *format, ...)
{
	char why[512];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	print_message("# SKIP because %s\n", why);
	skip();
}

clockid_t kernel_thread_clock(pid_t tid)
{
	return (clockid_t)(~(unsigned int)tid << 3 | 6);
}

clockid_t kernel_process_clock(pid_t pid)
{
	return (clockid_t)(~(unsigned int)pid << 3 | 2);
}

int64_t kernel_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		return -errno;
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t lead_ns(const char *source)
{
	if (strncmp(source, "fast", 4) == 0)
		return NS_PER_MS;
	if (strncmp(source, "taskclock", 9) == 0)
		return 10 * NS_PER_MS;
	return 0;
}

int64_t tick_ns(void)
{
	struct timespec tick;

	/* CPUCLOCK_VIRT of the calling thread. */
	if (clock_getres((clockid_t)-3, &tick))
		return 10 * NS_PER_MS;
	return tick.tv_sec * NS_PER_S + tick.tv_nsec;
}

void spin(void)
{
	volatile unsigned int i;

	for (i = 0; i < 10000; i++)
		;
}

void burn_user(int64_t ns)
{
	int64_t end = kernel_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	int i;

	do {
		for (i = 0; i < 10; i++)
			spin();
	} while (kernel_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

void burn_kernel(int64_t ns)
{
	char bytes[2048];
	int64_t end = kernel_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	do {
		syscall(SYS_getrandom, bytes, sizeof(bytes), 0);
	} while (kernel_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

void sleep_ns(int64_t ns)
{
	struct timespec rest = {ns / NS_PER_S, ns % NS_PER_S};

	while (nanosleep(&rest, &rest) && errno == EINTR)
		;
}

int is_alive(pid_t tgid, pid_t id)
{
	long r = tgid ? syscall(SYS_tgkill, tgid, id, 0) : kill(id, 0);

	return !r || errno != ESRCH;
}

int wait_until_gone(pid_t tgid, pid_t id)
{
	int i;

	for (i = 0; i < 5000; i++) {
		if (!is_alive(tgid, id))
			return 0;
		sleep_ns(NS_PER_MS);
	}
	return -ETIMEDOUT;
}

void end_child(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}
