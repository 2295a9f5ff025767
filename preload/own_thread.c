/* SPDX-License-Identifier: MIT */
/*
 * The clock id with the calling thread's TID, found once in each thread of each
 * process: by libc, without a system call, unless that may be wrong.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "forkguard.h"
#include "own_thread.h"
#include "sys.h"

static __thread struct {
	uint64_t generation;
	clockid_t clockid;
} own __attribute__((tls_model("initial-exec"))) = {
	.generation = CPUCLOCK__NO_GENERATION};

/*
 * Of the process that loaded the shim. A child of it may be one of a raw clone,
 * of which libc does not know.
 */
static uint64_t first_generation = CPUCLOCK__NO_GENERATION;

__attribute__((constructor)) static void enter_first_process(void)
{
	if (cpuclock__have_forkguard())
		first_generation = cpuclock__enter_process();
}

static clockid_t ask_kernel(void)
{
	pid_t tid = (pid_t)cpuclock__syscall(SYS_gettid, 0, 0, 0);

	return cpuclock__make_clockid(tid, true, CPUCLOCK_ID_SCHED);
}

/* The id that goes with the thread-local memory that the caller runs on. */
static clockid_t ask_libc(void)
{
	clockid_t clockid;

	return pthread_getcpuclockid(pthread_self(), &clockid) ? -1 : clockid;
}

bool is_id_of_caller(clockid_t clockid)
{
	uint64_t generation;
	clockid_t mine;

	if (!cpuclock__have_forkguard())
		return clockid == ask_kernel();
	if (cpuclock__is_generation(own.generation))
		return clockid == own.clockid;
	if (!cpuclock__is_generation(first_generation)) {
		mine = ask_kernel();
		if (mine != ask_libc())
			return clockid == mine;
	}
	/*
	 * The generation is taken first and left last: should a signal handler
	 * fork in between, its child finds an old one.
	 */
	generation = cpuclock__enter_process();
	atomic_signal_fence(memory_order_seq_cst);
	own.clockid = mine = ask_libc();
	atomic_signal_fence(memory_order_seq_cst);
	own.generation = generation;
	return clockid == mine;
}
