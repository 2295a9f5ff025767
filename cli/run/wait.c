/* SPDX-License-Identifier: MIT */
/* Runs a command and outlives it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cmd.h"
#include "run.h"

int run_cannot_execute(const struct cmd *cmd, const char *command, int err)
{
	cmd_fail(cmd, "cannot run '%s': %s", command, strerror(err));
	return err == ENOENT ? CMD_NOT_FOUND : CMD_NOT_EXECUTABLE;
}

static void watch_signals(sigset_t *ret_watched, sigset_t *ret_old)
{
	static const int signals[] = {SIGCHLD, SIGHUP,	SIGINT, SIGQUIT,
				      SIGTERM, SIGUSR1, SIGUSR2};

	sigemptyset(ret_watched);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(ret_watched, signals[i]);
	/* Ignored, it would take the exit status with it. */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, ret_watched, ret_old);
}

/* In the child. The pipe closes by itself if the command runs. */
static void execute(char **command, const sigset_t *mask, int pipe)
{
	int err;

	sigprocmask(SIG_SETMASK, mask, NULL);
	cmd_restore_sigpipe();
	execvp(*command, command);
	err = errno;
	if (write(pipe, &err, sizeof(err)) < 0)
		_exit(CMD_FAILURE);
	_exit(CMD_NOT_FOUND);
}

/* The child's PID, or -errno. */
static pid_t start(char **command, const sigset_t *mask)
{
	int fds[2], failure = 0;
	ssize_t length;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		execute(command, mask, fds[1]);
	if (pid < 0)
		failure = errno;
	close(fds[1]);
	if (pid > 0) {
		do {
			length = read(fds[0], &failure, sizeof(failure));
		} while (length < 0 && errno == EINTR);
	}
	close(fds[0]);
	return failure ? -failure : pid;
}

static int shell_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : CMD_SIGNALLED + WTERMSIG(status);
}

/*
 * What a terminal sends, the command has got too. Once the command has ended, a
 * signal ends the wait for what it left behind.
 */
static bool goes_on_after(const siginfo_t *info, pid_t pid)
{
	if (info->si_signo == SIGCHLD)
		return true;
	if (pid == 0)
		return false;
	if (info->si_code != SI_KERNEL)
		kill(pid, info->si_signo);
	return true;
}

int run_and_wait(char **command, int *ret_status)
{
	sigset_t watched, old;
	pid_t pid, ended;
	int status;

	watch_signals(&watched, &old);
	/* To wait for the children's children as well. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = start(command, &old);
	if (pid < 0)
		return pid;
	for (;;) {
		siginfo_t info;

		while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
			if (ended != pid)
				continue;
			*ret_status = shell_status(status);
			pid = 0;
		}
		if (ended < 0)
			return 0;
		if (sigwaitinfo(&watched, &info) > 0 &&
		    !goes_on_after(&info, pid))
			return 0;
	}
}
