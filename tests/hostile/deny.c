/* SPDX-License-Identifier: MIT */
/*
 * deny ERRNO CALL... -- COMMAND [ARG...]
 *
 * Runs a command in a world where system calls fail: with ERRNO, by a seccomp
 * filter, as a container's would make them. The call cpu_clock_gettime is
 * clock_gettime of CPU clocks only; the others, which libc reads without a
 * system call, do not go through the filter.
 *
 * Exits with 77 if the filter cannot be had, and as the command otherwise.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CANNOT 77

static const struct {
	const char *name;
	int number;
} errors[] = {
	{"EPERM", EPERM},
	{"EACCES", EACCES},
	{"ENOSYS", ENOSYS},
	{"EINVAL", EINVAL},
};

static int parse_errno(const char *name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (strcmp(errors[i].name, name) == 0)
			return errors[i].number;
	}
	return 0;
}

/* The upper half of the register is not a clockid_t's. */
static int deny_clock(scmp_filter_ctx filter, uint32_t action, uint32_t mask,
		      uint32_t bits)
{
	return seccomp_rule_add(filter, action, SCMP_SYS(clock_gettime), 1,
				SCMP_A0_64(SCMP_CMP_MASKED_EQ, mask, bits));
}

static int deny_cpu_clocks(scmp_filter_ctx filter, uint32_t action)
{
	const uint32_t negative = UINT32_C(1) << 31;
	int err = deny_clock(filter, action, negative, negative);

	if (!err)
		err = deny_clock(filter, action, UINT32_MAX,
				 CLOCK_PROCESS_CPUTIME_ID);
	if (!err)
		err = deny_clock(filter, action, UINT32_MAX,
				 CLOCK_THREAD_CPUTIME_ID);
	return err;
}

static int deny(scmp_filter_ctx filter, uint32_t action, const char *call)
{
	int number;

	if (strcmp(call, "cpu_clock_gettime") == 0)
		return deny_cpu_clocks(filter, action);
	number = seccomp_syscall_resolve_name(call);
	if (number == __NR_SCMP_ERROR)
		return -EINVAL;
	return seccomp_rule_add(filter, action, number, 0);
}

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int error = argc > 1 ? parse_errno(argv[1]) : 0;
	int err = 0;
	int i = 2;

	if (!filter || !error) {
		fprintf(stderr, "usage: deny ERRNO CALL... -- COMMAND...\n");
		return CANNOT;
	}
	for (; i < argc && strcmp(argv[i], "--") != 0 && !err; i++)
		err = deny(filter, SCMP_ACT_ERRNO((uint32_t)error), argv[i]);
	if (!err)
		err = seccomp_load(filter);
	if (err || i + 1 >= argc) {
		fprintf(stderr, "deny: no filter: %s\n", strerror(-err));
		return CANNOT;
	}
	seccomp_release(filter);
	execvp(argv[i + 1], argv + i + 1);
	fprintf(stderr, "deny: %s: %s\n", argv[i + 1], strerror(errno));
	return CANNOT;
}
