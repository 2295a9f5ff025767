/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "file_limit.h"

#define PERIOD_MS  100
#define PERIOD_NS  INT64_C(100000000)
#define SAY_NS	   INT64_C(500000000)
#define NS_PER_SEC INT64_C(1000000000)

int64_t control_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

int control_open(struct control *control, struct session *session)
{
	static const int signals[] = {SIGCHLD, SIGHUP, SIGINT, SIGTERM};
	sigset_t watched;

	*control = (struct control){.session = session, .signals = -1};
	sigemptyset(&watched);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&watched, signals[i]);
	/* Ignored, it would take the exit status with it. */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &watched, &control->old_mask);
	control->has_terminal = isatty(STDERR_FILENO);
	control->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	return control->signals < 0 ? -errno : 0;
}

void control_close(struct control *control)
{
	struct timespec none = {0, 0};
	sigset_t watched;

	account_close(&control->account);
	if (control->signals >= 0)
		close(control->signals);
	/* One that came meanwhile has done what it was for. */
	sigemptyset(&watched);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGCHLD);
	while (sigtimedwait(&watched, NULL, &none) > 0)
		;
	sigprocmask(SIG_SETMASK, &control->old_mask, NULL);
}

void control_start(struct control *control)
{
	/* Objects stay open; the command has been started with its own. */
	file_limit_raise();
	account_start(&control->account, control->session);
	control->start_ns = control->said_ns = control_now();
}

static void read_signals(struct control *control)
{
	struct signalfd_siginfo info;

	while (read(control->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		control->caught = (int)info.ssi_signo;
		control->was_sent = info.ssi_code <= 0;
	}
	if (control->command.pid > 0)
		command_reap(&control->command);
}

static void say_progress(struct control *control, int64_t now)
{
	const struct session *session = control->session;

	if (!control->has_terminal || now - control->said_ns < SAY_NS)
		return;
	control->said_ns = now;
	fprintf(stderr, "\r\033[Kcpuclock flame: %.1f s, %" PRIu64 " samples",
		(double)(now - control->start_ns) / 1e9, session->samples);
	if (session->lost)
		fprintf(stderr, ", %" PRIu64 " lost", session->lost);
	fprintf(stderr, "; Ctrl-C ends it");
}

static bool has_ended(struct control *control, int64_t now)
{
	const struct flame_options *options = control->session->options;

	if (control->caught)
		return true;
	if (options->duration_ns > 0 &&
	    now - control->start_ns >= options->duration_ns)
		return true;
	if (options->command)
		return control->command.pid == 0;
	return !account_update(&control->account, now);
}

static int timeout_of(const struct control *control, int64_t now)
{
	int64_t duration = control->session->options->duration_ns;
	int64_t left = control->start_ns + duration - now;

	if (duration == 0 || left > PERIOD_NS)
		return PERIOD_MS;
	return left <= 0 ? 0 : (int)((left + 999999) / 1000000);
}

bool control_wait(struct control *control, struct pollfd *fds, size_t n)
{
	int64_t now = control_now();

	/* The last is this one's. */
	fds[n] = (struct pollfd){control->signals, POLLIN, 0};
	poll(fds, n + 1, timeout_of(control, now));
	for (size_t i = 0; i < n; i++) {
		/* All that it counted has ended. */
		if (fds[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			fds[i].fd = -1;
	}
	read_signals(control);
	now = control_now();
	say_progress(control, now);
	return !has_ended(control, now);
}

static void tell_status(const struct control *control)
{
	struct profile *profile = control->session->profile;
	int status = control->command.status;

	if (control->command.pid > 0)
		profile_note(profile, "the command was still running at the "
				      "end");
	else if (control->time_is_over)
		profile_note(profile, "the command was ended when the time was "
				      "over");
	else if (WIFSIGNALED(status) && !control->caught)
		profile_note(profile, "the command was ended by signal %d",
			     WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		profile_note(profile, "the command exited with status %d",
			     WEXITSTATUS(status));
}

void control_finish(struct control *control)
{
	const struct flame_options *options = control->session->options;
	struct profile_about *about = &control->session->profile->about;

	about->wall_ns = control_now() - control->start_ns;
	if (control->has_terminal)
		fprintf(stderr, "\r\033[K");
	if (options->command && control->command.pid > 0) {
		/* What a terminal sends, the command has got too. */
		int number = !control->caught	 ? SIGTERM
			     : control->was_sent ? control->caught
						 : 0;

		control->time_is_over = !control->caught;
		command_end(&control->command, number);
	}
	about->cpu_ns = account_finish(&control->account, control->session);
	if (options->command)
		tell_status(control);
}
