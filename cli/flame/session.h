/* SPDX-License-Identifier: MIT */
/* What a sampling has, whichever way the samples come. */
#ifndef CPUCLOCK_FLAME_SESSION_H
#define CPUCLOCK_FLAME_SESSION_H

#include "flame.h"
#include "processes.h"
#include "stacks.h"
#include "unwind.h"

struct session {
	const struct flame_options *options;
	struct profile *profile;
	struct processes processes;
	struct stacks stacks;
	pid_t *owners; /* the processes of options->tids */
	uint64_t samples;
	uint64_t truncated;
	uint64_t lost;
	uint64_t throttled;
};

/* Is it one of what is to be sampled? */
bool session_wants_process(const struct session *session, pid_t pid);

/* Keeps a sample, if it is one of what is to be sampled. */
void session_add(struct session *session, const struct sample *sample);

/* Finds all names, and fills the profile's tree. CMD_OK, or an exit status. */
int session_resolve(struct session *session);

void session_free(struct session *session);

#endif
