/* SPDX-License-Identifier: MIT */
/* Which epoch this process uses. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "cycles.h"
#include "epoch.h"
#include "forkguard.h"
#include "sys.h"

/* In the order in which they are tried. */
static const struct cpuclock__epoch *const epochs[] = {&cpuclock__epoch_rseq,
						       &cpuclock__epoch_perf};

#define N_EPOCHS (sizeof(epochs) / sizeof(epochs[0]))

static const struct cpuclock__epoch *_Atomic chosen;

/* NULL until it is decided. */
static const struct cpuclock__verdict *_Atomic verdict;

static void decide(const struct cpuclock__epoch *epoch,
		   const struct cpuclock__verdict *found)
{
	chosen = found->status ? NULL : epoch;
	verdict = found;
}

static const struct cpuclock__verdict *
test_epoch(const struct cpuclock__epoch *epoch)
{
	const struct cpuclock__verdict *found = epoch->probe();

	return found->status ? found : cpuclock__epoch_test(epoch);
}

/* "rseq: this; perf: that" */
static const struct cpuclock__verdict *
join_reasons(const struct cpuclock__verdict *const *found)
{
	static char reasons[512];
	static const struct cpuclock__verdict none = {-EOPNOTSUPP, reasons};
	char *end = reasons;

	for (size_t i = 0; i < N_EPOCHS; i++) {
		end = stpcpy(end, i ? "; " : "");
		end = stpcpy(end, epochs[i]->name + sizeof("fast:") - 1);
		end = stpcpy(end, ": ");
		end = stpcpy(end, found[i]->why);
	}
	return &none;
}

static void choose_first(void)
{
	const struct cpuclock__verdict *found[N_EPOCHS];

	for (size_t i = 0; i < N_EPOCHS; i++) {
		found[i] = test_epoch(epochs[i]);
		if (found[i]->status == 0) {
			decide(epochs[i], found[i]);
			return;
		}
	}
	decide(NULL, join_reasons(found));
}

static const struct cpuclock__verdict
	no_counter = {-EOPNOTSUPP, "the cycle counter may not be read, "
				   "or has no constant rate"},
	no_rate = {-EAGAIN,
		   "the rate of the cycle counter could not be measured"};

/* What is carried forward must have been asked for once. */
static bool can_ask_kernel(void)
{
	struct rusage usage;

	return cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID) >= 0 &&
	       cpuclock__getrusage(RUSAGE_THREAD, &usage) == 0;
}

const struct cpuclock__epoch *cpuclock__epoch_choose(void)
{
	static const struct cpuclock__verdict
		no_guard = {-ENOSYS, "the kernel has no MADV_WIPEONFORK"},
		refused = {-EPERM, "clock_gettime(2) or getrusage(2) is "
				   "refused, by a seccomp filter perhaps"};
	int idle = 0;

	if (verdict)
		return chosen;
	if (!cpuclock__have_forkguard()) {
		/* Else a constructor reads before ours have run. */
		if (cpuclock__forkguard_is_missing())
			decide(NULL, &no_guard);
	} else if (!cpuclock__cycles_usable()) {
		decide(NULL, &no_counter);
	} else if (!can_ask_kernel()) {
		decide(NULL, &refused);
	} else if (cpuclock__cycles_rate() != 0 &&
		   atomic_compare_exchange_strong(&cpuclock__process->choosing,
						  &idle, 1)) {
		/* One thread chooses; others, and its own signal handlers, ask
		 * the kernel meanwhile. */
		if (!verdict)
			choose_first();
		cpuclock__process->choosing = 0;
	}
	return chosen;
}

const struct cpuclock__epoch *cpuclock__epoch_chosen(void)
{
	return chosen;
}

void cpuclock__epoch_give_up(void)
{
	static const struct cpuclock__verdict lied = {
		-EOPNOTSUPP,
		"turned off: the kernel did not show that a thread "
		"was switched out"};

	decide(NULL, &lied);
	cpuclock__process->limit = 0;
}

static void sleep_a_moment(void)
{
	const struct timespec moment = {0, 200000};

	cpuclock__syscall(SYS_nanosleep, (long)&moment, 0, 0);
}

const struct cpuclock__verdict *cpuclock__epoch_verdict(void)
{
	const struct cpuclock__verdict *found;

	for (int tries = 0; tries < 200 && !verdict; tries++) {
		cpuclock__epoch_choose();
		if (!verdict)
			sleep_a_moment();
	}
	found = verdict;
	return found ? found : &no_rate;
}

/* Whoever names an epoch can wait longer for it than a user's first call. */
static const struct cpuclock__verdict *await_rate(void)
{
	if (!cpuclock__cycles_usable())
		return &no_counter;
	for (int tries = 0; tries < 10000; tries++) {
		if (cpuclock__cycles_rate() != 0)
			return &cpuclock__works;
		sleep_a_moment();
	}
	return &no_rate;
}

const struct cpuclock__verdict *
cpuclock__epoch_use(const struct cpuclock__epoch *epoch)
{
	const struct cpuclock__verdict *found;

	cpuclock__process->limit = 0;
	cpuclock__process->generation = 0;
	verdict = NULL;
	chosen = NULL;
	if (!epoch)
		return cpuclock__epoch_verdict();
	found = await_rate();
	decide(epoch, found->status ? found : test_epoch(epoch));
	return verdict;
}
