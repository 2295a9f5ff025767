/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cmd.h"
#include "command.h"

/* In tenths of a second. */
#define PATIENCE 20

/* In the child. Whoever started it may be gone before it is let go. */
static void execute(char **argv, const sigset_t *mask, int gate, int failure)
{
	char go;
	int err;

	if (read(gate, &go, 1) != 1)
		_exit(CMD_FAILURE);
	sigprocmask(SIG_SETMASK, mask, NULL);
	cmd_restore_sigpipe();
	execvp(*argv, argv);
	err = errno;
	if (write(failure, &err, sizeof(err)) < 0)
		_exit(CMD_FAILURE);
	_exit(CMD_NOT_FOUND);
}

static void close_pair(const int *pair)
{
	close(pair[0]);
	close(pair[1]);
}

int command_hold(struct command *command, char **argv, const sigset_t *mask)
{
	int gate[2], failure[2], err = 0;

	if (pipe2(gate, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(failure, O_CLOEXEC) != 0) {
		err = -errno;
		close_pair(gate);
		return err;
	}
	/* What it leaves behind is to be waited for here, for its times. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	command->pid = fork();
	if (command->pid < 0) {
		err = -errno;
		command->pid = 0;
		close_pair(gate);
		close_pair(failure);
		return err;
	}
	if (command->pid == 0) {
		close(gate[1]);
		execute(argv, mask, gate[0], failure[1]);
	}
	close(gate[0]);
	close(failure[1]);
	command->gate = gate[1];
	command->failure = failure[0];
	return 0;
}

int command_release(struct command *command)
{
	int failure = 0;
	ssize_t length;

	/* It can have been killed. */
	if (write(command->gate, "", 1) != 1)
		failure = 0;
	close(command->gate);
	/* The pipe closes by itself if the command runs. */
	do {
		length = read(command->failure, &failure, sizeof(failure));
	} while (length < 0 && errno == EINTR);
	close(command->failure);
	if (failure) {
		waitpid(command->pid, NULL, 0);
		command->pid = 0;
	}
	return -failure;
}

void command_cancel(struct command *command)
{
	if (command->pid <= 0)
		return;
	close(command->gate);
	close(command->failure);
	waitpid(command->pid, NULL, 0);
	command->pid = 0;
}

void command_reap(struct command *command)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == command->pid) {
			command->pid = 0;
			command->status = status;
		}
	}
}

void command_end(struct command *command, int signal_number)
{
	const struct timespec pause = {0, 100000000};

	command_reap(command);
	if (command->pid > 0 && signal_number)
		kill(command->pid, signal_number);
	for (int i = 0; i < PATIENCE && command->pid > 0; i++) {
		nanosleep(&pause, NULL);
		command_reap(command);
	}
}
