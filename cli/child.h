/* SPDX-License-Identifier: MIT */
/*
 * A command that this one starts and outlives: its signals, its end, and that
 * of all that it leaves behind.
 */
#ifndef CPUCLOCK_CHILD_H
#define CPUCLOCK_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

struct cmd;

struct child {
	pid_t pid;	     /* 0 once it has been waited for */
	int status;	     /* what a shell would call its exit status */
	int signal;	     /* that ended it, or 0 */
	struct rusage usage; /* of all that was waited for; times, switches */
	sigset_t watched;    /* blocked by child_watch_signals */
	sigset_t old_mask;
	int go;	     /* a byte lets the child go, and to close it ends it */
	int failure; /* tells the errno of execvp */
};

/*
 * SIGCHLD and what is passed on to a command, or without one ends the wait, are
 * blocked from now on, into child->watched. What is ignored stays so without a
 * command; the command gets the mask that was there before.
 */
void child_watch_signals(struct child *child, bool has_command);

/*
 * After child_watch_signals. Forks a process that will be the command, as it is
 * when this is called: privileges, limits, signals. It is held until
 * child_release. What loses its parent becomes a child of the caller. 0, or
 * -errno.
 */
int child_start(struct child *child, char **command);

/* Executes the command. 0, or -errno if it cannot be, and it has ended. */
int child_release(struct child *child);

/* Ends it in place of that, or waits for one that could not be executed. */
void child_cancel(struct child *child);

/* Has the command ended, and is to be waited for? */
bool child_has_ended(const struct child *child);

/* A command that cannot be run: says so, and returns 126 or 127. */
int child_cannot_execute(const struct cmd *cmd, const char *command, int err);

/* Waits for children that have ended, without blocking. False if none is
 * left. */
bool child_reap(struct child *child);

/* Asks the command to end, unless the signal is 0, and waits so long; any other
 * signal ends the wait. It may be running still. */
void child_end(struct child *child, int signal, int64_t patience_ns);

/*
 * A signal of child->watched came: passes it on, unless the terminal has sent
 * it to the command as well. False if it is to end the wait for what the
 * command has left behind.
 */
bool child_pass_on(const struct child *child, int signal, int code);

#endif
