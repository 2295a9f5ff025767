/* SPDX-License-Identifier: MIT */
/*
 * Text of /proc to structs: bytes in, struct out, no I/O.
 *
 * Each function takes the bytes as read, which need not end in NUL and may
 * hold any value, and returns 0, or -EBADMSG where they are not what proc(5)
 * says: a field missing, cut short, no number, or out of range.
 */
#ifndef CPUCLOCK_PROCPARSE_H
#define CPUCLOCK_PROCPARSE_H

#include <stddef.h>
#include <stdint.h>

/* /proc/PID/stat and /proc/PID/task/TID/stat; ticks are USER_HZ. */
struct cpuclock__stat {
	uint64_t user_ticks;
	uint64_t system_ticks;
	uint64_t start_ticks; /* since boot */
};

int cpuclock__parse_stat(const char *text, size_t length,
			 struct cpuclock__stat *ret_stat);

/* The same text with all that a snapshot shows of it. */
struct cpuclock__task_stat {
	struct cpuclock__stat times;
	int32_t parent_pid; /* 0: none in the PID namespace of this /proc */
	int32_t threads;    /* of its process */
	int32_t cpu;	    /* that it is or was last on; -1: not said */
	char state;	    /* a letter */
	char name[16];	    /* any bytes but NUL; a longer name is cut */
};

int cpuclock__parse_task_stat(const char *text, size_t length,
			      struct cpuclock__task_stat *ret_stat);

/* /proc/PID/task/TID/schedstat */
struct cpuclock__schedstat {
	uint64_t cpu_ns;
	uint64_t wait_ns;  /* runnable, waiting for a CPU */
	uint64_t switches; /* times put on a CPU */
};

int cpuclock__parse_schedstat(const char *text, size_t length,
			      struct cpuclock__schedstat *ret_schedstat);

#endif
