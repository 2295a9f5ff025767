/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../file_limit.h"
#include "../monotonic.h"
#include "control.h"

#define PERIOD_MS   100
#define PERIOD_NS   INT64_C(100000000)
#define SAY_NS	    INT64_C(500000000)
#define PATIENCE_NS INT64_C(2000000000)

int control_open(struct control *control, struct session *session)
{
	*control = (struct control){.session = session, .signals = -1};
	child_watch_signals(&control->child,
			    control->session->options->command != NULL);
	control->has_terminal = isatty(STDERR_FILENO);
	control->signals = signalfd(-1, &control->child.watched,
				    SFD_CLOEXEC | SFD_NONBLOCK);
	return control->signals < 0 ? -errno : 0;
}

void control_close(struct control *control)
{
	struct timespec none = {0, 0};

	account_close(&control->account);
	if (control->signals >= 0)
		close(control->signals);
	/* One that came meanwhile has done what it was for. */
	while (sigtimedwait(&control->child.watched, NULL, &none) > 0)
		;
	sigprocmask(SIG_SETMASK, &control->child.old_mask, NULL);
}

void control_start(struct control *control)
{
	/* Objects stay open; the command has been started with its own. */
	file_limit_raise();
	account_start(&control->account, control->session);
	control->start_ns = control->said_ns = monotonic_now();
}

/* Those for users are the command's affair, where there is one. */
static void read_signals(struct control *control)
{
	struct signalfd_siginfo info;

	while (read(control->signals, &info, sizeof(info)) == sizeof(info)) {
		int signal = (int)info.ssi_signo;
		bool passed =
			child_pass_on(&control->child, signal, info.ssi_code);

		if (signal != SIGCHLD &&
		    (!passed || (signal != SIGUSR1 && signal != SIGUSR2)))
			control->caught = signal;
	}
	if (control->child.pid > 0)
		child_reap(&control->child);
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
		return control->child.pid == 0;
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
	int64_t now = monotonic_now();

	/* The last is this one's. */
	fds[n] = (struct pollfd){control->signals, POLLIN, 0};
	poll(fds, n + 1, timeout_of(control, now));
	for (size_t i = 0; i < n; i++) {
		/* All that it counted has ended. */
		if (fds[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			fds[i].fd = -1;
	}
	read_signals(control);
	now = monotonic_now();
	say_progress(control, now);
	return !has_ended(control, now);
}

static void tell_status(const struct control *control)
{
	struct profile *profile = control->session->profile;
	const struct child *child = &control->child;

	if (control->child.pid > 0)
		profile_note(profile, "the command was still running at the "
				      "end");
	else if (control->time_is_over)
		profile_note(profile, "the command was ended when the time was "
				      "over");
	else if (child->signal && !control->caught)
		profile_note(profile, "the command was ended by signal %d",
			     child->signal);
	else if (!child->signal && child->status != 0)
		profile_note(profile, "the command exited with status %d",
			     child->status);
}

void control_finish(struct control *control)
{
	const struct flame_options *options = control->session->options;
	struct profile_about *about = &control->session->profile->about;

	about->wall_ns = monotonic_now() - control->start_ns;
	if (control->has_terminal)
		fprintf(stderr, "\r\033[K");
	/* Before it is waited for: what it uses then is not sampled. */
	about->cpu_ns = account_finish(&control->account, control->session);
	if (options->command && control->child.pid > 0) {
		/* What ended this has been passed on. */
		control->time_is_over = !control->caught;
		child_end(&control->child, control->caught ? 0 : SIGTERM,
			  PATIENCE_NS);
	}
	if (options->command)
		tell_status(control);
}
