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
 * These calls ask the kernel only once in a while: where a clock without a
 * system call works here (see cpuclock_self_source), an answer is carried
 * forward by the cycle counter for up to 1 ms while the thread does not leave
 * its CPU. Then it is at most 1 ms ahead of the kernel's clock, by interrupts
 * and by time that a hypervisor took, and time off the CPU is never counted.
 *
 * A child of vfork(2), which shares its parent's memory, can be given its
 * parent's answer for up to 1 ms after that. Children of fork(2), _Fork(3) and
 * clone(2) without CLONE_VM are given their own. With source "fast:perf" a
 * child that a signal handler makes by _Fork(3) or clone(2), in the midst of
 * one of these calls, must not return from the handler: the memory that the
 * call looks at is not the child's. After fork(2) it may.
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

/* ---- Spans: CPU time between two points -------------------------------------
 */

/*
 * A span counts the CPU time of the thread that it runs on, from start to stop
 * and without its pauses; it can be paused on one thread and resumed on
 * another. A span with a parent is the parent's child. A span without one is
 * the root of a tree.
 *
 * On each thread the running spans of one tree form a stack: what is started or
 * resumed goes on top. Only the top one counts, for only it is being worked on.
 *   - Self time is what a span counted while it was on top.
 *   - Inclusive time is self time and the inclusive time of the children that
 *     have stopped, on whatever threads they ran. A child which runs on another
 *     thread takes nothing from its parent's self time.
 * So each nanosecond of a thread is self time of at most one span of a tree:
 * nothing is negative, nothing is counted twice, and the inclusive time of a
 * root is the sum of all self times. Spans of different trees do not know of
 * each other: each counts.
 *
 * Pausing a span also pauses what is on top of it, and what is below it goes
 * on. Resuming it resumes these as they were. So the task that moves to another
 * thread is moved by two calls on its root, however deep it is in its spans.
 *
 * Rules of use:
 *   - The memory is the caller's. It is not moved or copied, and stays until
 *     the span and its children are stopped. Nothing needs to be given back.
 *   - One thread uses a span at a time; that the next one sees what this one
 *     did is the caller's task, as for any memory. But children of one parent
 *     may be started and stopped on many threads at the same time, while the
 *     parent's thread uses the parent.
 *   - A signal handler may use spans: not those of a tree that the code it
 *     interrupts uses, and it stops or pauses what it starts or resumes. A
 *     child of vfork(2) may use none.
 *   - Of a span that runs when fork(2) is called, the child has no more than an
 *     error; a paused one is as good in the child as in the parent.
 *   - To find the stack, a thread remembers the four trees that it used last,
 *     and looks at the parent of what is started. In older trees, a span goes
 * on top of its parent only, and beside others on the thread both count.
 */
struct cpuclock_span {
	uint64_t opaque[16]; /* 128 bytes */
};

/* Not started yet. Start needs none of this; the other calls then see that. */
#define CPUCLOCK_SPAN_INIT \
	{                  \
		{          \
			0  \
		}          \
	}

/* Flags of cpuclock_span_start. */
enum cpuclock_span_flags {
	/* Count user and system too. Costs what cpuclock_self costs. */
	CPUCLOCK_SPAN_SPLIT = 1,
};

/* Times of a span. User and system are -1 without CPUCLOCK_SPAN_SPLIT. */
struct cpuclock_span_times {
	struct cpuclock_times self;
	struct cpuclock_times inclusive;
};

/*
 * cpuclock_span_start - begin a span on the calling thread.
 *
 * @span    whatever it holds is overwritten, so it must not be in use
 * @parent  NULL for a root. Else any span that is started and not stopped; it
 *          may be paused, or run on another thread
 * @flags   0 or CPUCLOCK_SPAN_SPLIT. A child has the flags of its root
 *
 * -EINVAL  @parent is not started, or stopped, or @span; @flags are unknown, or
 *          ask for what the root does not count
 * other    of cpuclock_total, or cpuclock_self with CPUCLOCK_SPAN_SPLIT
 *
 * Returns 0. After an error the span is not started. MT-Safe and AS-Safe under
 * the rules of use. The system calls of cpuclock_total or cpuclock_self.
 */
int cpuclock_span_start(struct cpuclock_span *span,
			struct cpuclock_span *parent, unsigned int flags);

/*
 * cpuclock_span_stop - end a span, and add it to its parent.
 *
 * To be called on the thread that the span runs on, or on any if it is paused.
 * Returns its inclusive total, in nanoseconds; cpuclock_span_read gives the
 * rest.
 *
 * -EXDEV     it runs on another thread, or ran on one that has ended, or in the
 *            parent of this process
 * -EBUSY     a child is not stopped yet, or another span of the tree is on top
 *            of it on this thread, or it is paused by a span below it
 * -EALREADY  it is stopped already
 * -EINVAL    it was never started
 * other      as for start
 *
 * After an error nothing has changed. Safety and cost as for start; no system
 * call if it is paused.
 */
int64_t cpuclock_span_stop(struct cpuclock_span *span);

/*
 * cpuclock_span_pause - take a span, and what is on top of it, off the calling
 * thread.
 *
 * -EXDEV     as for stop
 * -EALREADY  it is paused already
 * -EINVAL    it was never started, or is stopped
 * other      as for start
 *
 * Returns 0. After an error nothing has changed. Safety and cost as for start.
 */
int cpuclock_span_pause(struct cpuclock_span *span);

/*
 * cpuclock_span_resume - let a paused span go on, on the calling thread.
 *
 * -EALREADY  it is not paused: it runs, on this thread or another
 * -EBUSY     it was paused by pausing a span below it: resume that one
 * -EINVAL    it was never started, or is stopped
 * other      as for start
 *
 * Returns 0. After an error nothing has changed. Safety and cost as for start.
 */
int cpuclock_span_resume(struct cpuclock_span *span);

/*
 * cpuclock_span_read - times of a span so far; of a stopped span, its result.
 *
 * To be called on the thread that the span runs on, or on any if it is paused
 * or stopped. Neither self nor inclusive time decreases from read to read.
 *
 * -EXDEV   as for stop
 * -EINVAL  it was never started
 * other    as for start
 *
 * Returns 0. Safety and cost as for start; no system call if the span is not on
 * top of its thread.
 */
int cpuclock_span_read(const struct cpuclock_span *span,
		       struct cpuclock_span_times *ret_times);

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
 *              it needs /proc, which is not mounted, or that of another PID
 *              namespace
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
	int system_calls;     /* per read; of fast, while it carries forward */
	int status;	      /* 0 if it works here, else -errno */
	const char *why;      /* why not; NULL if it works */
};

/*
 * cpuclock_source_info - describe a source, and say whether it works here.
 *
 * The answer is found by trying, once per process, and kept; but not that of a
 * passing shortage. `fast` can be turned off later, as cpuclock_self_source
 * then says, and a thread that is denied its epoch asks the kernel.
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

/* ---- Snapshots: who uses the CPU -------------------------------------------
 */

/*
 * A snapshot has every thread of some processes, or of the system, with what it
 * has used so far. The reader remembers the snapshot before, so that each
 * record comes with what it was then: the difference of the two is what a
 * thread has used in between. A thread is known by its TID and its start time,
 * for the kernel gives TIDs anew.
 *
 * All ids are those of the caller's PID namespace; what is not in it is not
 * shown, nor is a process that /proc hides from the caller (mount option
 * hidepid), whichever way the snapshot is taken. A thread that starts or ends
 * while it is taken can be in it or not; every other one is, once.
 *
 * Of a thread no time falls from one snapshot to the next, and user + system ==
 * total in each. See CPUCLOCK_USER for how exact the two parts are.
 */
struct cpuclock_snapshot;

/* The kernel's names have 15 bytes at most, of any value but 0. */
#define CPUCLOCK_NAME_SIZE 16

/* A thread. Fields can be added at the end. */
struct cpuclock_thread {
	pid_t pid; /* of its process */
	pid_t tid;
	int64_t start_ns; /* when it started, since boot; `proc`: 10 ms steps */
	struct cpuclock_times times;
	/*
	 * By how much total can lag behind the moment at which the thread was
	 * looked at. 0 for one that was not on a CPU. The kernel brings a
	 * running one up to date at each timer tick, so this is a tick where
	 * the source cannot add what has passed since. Where it does add that,
	 * it adds interrupts and time that a hypervisor took, too.
	 */
	int64_t stale_ns;
	int64_t wait_ns;	    /* waiting for a CPU; -1: not known here */
	int64_t voluntary_switches; /* it went to sleep; -1: not known */
	int64_t involuntary_switches; /* it was preempted; -1: not known */
	int cpu;		      /* that it is or was last on */
	char state;		      /* a letter of proc(5): R, S, D, Z ... */
	char name[CPUCLOCK_NAME_SIZE];
};

/* A process. Fields can be added at the end. */
struct cpuclock_process {
	pid_t pid;
	pid_t parent_pid;		   /* 0: none in this namespace */
	int64_t start_ns;		   /* as of its main thread */
	struct cpuclock_times times;	   /* of all its threads: */
	struct cpuclock_times ended_times; /* of those that ended, the rest of
					      times being of those shown */
	int threads;			   /* that are shown */
	char state;			   /* of its main thread; Z: a zombie */
	char name[CPUCLOCK_NAME_SIZE];	   /* of its main thread */
};

enum cpuclock_snapshot_flags {
	/*
	 * The processes given, and their children, grandchildren and so on, as
	 * they are at the time: an orphan is a child of who adopts it.
	 */
	CPUCLOCK_SNAPSHOT_DESCENDANTS = 1,
	/*
	 * Know of each thread that ends, by events: also of those that start
	 * and end between two snapshots. Only by BPF; else ignored. Every
	 * thread that ends pays about a microsecond, in all the system.
	 */
	CPUCLOCK_SNAPSHOT_EXITS = 2,
};

/*
 * cpuclock_snapshot_open - prepare to take snapshots.
 *
 * @pids, @n_pids  the processes; 0 of them for all of the system
 * @source         a name from cpuclock_snapshot_source_at, or NULL for the best
 *                 one that works here
 * @flags          of enum cpuclock_snapshot_flags, or 0
 *
 * Returns 0. The caller owns *ret_snapshot and passes it to
 * cpuclock_snapshot_close. It is empty until the first cpuclock_snapshot_take.
 *
 * The sources that use BPF, `bpf` and `bpf-iter`, need CAP_BPF and CAP_PERFMON
 * here only: the caller can drop them, and others, afterwards. What hidepid
 * hides from the caller is decided by what it may do here.
 *
 * -EINVAL      a PID is not 1 to 4194304; @flags are unknown, or ask for
 *              descendants of no process
 * -ENOENT      there is no source of that name
 * -ENOMEM      out of memory
 * -EMFILE, -ENFILE  no file descriptor is left
 * -EOPNOTSUPP  no source works here: no BPF, and /proc is not mounted
 * other        why the source does not work here: see
 *              cpuclock_snapshot_source_info
 *
 * MT-Safe, not AS-Safe. Allocates, opens files.
 */
int cpuclock_snapshot_open(const pid_t *pids, size_t n_pids, const char *source,
			   unsigned int flags,
			   struct cpuclock_snapshot **ret_snapshot);

/*
 * cpuclock_snapshot_take - take a snapshot.
 *
 * The records that it gave so far are no longer valid, but those of the last
 * snapshot are kept as what was before. A process that does not exist has no
 * records, which is no error.
 *
 * -ENOMEM      out of memory
 * -EMFILE, -ENFILE  no file descriptor is left (proc, which keeps as many as
 *              RLIMIT_NOFILE allows, and needs three)
 * -EOPNOTSUPP  /proc is no longer mounted
 * other        what bpf(2) said
 *
 * Returns 0; after an error the last snapshot is still there. MT-Safe for
 * different readers, not AS-Safe: one thread at a time uses a reader, in the
 * process that opened it. Allocates. System calls: by BPF some in all; by
 * `proc` two for each thread whose files are kept open, else six.
 */
int cpuclock_snapshot_take(struct cpuclock_snapshot *snapshot);

/*
 * cpuclock_snapshot_thread - the @index-th thread of the last snapshot; NULL
 * after the last one. Those of a process stand together.
 *
 * *ret_before becomes the same thread in the snapshot before; NULL if it was
 * not in it, and then it has used all of its time since that one. It may be
 * NULL. Both are valid until the next cpuclock_snapshot_take.
 *
 * MT-Safe for different readers, not AS-Safe. No system call.
 */
const struct cpuclock_thread *
cpuclock_snapshot_thread(const struct cpuclock_snapshot *snapshot, size_t index,
			 const struct cpuclock_thread **ret_before);

/*
 * cpuclock_snapshot_ended - the @index-th thread of those that are known to
 * have ended since the snapshot before; NULL after the last one.
 *
 * With CPUCLOCK_SNAPSHOT_EXITS and BPF as it was at its end, but for the work
 * of its last moments: since Linux 6.16 the kernel tells of it before it frees
 * the memory of a process, which can take long. Else only what
 * was in the snapshot before, and as it was there. That which is not known of
 * is in the ended_times of its process all the same. The rest, safety
 * and cost as for cpuclock_snapshot_thread.
 */
const struct cpuclock_thread *
cpuclock_snapshot_ended(const struct cpuclock_snapshot *snapshot, size_t index,
			const struct cpuclock_thread **ret_before);

/*
 * cpuclock_snapshot_process - the @index-th process of the last snapshot; NULL
 * after the last one. The rest, safety and cost as for
 * cpuclock_snapshot_thread.
 */
const struct cpuclock_process *
cpuclock_snapshot_process(const struct cpuclock_snapshot *snapshot,
			  size_t index,
			  const struct cpuclock_process **ret_before);

/* What is to be known of a snapshot. Fields can be added at the end. */
struct cpuclock_snapshot_info {
	const char *source;    /* its name; a static string, as the next */
	const char *summary;   /* what it does */
	int64_t time_ns;       /* of CLOCK_MONOTONIC, in its middle */
	int64_t duration_ns;   /* that it took */
	int64_t split_step_ns; /* user and system come in such steps */
	int64_t tick_ns;       /* of the kernel's timer, which samples them */
	int knows_exits;       /* CPUCLOCK_SNAPSHOT_EXITS is in force */
	uint64_t lost_exits;   /* threads that ended too fast to be kept */
};

/*
 * cpuclock_snapshot_info - facts about the reader and its last snapshot.
 *
 * Returns 0. MT-Safe for different readers, not AS-Safe. No system call.
 */
int cpuclock_snapshot_info(const struct cpuclock_snapshot *snapshot,
			   struct cpuclock_snapshot_info *ret_info);

/*
 * cpuclock_snapshot_close - give a reader back. NULL is allowed.
 *
 * MT-Safe for different readers, not AS-Safe. Frees memory, closes files.
 */
void cpuclock_snapshot_close(struct cpuclock_snapshot *snapshot);

/*
 * cpuclock_snapshot_source_at - name of the @index-th source of snapshots,
 * fastest first; NULL after the last.
 *
 * A static string. MT-Safe, AS-Safe. No system call.
 */
const char *cpuclock_snapshot_source_at(size_t index);

/* A source of snapshots as it is on this machine. Strings are static. */
struct cpuclock_snapshot_source_info {
	const char *name;
	const char *summary;
	int status;	 /* 0 if it works here, else -errno */
	const char *why; /* why not; NULL if it works */
};

/*
 * cpuclock_snapshot_source_info - describe a source of snapshots, and say
 * whether it works here.
 *
 * The answer is found by trying, each time anew, as it depends on what the
 * caller may do.
 *
 * -ENOENT  there is no source of that name
 *
 * Returns 0. MT-Safe, not AS-Safe. System calls; opens and closes files.
 */
int cpuclock_snapshot_source_info(
	const char *source, struct cpuclock_snapshot_source_info *ret_info);

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
