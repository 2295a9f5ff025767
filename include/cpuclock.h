/* SPDX-License-Identifier: MIT */
/*
 * How much CPU time has this thread used?
 *
 * Conventions of every call:
 *   - Times are nanoseconds. total is time on a CPU; user and system are its
 *     parts, and user + system == total.
 *   - A negative result is -errno. errno itself is left as it was.
 *   - Out-parameters are named ret_ and are written on success only.
 *   - Nothing is printed, no environment is read, nothing aborts.
 *   - Words for safety are those of attributes(7); AS-Safe is
 *     async-signal-safe. Cost is given as a kind; measured figures are in
 *     cpuclock(7).
 */
#ifndef CPUCLOCK_H
#define CPUCLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* What is asked for. */
enum cpuclock_kind {
	/* Time on a CPU: CLOCK_THREAD_CPUTIME_ID, or its process twin. */
	CPUCLOCK_TOTAL,
	/*
	 * The parts of total in user mode and in the kernel. Linux estimates
	 * the proportion by sampling at the timer tick and scales it to the
	 * exact total (kernel/sched/cputime.c, cputime_adjust). Whatever the
	 * unit, the error is that of the sampling: up to about half a tick
	 * times the square root of the ticks seen; see cpuclock(7).
	 */
	CPUCLOCK_USER,
	CPUCLOCK_SYSTEM,
	/*
	 * The sampled user ticks as they are, not scaled (CPUCLOCK_VIRT,
	 * since Linux 2.6.12). Can exceed total; never compare it with the
	 * other kinds. JDK 26 reports this as user time.
	 */
	CPUCLOCK_TICKS,
};

/* Whose time. */
enum cpuclock_target {
	CPUCLOCK_SELF,	  /* the thread that makes the call */
	CPUCLOCK_THREAD,  /* a thread of the calling process, by TID */
	CPUCLOCK_PROCESS, /* all threads of a process, by PID */
	CPUCLOCK_FOREIGN, /* a thread of any process, by TID */
};

/* One instant of a thread: user_ns + system_ns == total_ns. */
struct cpuclock_times {
	int64_t total_ns;
	int64_t user_ns;
	int64_t system_ns;
};

/* ---- The calling thread -------------------------------------------------- */

/*
 * These calls ask the kernel only once in a while: where a clock without a system
 * call works here (see cpuclock_self_source), an answer is carried forward by the
 * cycle counter for up to 1 ms while the thread does not leave its CPU. Then it
 * is at most 1 ms ahead of the kernel's clock, by interrupts and by time that a
 * hypervisor took, and time off the CPU is never counted.
 *
 * A child of vfork(2), which shares its parent's memory, can be given its parent's
 * answer for up to 1 ms after that. Children of fork(2), _Fork(3) and clone(2)
 * without CLONE_VM are given their own.
 */

/*
 * cpuclock_total - CPU time used by the calling thread, in nanoseconds.
 *
 * CLOCK_THREAD_CPUTIME_ID, as above; never decreases.
 *
 * -EPERM, -ENOSYS  a seccomp filter refuses clock_gettime(2)
 *
 * MT-Safe, AS-Safe. No system call, or one to three at the end of an epoch.
 */
int64_t cpuclock_total(void);

/*
 * cpuclock_user, cpuclock_system - the calling thread's time in user mode and
 * in the kernel, in nanoseconds.
 *
 * Neither decreases, also when signal handlers call in between. See
 * CPUCLOCK_USER for how exact they are.
 *
 * -EPERM, -ENOSYS  a seccomp filter refuses clock_gettime(2) or getrusage(2)
 *
 * MT-Safe, AS-Safe. No system call, or two to four at the end of an epoch.
 */
int64_t cpuclock_user(void);
int64_t cpuclock_system(void);

/*
 * cpuclock_self - total, user and system time of the calling thread at one
 * instant.
 *
 * Returns 0. Errors, safety and cost as for cpuclock_user.
 */
int cpuclock_self(struct cpuclock_times *ret_times);

/*
 * cpuclock_self_source - name of the source that answers cpuclock_total now.
 *
 * A static string, never NULL: "fast:rseq" or "fast:perf", by the epoch that is
 * in use, or "self". Behind cpuclock_user, cpuclock_system and cpuclock_self is
 * the same, but `rusage` where this says "self".
 *
 * MT-Safe, AS-Safe. No system call.
 */
const char *cpuclock_self_source(void);

/* ---- Handles: any target, any source --------------------------------------
 */

struct cpuclock;

/*
 * cpuclock_open - prepare to read one kind of CPU time of one target.
 *
 * @target, @id  whose time: 0 for CPUCLOCK_SELF, a TID or a PID for the others,
 *               in the caller's PID namespace
 * @kind         what is asked for
 * @source       a name from cpuclock_source_at, or NULL for the best one that
 *               works here
 *
 * Returns 0. The caller owns *ret_clock and passes it to cpuclock_close.
 *
 * A TID or PID names its holder only while that lives: once it has ended, the
 * kernel may give the number to another. `proc` notices, by the start time
 * taken here; the others do only if a total falls. So close their handles
 * before the thread can end, as with pthread_getcpuclockid(3). A process that
 * has ended still answers until its parent has waited for it.
 *
 * -EINVAL      @id is not 1 to 4194304 (0 for CPUCLOCK_SELF); @target or @kind
 *              is not of its enum; @id is a thread where a process is asked for
 * -ENOENT      there is no source of that name
 * -EOPNOTSUPP  the source does not give this kind, or not for this target; or
 *              it needs /proc, which is not mounted
 * -ESRCH       the thread or process does not exist, or has ended
 * -EPERM       CPUCLOCK_THREAD, and the thread belongs to another process; or
 *              CPUCLOCK_FOREIGN by a source that reads clock ids
 * -EACCES      it exists, but /proc hides it (mount option hidepid)
 * -ENOMEM      out of memory
 * other        why the source does not work here: see cpuclock_source_info
 *
 * MT-Safe, not AS-Safe. Allocates; the first use of a source probes it.
 */
int cpuclock_open(enum cpuclock_target target, pid_t id,
		  enum cpuclock_kind kind, const char *source,
		  struct cpuclock **ret_clock);

/*
 * cpuclock_read - CPU time used so far, in nanoseconds.
 *
 * A handle of CPUCLOCK_SELF answers for the thread that reads it.
 *
 * -ESRCH      the thread or process has ended
 * -EPERM      the thread is not of this process: in a child of fork, or its id
 *             was given to another process
 * -EINVAL     the id of the process was given to a thread
 * -EACCES     it exists, but /proc hides it
 * -EOPNOTSUPP /proc is no longer mounted
 * -EMFILE, -ENFILE  no file descriptor is left (proc, schedstat)
 * -EBADMSG    the text in /proc is not what proc(5) says
 *
 * MT-Safe, AS-Safe. No allocation. System calls: see cpuclock_source_info.
 */
int64_t cpuclock_read(const struct cpuclock *clock);

/*
 * cpuclock_clock_source - name of the source that a handle reads.
 *
 * A static string. MT-Safe, AS-Safe. No system call.
 */
const char *cpuclock_clock_source(const struct cpuclock *clock);

/*
 * cpuclock_close - give a handle back. NULL is allowed.
 *
 * MT-Safe for different handles, not AS-Safe. Frees memory.
 */
void cpuclock_close(struct cpuclock *clock);

/* ---- The table of sources --------------------------------------------------
 */

/*
 * cpuclock_source_at - name of the @index-th source, fastest first; NULL after
 * the last.
 *
 * A static string. MT-Safe, AS-Safe. No system call.
 */
const char *cpuclock_source_at(size_t index);

/* A source as it is on this machine. Strings are static. */
struct cpuclock_source_info {
	const char *name;
	const char *summary;
	unsigned int targets; /* bits 1u << enum cpuclock_target */
	unsigned int kinds;   /* bits 1u << enum cpuclock_kind */
	int system_calls;     /* per read */
	int status;	      /* 0 if it works here, else -errno */
	const char *why;      /* why not; NULL if it works */
};

/*
 * cpuclock_source_info - describe a source, and say whether it works here.
 *
 * The answer is found by trying, once per process, and kept.
 *
 * -ENOENT  there is no source of that name
 *
 * Returns 0. MT-Safe, not AS-Safe. System calls on first use of a source.
 */
int cpuclock_source_info(const char *source,
			 struct cpuclock_source_info *ret_info);

/*
 * cpuclock_source_resolution - smallest step of a kind read through a source,
 * in nanoseconds.
 *
 * The step of the numbers, not their error: that of user and system is in every
 * source the error of sampling, see CPUCLOCK_USER.
 *
 * -ENOENT      there is no source of that name
 * -EOPNOTSUPP  it does not give this kind
 *
 * MT-Safe, AS-Safe. At most one system call.
 */
int64_t cpuclock_source_resolution(const char *source, enum cpuclock_kind kind);

/*
 * cpuclock_best_source - name of the fastest source that works here and gives
 * this kind for this target; NULL if there is none.
 *
 * A static string. Safety and cost as for cpuclock_source_info.
 */
const char *cpuclock_best_source(enum cpuclock_target target,
				 enum cpuclock_kind kind);

/* ---- Linux clock ids --------------------------------------------------------
 */

/* Bits 1..0 of a negative clockid_t (include/linux/posix-timers.h). */
enum cpuclock_clockid_type {
	CPUCLOCK_ID_PROF,  /* sampled user + system ticks */
	CPUCLOCK_ID_VIRT,  /* sampled user ticks */
	CPUCLOCK_ID_SCHED, /* exact time on a CPU */
	CPUCLOCK_ID_FD,	   /* no CPU clock: a device such as /dev/ptp0 */
};

/* A negative clockid_t, taken apart. */
struct cpuclock_clockid {
	enum cpuclock_clockid_type type;
	int per_thread; /* bit 2; for CPUCLOCK_ID_FD always 0 */
	int32_t value;	/* PID or TID, 0 for the caller; or descriptor */
};

/*
 * cpuclock_clockid_encode - build the clock id of a CPU clock or device clock.
 *
 * value 0 means the caller itself, and such an id is a constant: the kernel
 * then looks no PID up. Anything outside of 0 to 4194304 is refused: the id of
 * PID -1 is that of a fixed clock from 0 to 7, mostly a wall clock, which would
 * answer without an error. A descriptor may be 0 to 268435455.
 *
 * -EINVAL  a field is out of range
 *
 * Returns 0. MT-Safe, AS-Safe. No system call.
 */
int cpuclock_clockid_encode(const struct cpuclock_clockid *id,
			    clockid_t *ret_clockid);

/*
 * cpuclock_clockid_decode - take a clock id apart.
 *
 * -EINVAL  not a CPU or device clock: ids from 0 up are the fixed clocks of
 *          clock_gettime(2), and bits 2..0 must not all be set
 *
 * value can exceed 4194304 for an id that the kernel never made.
 *
 * Returns 0. MT-Safe, AS-Safe. No system call.
 */
int cpuclock_clockid_decode(clockid_t clockid, struct cpuclock_clockid *ret_id);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* CPUCLOCK_H */
