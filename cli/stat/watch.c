/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../monotonic.h"
#include "watch.h"

/* Where there is no descriptor for it (before Linux 5.3, or no more of them),
 * snapshots tell. */
static void add_process(struct watch *watch, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0) {
		watch->misses_some |= errno != ESRCH;
		return;
	}
	watch->polls[watch->n_polls++] =
		(struct pollfd){.fd = fd, .events = POLLIN};
	watch->n_live++;
}

int watch_open(struct watch *watch, const struct child *signals,
	       const pid_t *pids, size_t n_pids)
{
	int fd = signalfd(-1, &signals->watched, SFD_CLOEXEC | SFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	watch->polls = calloc(n_pids + 1, sizeof(*watch->polls));
	if (!watch->polls) {
		close(fd);
		return -ENOMEM;
	}
	watch->polls[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	watch->n_polls = 1;
	for (size_t i = 0; i < n_pids; i++)
		add_process(watch, pids[i]);
	return 0;
}

static void drop_ended(struct watch *watch)
{
	for (nfds_t i = 1; i < watch->n_polls; i++) {
		if (watch->polls[i].fd < 0 || !watch->polls[i].revents)
			continue;
		close(watch->polls[i].fd);
		watch->polls[i].fd = -1;
		watch->polls[i].revents = 0;
		watch->n_live--;
	}
}

/* Deals with the signals that came; EVENT_TIME: none that matters. */
static enum event read_signals(struct watch *watch)
{
	struct signalfd_siginfo info;
	enum event event = EVENT_TIME;

	while (read(watch->polls[0].fd, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		int signal = (int)info.ssi_signo;

		if (signal == SIGCHLD) {
			if (event == EVENT_TIME)
				event = EVENT_CHILD;
		} else if (!watch->child || !child_pass_on(watch->child, signal,
							   info.ssi_code)) {
			watch->signal = signal;
			event = EVENT_STOP;
		}
	}
	return event;
}

enum event watch_wait(struct watch *watch, int64_t deadline_ns)
{
	for (;;) {
		int64_t rest_ns = deadline_ns - monotonic_now();
		struct timespec rest;
		enum event event;
		size_t live = watch->n_live;

		if (rest_ns < 0)
			rest_ns = 0;
		rest.tv_sec = rest_ns / 1000000000;
		rest.tv_nsec = rest_ns % 1000000000;
		if (ppoll(watch->polls, watch->n_polls, &rest, NULL) < 0 &&
		    errno != EINTR)
			return EVENT_STOP;
		event = read_signals(watch);
		drop_ended(watch);
		if (event != EVENT_TIME)
			return event;
		if (live > 0 && watch->n_live == 0 && !watch->misses_some)
			return EVENT_ENDED;
		if (monotonic_now() >= deadline_ns)
			return EVENT_TIME;
	}
}

void watch_close(struct watch *watch)
{
	for (nfds_t i = 0; i < watch->n_polls; i++) {
		if (watch->polls[i].fd >= 0)
			close(watch->polls[i].fd);
	}
	free(watch->polls);
}
