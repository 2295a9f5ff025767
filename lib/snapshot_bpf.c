/* SPDX-License-Identifier: MIT */
/*
 * bpf, bpf-iter - programs in the kernel that write every thread's record into
 * memory which is mapped here: in one system call for all of them, or in some.
 *
 * Exact totals, also of threads that run at the moment: the kernel brings these
 * up to date at each tick only, and what has passed since is added here, by
 * the clock of the scheduler. The split is what /proc would show, which is the
 * kernel's rule (kernel/sched/cputime.c, cputime_adjust), but in nanoseconds.
 */
#include <errno.h> /* before the skeleton, which needs it */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <snapshot.skel.h>

#include "bpf/record.h"
#include "capability.h"
#include "clockid.h"
#include "procfs.h"
#include "snapshot.h"
#include "snapshot_hidepid.h"
#include "snapshot_task.h"
#include "sys.h"

enum {
	MIN_RECORDS = 4096,
	RING_SIZE = 16384,   /* a power of two */
	GENERATIONS = 65536, /* the root of all comes much earlier */
};

/* What the kernel cannot have left out: it looks at least that often. */
#define MAX_EXTRA_NS (2 * CPUCLOCK__NSEC_PER_SEC)

struct bpf_state {
	struct programs *programs;
	struct snapshot_task *records; /* mapped */
	size_t n_records;
	struct snapshot_exit *exits; /* mapped; NULL: not asked for */
	uint64_t exits_read;
	struct snapshot_task *copy; /* of what did not fit at once */
	size_t copy_size;
	bool walks;
	bool restricted;
	int64_t tick_ns;
	int64_t lag_ns; /* of the last calibration */
};

static long sys_bpf(int command, union bpf_attr *attr)
{
	return cpuclock__syscall(SYS_bpf, command, (long)attr, sizeof(*attr));
}

/* ---- Opening ---------------------------------------------------------------
 */

static const char *why_not(long err, bool walks)
{
	switch (err) {
	case -EPERM:
		return "bpf(2) is denied: it needs CAP_BPF and CAP_PERFMON, "
		       "and no seccomp filter or lockdown against it";
	case -ENOSYS:
		return "the kernel or a seccomp filter has no bpf(2)";
	case -ENOMEM:
		return "out of memory";
	case -EMFILE:
	case -ENFILE:
		return "no file descriptor is left";
	default:
		return walks ? "the kernel does not take the programs: it is "
			       "older than Linux 6.7, has no BTF, or is locked "
			       "down"
			     : "the kernel does not take the programs: it is "
			       "older than Linux 5.17, has no BTF, or is "
			       "locked down";
	}
}

/* Room for twice the threads that there are; more go in several passes. */
static size_t records_needed(void)
{
	char text[128];
	int length =
		cpuclock__procfs_read("/proc/loadavg", text, sizeof(text) - 1);
	size_t threads = 0;

	if (length > 0) {
		const char *slash;

		text[length] = '\0';
		slash = strchr(text, '/');
		threads = slash ? strtoul(slash + 1, NULL, 10) : 0;
	}
	if (threads > CPUCLOCK__PID_MAX)
		threads = CPUCLOCK__PID_MAX;
	return 2 * threads > MIN_RECORDS ? 2 * threads : MIN_RECORDS;
}

static int load(struct cpuclock_snapshot *snapshot, struct bpf_state *state)
{
	struct programs *programs = programs__open();
	int err;

	if (!programs)
		return -ENOMEM;
	programs->rodata->can_walk = state->walks;
	programs->rodata->filtered = snapshot->n_pids > 0;
	if (snapshot->flags & CPUCLOCK_SNAPSHOT_DESCENDANTS)
		programs->rodata->generations = GENERATIONS;
	programs->maps.records.max_entries = (uint32_t)state->n_records;
	if (snapshot->n_pids > 0)
		programs->maps.wanted.max_entries = (uint32_t)snapshot->n_pids;
	programs->rodata->keeps_exits =
		snapshot->flags & CPUCLOCK_SNAPSHOT_EXITS;
	if (programs->rodata->keeps_exits)
		programs->maps.exits.max_entries = RING_SIZE;
	err = programs__load(programs);
	if (err) {
		programs__destroy(programs);
		return err;
	}
	state->programs = programs;
	return 0;
}

static int map(int fd, size_t size, void *ret_memory)
{
	void *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	memcpy(ret_memory, &memory, sizeof(memory));
	return 0;
}

static int attach(struct cpuclock_snapshot *snapshot, struct bpf_state *state)
{
	struct programs *programs = state->programs;
	int err = map(programs->maps.records.map_fd,
		      state->n_records * sizeof(*state->records),
		      &state->records);

	for (size_t i = 0; i < snapshot->n_pids && !err; i++) {
		uint32_t pid = (uint32_t)snapshot->pids[i], value = 0;

		if (skel_map_update_elem(programs->maps.wanted.map_fd, &pid,
					 &value, 0) < 0)
			err = -errno;
	}
	if (!err && !state->walks && programs__iterate__attach(programs) < 0)
		err = -errno;
	if (err || !(snapshot->flags & CPUCLOCK_SNAPSHOT_EXITS))
		return err;
	err = map(programs->maps.exits.map_fd,
		  RING_SIZE * sizeof(*state->exits), &state->exits);
	programs->bss->ring_mask = RING_SIZE - 1;
	if (!err && programs__on_exit__attach(programs) < 0)
		err = -errno;
	return err;
}

static void close_bpf(struct cpuclock_snapshot *snapshot)
{
	struct bpf_state *state = snapshot->state;
	int saved = errno;

	if (state->exits)
		munmap(state->exits, RING_SIZE * sizeof(*state->exits));
	if (state->records)
		munmap(state->records,
		       state->n_records * sizeof(*state->records));
	programs__destroy(state->programs);
	free(state->copy);
	free(state);
	errno = saved;
}

static bool may_load(void)
{
	return cpuclock__capable(CAP_SYS_ADMIN) ||
	       (cpuclock__capable(CAP_BPF) && cpuclock__capable(CAP_PERFMON));
}

static int try_to_open(struct cpuclock_snapshot *snapshot,
		       struct bpf_state *state)
{
	int err;

	state->n_records = records_needed();
	state->tick_ns = cpuclock__clock_getres(CLOCK_MONOTONIC_COARSE);
	state->restricted = cpuclock__hidepid_restricts();
	err = load(snapshot, state);
	/* Without a capability, each program fails in a way of its own. */
	if (err && err != -ENOMEM && !may_load())
		return -EPERM;
	return err ? err : attach(snapshot, state);
}

static int open_bpf(struct cpuclock_snapshot *snapshot, const char **ret_why)
{
	struct bpf_state *state = calloc(1, sizeof(*state));
	bool walks = snapshot->source == &cpuclock__snapshot_bpf;
	int saved = errno, err;

	*ret_why = why_not(-ENOMEM, walks);
	if (!state)
		return -ENOMEM;
	snapshot->state = state;
	state->walks = walks;
	err = try_to_open(snapshot, state);
	errno = saved;
	if (err) {
		*ret_why = why_not(err, walks);
		close_bpf(snapshot);
		return err;
	}
	snapshot->info.split_step_ns = 1;
	/* Not of all, where it may not tell of all. */
	snapshot->info.knows_exits = state->exits && !state->restricted;
	return 0;
}

/* ---- Taking ----------------------------------------------------------------
 */

static int run_walk(const struct bpf_state *state)
{
	union bpf_attr attr = {
		.test.prog_fd = (uint32_t)state->programs->progs.walk.prog_fd};

	return (int)sys_bpf(BPF_PROG_RUN, &attr);
}

static int run_iterator(const struct bpf_state *state)
{
	union bpf_attr attr = {
		.iter_create.link_fd =
			(uint32_t)state->programs->links.iterate_fd};
	long fd = sys_bpf(BPF_ITER_CREATE, &attr), result;
	char nothing[64];

	if (fd < 0)
		return (int)fd;
	/* It writes no text, so the first read goes on to the end; EAGAIN is a
	 * million of tasks (kernel/bpf/bpf_iter.c). */
	do {
		result = cpuclock__syscall(SYS_read, fd, (long)nothing,
					   sizeof(nothing));
	} while (result > 0 || result == -EAGAIN || result == -EINTR);
	cpuclock__syscall(SYS_close, fd, 0, 0);
	return (int)result;
}

/* Fills the records with the threads of one pass out of some. */
static int scan(struct bpf_state *state, uint32_t pass, uint32_t passes)
{
	struct programs__bss *shared = state->programs->bss;
	int64_t start;
	int err;

	shared->pass = pass;
	shared->passes = passes;
	shared->calibrate = 1;
	start = cpuclock__clock_gettime(CLOCK_MONOTONIC);
	/* Brings this thread up to date, and by it the offset of clocks. */
	cpuclock__clock_gettime(CLOCK_THREAD_CPUTIME_ID);
	err = state->walks ? run_walk(state) : run_iterator(state);
	state->lag_ns = (int64_t)shared->calibrated_ns - start;
	return err;
}

static int by_process(const void *a, const void *b)
{
	const struct snapshot_task *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/*
 * The process of some tasks: what ended before any of them was read, for what
 * ended later may be among them.
 */
static struct snapshot_task process_of(const struct snapshot_task *tasks,
				       size_t count)
{
	const struct snapshot_task *first = tasks, *main_thread = tasks;
	struct snapshot_task process;

	for (size_t i = 0; i < count; i++) {
		if (tasks[i].tid == tasks[i].tgid)
			main_thread = &tasks[i];
		if (tasks[i].ended_exec_ns < first->ended_exec_ns)
			first = &tasks[i];
	}
	process = *main_thread;
	process.ended_exec_ns = first->ended_exec_ns;
	process.ended_utime = first->ended_utime;
	process.ended_stime = first->ended_stime;
	return process;
}

/* Threads of one process, which stand together. */
static int add_group(struct cpuclock_snapshot *snapshot,
		     const struct snapshot_task *tasks, size_t count)
{
	const struct bpf_state *state = snapshot->state;
	struct snapshot_task of_process = process_of(tasks, count);
	struct cpuclock_process process;
	int err = 0;

	if (state->restricted && !cpuclock__hidepid_shows((pid_t)tasks->tgid))
		return 0;
	for (size_t i = 0; i < count && !err; i++) {
		struct cpuclock_thread thread;

		cpuclock__task_thread(&tasks[i], MAX_EXTRA_NS, &thread);
		if (tasks[i].flags & SNAPSHOT_ON_CPU)
			thread.stale_ns = tasks[i].flags & SNAPSHOT_EXTRA
						  ? state->lag_ns
						  : state->tick_ns;
		err = cpuclock__snapshot_add_thread(snapshot, &thread);
	}
	if (err)
		return err;
	cpuclock__task_process(&of_process, &process);
	return cpuclock__snapshot_add_process(snapshot, &process);
}

static int add_all(struct cpuclock_snapshot *snapshot,
		   struct snapshot_task *tasks, size_t count, bool grouped)
{
	size_t start = 0;
	int err = 0;

	if (!grouped)
		qsort(tasks, count, sizeof(*tasks), by_process);
	for (size_t i = 1; i <= count && !err; i++) {
		if (i < count && tasks[i].tgid == tasks[start].tgid)
			continue;
		err = add_group(snapshot, &tasks[start], i - start);
		start = i;
	}
	return err;
}

static int append(struct bpf_state *state, size_t *count, size_t more)
{
	size_t size = *count + more;

	if (size > state->copy_size) {
		struct snapshot_task *copy =
			reallocarray(state->copy, size, sizeof(*copy));

		if (!copy)
			return -ENOMEM;
		state->copy = copy;
		state->copy_size = size;
	}
	memcpy(state->copy + *count, state->records,
	       more * sizeof(*state->records));
	*count = size;
	return 0;
}

/* Takes those of each remainder; *ret_count is how many, or 0 if there was no
 * room for those of one. */
static int scan_passes(struct bpf_state *state, uint32_t passes,
		       size_t *ret_count)
{
	*ret_count = 0;
	for (uint32_t pass = 0; pass < passes; pass++) {
		int err = scan(state, pass, passes);
		uint64_t found = state->programs->bss->found;

		if (!err && found > state->n_records) {
			*ret_count = 0;
			return 0;
		}
		if (!err)
			err = append(state, ret_count, found);
		if (err)
			return err;
	}
	return 0;
}

/*
 * There are more threads than records, and to make more the privilege may be
 * gone: so each pass takes those whose TID has its remainder.
 */
static int scan_in_passes(struct cpuclock_snapshot *snapshot, uint64_t found)
{
	struct bpf_state *state = snapshot->state;
	uint32_t passes = (uint32_t)(2 * found / state->n_records + 1);
	size_t count = 0;
	int err = 0;

	/* With more passes than TIDs, one is one thread. */
	while (!err && !count && passes <= 2 * CPUCLOCK__PID_MAX) {
		err = scan_passes(state, passes, &count);
		passes = 2 * passes + 1;
	}
	return err ? err : add_all(snapshot, state->copy, count, false);
}

static bool take_exit(struct snapshot_exit *slot, uint64_t number,
		      struct snapshot_task *ret_task, bool *ret_lost)
{
	uint64_t done = __atomic_load_n(&slot->done, __ATOMIC_ACQUIRE);
	uint64_t begun;

	*ret_task = slot->task;
	/* A load alone could come before those of the task. */
	begun = __atomic_fetch_add(&slot->begun, 0, __ATOMIC_ACQ_REL);
	*ret_lost = begun > number;
	/* Else another CPU writes it at the moment: it is read next time. */
	return done == number && begun == number;
}

/* Of a process that is gone, /proc tells no more whether it was hidden. */
static bool may_show(const struct cpuclock_snapshot *snapshot,
		     const struct snapshot_task *task)
{
	return cpuclock__list_find(
		       &cpuclock__snapshot_last(snapshot)->processes,
		       (pid_t)task->tgid, (int64_t)task->process_start_ns) ||
	       cpuclock__hidepid_shows((pid_t)task->tgid);
}

static int add_exits(struct cpuclock_snapshot *snapshot)
{
	struct bpf_state *state = snapshot->state;
	uint64_t exited = __atomic_load_n(&state->programs->bss->exited,
					  __ATOMIC_ACQUIRE);
	int err = 0;

	if (exited - state->exits_read > RING_SIZE) {
		snapshot->info.lost_exits +=
			exited - state->exits_read - RING_SIZE;
		state->exits_read = exited - RING_SIZE;
	}
	for (; state->exits_read < exited && !err; state->exits_read++) {
		uint64_t index = state->exits_read % RING_SIZE;
		struct cpuclock_thread thread;
		struct snapshot_task task;
		bool lost;

		if (take_exit(&state->exits[index], state->exits_read + 1,
			      &task, &lost)) {
			if (state->restricted && !may_show(snapshot, &task))
				continue;
			/* The offset of clocks is that of the last scan. */
			cpuclock__task_thread(&task, state->tick_ns, &thread);
			thread.stale_ns = state->tick_ns;
			err = cpuclock__snapshot_add_ended(snapshot, &thread);
		} else if (lost) {
			snapshot->info.lost_exits++;
		} else {
			break;
		}
	}
	return err;
}

static int take_bpf(struct cpuclock_snapshot *snapshot)
{
	struct bpf_state *state = snapshot->state;
	uint64_t found;
	int err = scan(state, 0, 1);

	if (err)
		return err;
	found = state->programs->bss->found;
	if (found <= state->n_records)
		err = add_all(snapshot, state->records, found, state->walks);
	else
		err = scan_in_passes(snapshot, found);
	return err || !state->exits ? err : add_exits(snapshot);
}

const struct cpuclock__snapshot_source cpuclock__snapshot_bpf = {
	.name = "bpf",
	.summary = "a BPF program that walks all tasks, in one system call",
	.open = open_bpf,
	.take = take_bpf,
	.close = close_bpf,
};

const struct cpuclock__snapshot_source cpuclock__snapshot_bpf_iter = {
	.name = "bpf-iter",
	.summary = "a BPF program run for each task by a file's reads",
	.open = open_bpf,
	.take = take_bpf,
	.close = close_bpf,
};
