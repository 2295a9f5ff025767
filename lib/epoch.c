/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "epoch.h"
#include "sys.h"

#define BLOCKS	  8
#define MAX_TRIES 64

static int64_t voluntary_switches(void)
{
	struct rusage usage;

	return cpuclock__getrusage(RUSAGE_THREAD, &usage) ? -1 : usage.ru_nvcsw;
}

/*
 * Sleeps, and says whether the epoch saw it. A timer that fires before the
 * thread is off its CPU makes for no switch, and proves nothing: 1 seen, 0
 * missed, -1 did not block.
 */
static int sees_block(const struct cpuclock__epoch *epoch,
		      cpuclock__epoch_word *word)
{
	const struct timespec moment = {0, 20000};
	int64_t switches = voluntary_switches();
	uint64_t value = epoch->arm(word);

	cpuclock__syscall(SYS_nanosleep, (long)&moment, 0, 0);
	if (*word != value)
		return 1;
	return voluntary_switches() == switches ? -1 : 0;
}

static bool sees_blocks(const struct cpuclock__epoch *epoch,
			cpuclock__epoch_word *word)
{
	int seen = 0;

	for (int i = 0; i < MAX_TRIES && seen < BLOCKS; i++) {
		int result = sees_block(epoch, word);

		if (result == 0)
			return false;
		seen += result > 0;
	}
	return seen == BLOCKS;
}

/* A few may be preempted by chance. */
static bool survives_calls(const struct cpuclock__epoch *epoch,
			   cpuclock__epoch_word *word)
{
	int kept = 0;

	for (int i = 0; i < BLOCKS; i++) {
		uint64_t value = epoch->arm(word);

		cpuclock__syscall(SYS_getppid, 0, 0, 0);
		kept += *word == value;
	}
	return kept > BLOCKS / 2;
}

const struct cpuclock__verdict *
cpuclock__epoch_test(const struct cpuclock__epoch *epoch)
{
	static const struct cpuclock__verdict
		no_word = {-EOPNOTSUPP, "this thread could not have one"},
		blind = {-EOPNOTSUPP,
			 "the self-test failed: the kernel did not "
			 "show that a thread slept"},
		jumpy = {-EOPNOTSUPP, "the self-test failed: the kernel shows "
				      "a switch at every system call"};
	const struct cpuclock__verdict *verdict = &cpuclock__works;
	cpuclock__epoch_word *word = epoch->attach();

	if (!word)
		return &no_word;
	if (!sees_blocks(epoch, word))
		verdict = &blind;
	else if (!survives_calls(epoch, word))
		verdict = &jumpy;
	epoch->detach(word);
	return verdict;
}
