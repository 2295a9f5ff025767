/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "cmd.h"
#include "monotonic.h"

static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

void child_watch_signals(struct child *child, bool has_command)
{
	static const int signals[] = {SIGCHLD, SIGHUP,	SIGINT, SIGQUIT,
				      SIGTERM, SIGUSR1, SIGUSR2};

	/* Ignored, it would take the exit status with it. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&child->watched);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* Blocked, it would be queued although it is ignored. */
		if (has_command || !is_ignored(signals[i]))
			sigaddset(&child->watched, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &child->watched, &child->old_mask);
}

/* In the child. The pipe of the failure closes by itself if the command runs.
 */
static void execute(const struct child *child, char **command, int go,
		    int failure)
{
	char byte;
	int err;

	/* Without a byte the parent is gone. */
	if (read(go, &byte, 1) != 1)
		_exit(CMD_FAILURE);
	sigprocmask(SIG_SETMASK, &child->old_mask, NULL);
	cmd_restore_sigpipe();
	execvp(*command, command);
	err = errno;
	if (write(failure, &err, sizeof(err)) < 0)
		_exit(CMD_FAILURE);
	_exit(CMD_NOT_FOUND);
}

int child_start(struct child *child, char **command)
{
	int go[2], failure[2], err;

	/* To wait for the children's children as well. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe2(go, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(failure, O_CLOEXEC) != 0) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	child->pid = fork();
	err = -errno;
	if (child->pid == 0) {
		close(go[1]);
		execute(child, command, go[0], failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	child->go = go[1];
	child->failure = failure[0];
	if (child->pid > 0)
		return 0;
	close(go[1]);
	close(failure[0]);
	child->pid = 0;
	return err;
}

int child_release(struct child *child)
{
	int failure = 0;
	ssize_t length;

	if (write(child->go, "", 1) != 1)
		failure = errno;
	close(child->go);
	do {
		length = read(child->failure, &failure, sizeof(failure));
	} while (length < 0 && errno == EINTR);
	close(child->failure);
	child->go = child->failure = -1;
	return -failure;
}

void child_cancel(struct child *child)
{
	if (child->go >= 0) {
		close(child->go);
		close(child->failure);
	}
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
}

int child_cannot_execute(const struct cmd *cmd, const char *command, int err)
{
	cmd_fail(cmd, "cannot run '%s': %s", command, strerror(err));
	return err == ENOENT ? CMD_NOT_FOUND : CMD_NOT_EXECUTABLE;
}

bool child_has_ended(const struct child *child)
{
	siginfo_t info = {0};

	return child->pid > 0 &&
	       waitid(P_PID, (id_t)child->pid, &info,
		      WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == child->pid;
}

static int shell_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : CMD_SIGNALLED + WTERMSIG(status);
}

static void add_usage(struct rusage *sum, const struct rusage *usage)
{
	timeradd(&sum->ru_utime, &usage->ru_utime, &sum->ru_utime);
	timeradd(&sum->ru_stime, &usage->ru_stime, &sum->ru_stime);
	sum->ru_nvcsw += usage->ru_nvcsw;
	sum->ru_nivcsw += usage->ru_nivcsw;
}

bool child_reap(struct child *child)
{
	struct rusage usage;
	int status;
	pid_t ended;

	while ((ended = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		add_usage(&child->usage, &usage);
		if (ended != child->pid)
			continue;
		child->status = shell_status(status);
		child->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		child->pid = 0;
	}
	return ended == 0;
}

void child_end(struct child *child, int signal, int64_t patience_ns)
{
	int64_t end_ns = monotonic_now() + patience_ns;

	child_reap(child);
	if (child->pid > 0 && signal)
		kill(child->pid, signal);
	while (child->pid > 0) {
		int64_t rest_ns = end_ns - monotonic_now();
		struct timespec rest = {rest_ns / 1000000000,
					rest_ns % 1000000000};

		if (rest_ns <= 0 ||
		    sigtimedwait(&child->watched, NULL, &rest) != SIGCHLD)
			return;
		child_reap(child);
	}
}

bool child_pass_on(const struct child *child, int signal, int code)
{
	if (signal == SIGCHLD)
		return true;
	if (child->pid == 0)
		return false;
	if (code != SI_KERNEL)
		kill(child->pid, signal);
	return true;
}
