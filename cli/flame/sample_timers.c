/* SPDX-License-Identifier: MIT */
/*
 * The file is read and written by calls, not mapped here: what runs in the
 * command may cut it short.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../preload/samples.h"
#include "../child.h"
#include "../cmd.h"
#include "../monotonic.h"
#include "../run/run.h"
#include "procmaps.h"
#include "sample_timers.h"

/* What a program loads later is seen so much later. */
#define MAPS_NS INT64_C(1000000000)

struct reader {
	struct session *session;
	int fd;
	uint64_t tail; /* number of the slot that is next */
	uint64_t stuck;
	struct samples_slot slot;
};

static bool read_at(const struct reader *reader, void *to, size_t size,
		    size_t offset)
{
	return pread(reader->fd, to, size, (off_t)offset) == (ssize_t)size;
}

static uint64_t read_count(const struct reader *reader, size_t offset)
{
	uint64_t count = 0;

	return read_at(reader, &count, sizeof(count), offset) ? count : 0;
}

static size_t offset_of(uint64_t number)
{
	return offsetof(struct samples, slots) +
	       number % SAMPLES_SLOTS * sizeof(struct samples_slot);
}

/* Another program began, or a child. */
static void take_maps(struct reader *reader)
{
	const struct samples_slot *slot = &reader->slot;
	struct processes *processes = &reader->session->processes;
	struct process *process = processes_get(processes, slot->pid);
	struct slice text = {(const char *)slot->bytes, slot->size};
	const struct build_id unknown = {0};
	struct procmap map;

	if (!process)
		return;
	if (slot->part == 0)
		processes_exec(process);
	processes_look(processes, process);
	while (procmaps_next(&text, &map)) {
		struct mapping mapping = {map.start, map.end, map.offset, NULL};
		char path[4096];

		if (!map.executable)
			continue;
		procmaps_path(map.path, path, sizeof(path));
		processes_map(processes, process, &mapping, path, &unknown);
	}
	process->maps_read_ns = monotonic_now();
}

static void refresh_maps(struct session *session, pid_t pid)
{
	struct process *process = processes_get(&session->processes, pid);
	int64_t now = monotonic_now();

	if (!process || now - process->maps_read_ns < MAPS_NS)
		return;
	process->maps_read_ns = now;
	processes_read_maps(&session->processes, process);
}

static void take_sample(struct reader *reader)
{
	const struct samples_slot *slot = &reader->slot;
	struct sample sample = {
		.pid = slot->pid,
		.tid = slot->tid,
		.weight = slot->weight,
		.has_registers = true,
		.stack = {slot->stack_start, slot->bytes, slot->size},
	};

	sample.registers.pc = slot->pc;
	memcpy(sample.registers.value, slot->registers,
	       sizeof(slot->registers));
	sample.registers.known = (UINT64_C(1) << REGISTERS_COUNT) - 1;
	refresh_maps(reader->session, slot->pid);
	processes_name_thread(&reader->session->processes, slot->pid, slot->tid,
			      slot->comm);
	session_add(reader->session, &sample);
}

static void take_slot(struct reader *reader, size_t offset)
{
	struct samples_slot *slot = &reader->slot;
	const uint32_t is_free = SLOT_FREE;

	if (!read_at(reader, slot, sizeof(*slot), offset))
		return;
	slot->comm[sizeof(slot->comm) - 1] = '\0';
	if (slot->pid > 0 && slot->tid > 0 &&
	    slot->size <= sizeof(slot->bytes)) {
		if (slot->kind == SLOT_MAPS)
			take_maps(reader);
		else
			take_sample(reader);
	}
	if (pwrite(reader->fd, &is_free, sizeof(is_free),
		   (off_t)(offset + offsetof(struct samples_slot, state))) < 0)
		reader->session->lost++;
}

/* In their order. One that is being filled is waited for once. */
static void drain(struct reader *reader)
{
	uint64_t next = read_count(reader, offsetof(struct samples, next));

	if (next > reader->tail + SAMPLES_SLOTS)
		reader->tail = next - SAMPLES_SLOTS;
	for (; reader->tail < next; reader->tail++) {
		size_t offset = offset_of(reader->tail);
		uint32_t state = SLOT_FREE;

		if (!read_at(reader, &state, sizeof(state),
			     offset + offsetof(struct samples_slot, state)))
			return;
		if (state == SLOT_FULL) {
			take_slot(reader, offset);
		} else if (state == SLOT_FILLING &&
			   reader->stuck != reader->tail) {
			reader->stuck = reader->tail;
			return;
		}
	}
}

static void tell(const struct reader *reader)
{
	struct session *session = reader->session;
	struct profile *profile = session->profile;
	uint64_t unsampled =
		read_count(reader, offsetof(struct samples, unsampled));

	if (unsampled > 0)
		profile_note(profile,
			     "not sampled: %" PRIu64 " threads that got no "
			     "timer (ulimit -i)",
			     unsampled);
	session->lost += read_count(reader, offsetof(struct samples, lost));
	profile_note(profile,
		     "perf events are denied here, or too much memory is "
		     "locked already: sampled by the threads' own "
		     "CPU timers, and what the kernel did is in the function "
		     "that called it");
	if (read_count(reader, offsetof(struct samples, processes)) == 0)
		profile_note(profile,
			     "no program loaded the sampler: it does not get "
			     "into static and setuid programs");
	if (session->options->kernel_only)
		profile_note(profile, "samples in the kernel cannot be told "
				      "from others");
}

static int set_variables(const struct session *session, const char *path)
{
	char period[32];

	snprintf(period, sizeof(period), "%" PRId64,
		 session->profile->about.sample_ns);
	if (setenv(SAMPLES_VARIABLE, path, 1) != 0 ||
	    setenv(SAMPLES_PERIOD_VARIABLE, period, 1) != 0)
		return cmd_fail(&cmd_flame, "out of memory");
	return run_add_sampler();
}

static int make_file(struct reader *reader, char *path)
{
	const uint64_t magic = SAMPLES_MAGIC;

	reader->fd = run_make_file(path);
	if (reader->fd < 0 ||
	    ftruncate(reader->fd, sizeof(struct samples)) != 0 ||
	    pwrite(reader->fd, &magic, sizeof(magic), 0) < 0)
		return cmd_fail(&cmd_flame, "no file for the samples: %s",
				strerror(errno));
	return CMD_OK;
}

static int run(struct reader *reader, struct control *control)
{
	char **argv = reader->session->options->command;
	struct pollfd fds[1];
	int err = child_start(&control->child, argv);
	bool goes_on = true;

	if (err)
		return cmd_fail(&cmd_flame, "cannot start a process: %s",
				strerror(-err));
	control_start(control);
	err = child_release(&control->child);
	if (err) {
		child_cancel(&control->child);
		return child_cannot_execute(&cmd_flame, *argv, -err);
	}
	while (goes_on) {
		goes_on = control_wait(control, fds, 0);
		drain(reader);
	}
	drain(reader);
	control_finish(control);
	tell(reader);
	return CMD_OK;
}

int sample_timers_command(struct session *session, struct control *control)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	char path[PATH_MAX] = "";
	int status;

	if (!reader)
		return cmd_fail(&cmd_flame, "out of memory");
	reader->session = session;
	reader->stuck = UINT64_MAX;
	status = make_file(reader, path);
	if (!status)
		status = set_variables(session, path);
	if (!status)
		status = run(reader, control);
	if (reader->fd >= 0)
		close(reader->fd);
	if (*path)
		unlink(path);
	free(reader);
	return status;
}
