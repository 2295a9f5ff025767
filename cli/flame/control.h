/* SPDX-License-Identifier: MIT */
/* When sampling ends, and what is seen of it meanwhile. */
#ifndef CPUCLOCK_FLAME_CONTROL_H
#define CPUCLOCK_FLAME_CONTROL_H

#include <poll.h>
#include <signal.h>

#include "../child.h"
#include "account.h"
#include "session.h"

struct control {
	struct session *session;
	struct child child;
	struct account account;
	int signals; /* a descriptor */
	int caught;  /* the signal that ended it; 0: none */
	bool time_is_over;
	int64_t start_ns;
	int64_t said_ns;
	bool has_terminal;
};

/* Watches for signals from here on; 0 or -errno. */
int control_open(struct control *control, struct session *session);
void control_close(struct control *control);

/* The clock runs, and that of what is sampled. */
void control_start(struct control *control);

/*
 * Waits for one of the descriptors, or for a tenth of a second. False at the
 * end: of the command or target, of the time, or by a signal.
 */
bool control_wait(struct control *control, struct pollfd *fds, size_t n);

/* Ends what was started, and takes the times. */
void control_finish(struct control *control);

#endif
