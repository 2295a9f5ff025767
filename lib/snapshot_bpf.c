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
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "capability.h"
#include "clockid.h"
#include "procfs.h"
#include "snapshot_bpf.h"
#include "snapshot_hidepid.h"
#include "sys.h"

enum {
	MIN_RECORDS = 4096,
	GENERATIONS = 65536, /* the root of all comes much earlier */
};

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

static int load(struct cpuclock_snapshot *snapshot,
		struct cpuclock__bpf_state *state)
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
		programs->maps.exits.max_entries = CPUCLOCK__RING_SIZE;
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

static int attach(struct cpuclock_snapshot *snapshot,
		  struct cpuclock__bpf_state *state)
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
		  CPUCLOCK__RING_SIZE * sizeof(*state->exits), &state->exits);
	programs->bss->ring_mask = CPUCLOCK__RING_SIZE - 1;
	if (!err && programs__on_exit__attach(programs) < 0)
		err = -errno;
	return err;
}

static void close_bpf(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock__bpf_state *state = snapshot->state;
	int saved = errno;

	if (state->exits)
		munmap(state->exits,
		       CPUCLOCK__RING_SIZE * sizeof(*state->exits));
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
		       struct cpuclock__bpf_state *state)
{
	int err;

	state->n_records = records_needed();
	state->restricted = cpuclock__hidepid_restricts();
	err = load(snapshot, state);
	/* Without a capability, each program fails in a way of its own. */
	if (err && err != -ENOMEM && !may_load())
		return -EPERM;
	return err ? err : attach(snapshot, state);
}

static int open_bpf(struct cpuclock_snapshot *snapshot, const char **ret_why)
{
	struct cpuclock__bpf_state *state = calloc(1, sizeof(*state));
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

const struct cpuclock__snapshot_source cpuclock__snapshot_bpf = {
	.name = "bpf",
	.summary = "a BPF program that walks all tasks, in one system call",
	.open = open_bpf,
	.take = cpuclock__bpf_take,
	.close = close_bpf,
};

const struct cpuclock__snapshot_source cpuclock__snapshot_bpf_iter = {
	.name = "bpf-iter",
	.summary = "a BPF program run for each task by a file's reads",
	.open = open_bpf,
	.take = cpuclock__bpf_take,
	.close = close_bpf,
};
