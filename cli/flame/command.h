/* SPDX-License-Identifier: MIT */
/* A command that is sampled: held until all is ready, and waited for. */
#ifndef CPUCLOCK_FLAME_COMMAND_H
#define CPUCLOCK_FLAME_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct command {
	pid_t pid; /* 0 once it has ended */
	int gate;  /* to let it go */
	int failure;
	int status; /* as wait(2) gives it */
};

/* Starts a process that waits. It gets the signal mask. 0 or -errno. */
int command_hold(struct command *command, char **argv, const sigset_t *mask);

/* Lets it execute the command; 0, or -errno if that failed. */
int command_release(struct command *command);

/* Gives it up before it was let go. */
void command_cancel(struct command *command);

/* Takes note of all children that have ended. */
void command_reap(struct command *command);

/* Asks it to end, and gives it a moment. */
void command_end(struct command *command, int signal_number);

#endif
