/* SPDX-License-Identifier: MIT */
/* The CPU clocks of what is sampled, to hold the samples against. */
#ifndef CPUCLOCK_FLAME_ACCOUNT_H
#define CPUCLOCK_FLAME_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "session.h"

struct account_clock {
	struct cpuclock *clock; /* NULL once it has ended */
	pid_t id;
	bool of_process;
	int64_t first_ns;
	int64_t last_ns;
};

struct account {
	struct account_clock *clocks; /* of the targets */
	size_t n;
	int64_t first_ns; /* of a command's children, or of the machine */
	int64_t read_at_ns;
};

void account_start(struct account *account, const struct session *session);

/* Reads the clocks, not too often: the last reading of one that ends is what it
 * used. False once all targets have ended. */
bool account_update(struct account *account, int64_t now);

/* The CPU time since the start, or -1 if it is not known. */
int64_t account_finish(struct account *account, struct session *session);
void account_close(struct account *account);

#endif
