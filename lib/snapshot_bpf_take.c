/* SPDX-License-Identifier: MIT */
/* Runs the BPF programs, and makes records of a snapshot of theirs. */
#include <stdlib.h>

#include "clockid.h"
#include "snapshot_bpf.h"
#include "snapshot_hidepid.h"
#include "snapshot_task.h"
#include "sys.h"

/* What the kernel cannot have left out: it looks at least that often. */
#define MAX_EXTRA_NS (2 * CPUCLOCK__NSEC_PER_SEC)

static long sys_bpf(int command, union bpf_attr *attr)
{
	return cpuclock__syscall(SYS_bpf, command, (long)attr, sizeof(*attr));
}

static int run_walk(const struct cpuclock__bpf_state *state)
{
	union bpf_attr attr = {
		.test.prog_fd = (uint32_t)state->programs->progs.walk.prog_fd};

	return (int)sys_bpf(BPF_PROG_RUN, &attr);
}

static int run_iterator(const struct cpuclock__bpf_state *state)
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
static int scan(struct cpuclock__bpf_state *state, uint32_t pass,
		uint32_t passes)
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
	const struct cpuclock__bpf_state *state = snapshot->state;
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
						  : snapshot->info.tick_ns;
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

static int append(struct cpuclock__bpf_state *state, size_t *count, size_t more)
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
static int scan_passes(struct cpuclock__bpf_state *state, uint32_t passes,
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
	struct cpuclock__bpf_state *state = snapshot->state;
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
	struct cpuclock__bpf_state *state = snapshot->state;
	uint64_t exited = __atomic_load_n(&state->programs->bss->exited,
					  __ATOMIC_ACQUIRE);
	int err = 0;

	if (exited - state->exits_read > CPUCLOCK__RING_SIZE) {
		snapshot->info.lost_exits +=
			exited - state->exits_read - CPUCLOCK__RING_SIZE;
		state->exits_read = exited - CPUCLOCK__RING_SIZE;
	}
	for (; state->exits_read < exited && !err; state->exits_read++) {
		uint64_t index = state->exits_read % CPUCLOCK__RING_SIZE;
		struct cpuclock_thread thread;
		struct snapshot_task task;
		bool lost;

		if (take_exit(&state->exits[index], state->exits_read + 1,
			      &task, &lost)) {
			if (state->restricted && !may_show(snapshot, &task))
				continue;
			/* The offset of clocks is that of the last scan. */
			cpuclock__task_thread(&task, snapshot->info.tick_ns,
					      &thread);
			thread.stale_ns = snapshot->info.tick_ns;
			err = cpuclock__snapshot_add_ended(snapshot, &thread);
		} else if (lost) {
			snapshot->info.lost_exits++;
		} else {
			break;
		}
	}
	return err;
}

int cpuclock__bpf_take(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock__bpf_state *state = snapshot->state;
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
