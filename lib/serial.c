/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "serial.h"
#include "sys.h"

static _Atomic uint64_t next_serial = CPUCLOCK__SERIAL_MIN;

/*
 * fork copies page by page while other threads go on: a child can see traces of
 * a thread whose serial it has not seen drawn. It draws none so near.
 */
#define FORK_GAP (1 << 16)

#define PID_SHIFT 40

/*
 * Without memory that fork clears, a process is known by its PID. So are the
 * first serials of a program that has spans before the library's constructors.
 */
static uint64_t first_by_pid(void)
{
	static _Atomic uint64_t known; /* PID and first serial */
	uint64_t pid = (uint64_t)cpuclock__syscall(SYS_getpid, 0, 0, 0);
	uint64_t old = known;
	uint64_t first;

	if (old >> PID_SHIFT != pid) {
		first = next_serial + FORK_GAP;
		if (atomic_compare_exchange_strong(&known, &old,
						   pid << PID_SHIFT | first))
			return first;
	}
	return old & ((UINT64_C(1) << PID_SHIFT) - 1);
}

uint64_t cpuclock__serial_first(void)
{
	/* Once it was asked for, by an ancestor perhaps, 0 means a fork. */
	static atomic_bool asked;
	uint64_t first = asked ? next_serial + FORK_GAP : first_by_pid();
	uint64_t none = 0;

	/* Missing, or not made yet by the library's constructor. */
	if (!cpuclock__have_forkguard())
		return first_by_pid();
	if (!atomic_compare_exchange_strong(&cpuclock__process->first_serial,
					    &none, first))
		first = none;
	asked = true;
	return first;
}

uint64_t cpuclock__serial_draw(uint64_t first)
{
	uint64_t next = next_serial;
	uint64_t serial;

	do {
		serial = next < first ? first : next;
	} while (
		!atomic_compare_exchange_weak(&next_serial, &next, serial + 1));
	return serial;
}
