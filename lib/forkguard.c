/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "constructor.h"
#include "forkguard.h"
#include "sys.h"

static struct cpuclock__process none;
struct cpuclock__process *cpuclock__process = &none;
static bool missing;

CPUCLOCK__CONSTRUCTOR static void make_page(void)
{
	void *page = mmap(NULL, sizeof(none), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	missing = true;
	if (page == MAP_FAILED)
		return;
	/* Since Linux 4.14. */
	if (madvise(page, sizeof(none), MADV_WIPEONFORK) != 0) {
		munmap(page, sizeof(none));
		return;
	}
	missing = false;
	cpuclock__process = page;
	cpuclock__process->pid = getpid();
}

bool cpuclock__have_forkguard(void)
{
	return cpuclock__process != &none;
}

bool cpuclock__forkguard_is_missing(void)
{
	return missing;
}

uint64_t cpuclock__enter_process(void)
{
	uint64_t generation = cpuclock__process->generation;
	uint64_t fresh;

	if (generation)
		return generation;
	/*
	 * No ancestor's: time has moved on since. By a system call, as neither
	 * the cycle counter nor the vDSO may be read where that faults.
	 */
	fresh = (uint64_t)cpuclock__clock_gettime(CLOCK_MONOTONIC) | 2;
	if (!atomic_compare_exchange_strong(&cpuclock__process->generation,
					    &generation, fresh))
		return generation;
	if (cpuclock__process->pid == 0)
		cpuclock__process->pid = getpid();
	return fresh;
}

bool cpuclock__is_guest(void)
{
	pid_t pid = cpuclock__process->pid;

	return pid != 0 && pid != getpid();
}
