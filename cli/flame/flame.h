/* SPDX-License-Identifier: MIT */
/* What `cpuclock flame` is asked for, and the sampler that answers. */
#ifndef CPUCLOCK_FLAME_H
#define CPUCLOCK_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile.h"

/* Of what is sampled exactly one is given: pids, tids, all or a command. */
struct flame_options {
	pid_t *pids; /* processes, with all their threads */
	size_t n_pids;
	pid_t *tids; /* single threads */
	size_t n_tids;
	bool all;	     /* the whole machine */
	char **command;	     /* and its arguments, ended by NULL; or NULL */
	int64_t rate_hz;     /* samples per second of CPU time */
	int64_t duration_ns; /* 0: until the command or Ctrl-C ends it */
	bool user_only;	     /* no samples that were taken in the kernel */
	bool kernel_only;    /* no others */
	bool by_thread;	     /* a root for each thread, "NAME-TID" */
};

/*
 * Samples until the target ends, the duration is over, or Ctrl-C; that is an
 * end like the others. CMD_OK and a profile, not yet finished, of which the
 * notes say why where it is empty. Otherwise an exit status, and one line on
 * stderr has said what is wrong.
 */
int flame_sample(const struct flame_options *options,
		 struct profile **ret_profile);

#endif
