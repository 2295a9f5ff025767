/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../child.h"
#include "../cmd.h"
#include "../monotonic.h"
#include "../probe.h"
#include "../run/run.h"
#include "cfi.h"
#include "perf_event.h"
#include "records.h"
#include "sample_perf.h"

static int fail_open(int err)
{
	if (err == -EACCES || err == -EPERM)
		return cmd_fail(&cmd_flame,
				"perf events are denied (%s): "
				"kernel.perf_event_paranoid is %d, or a "
				"container forbids them; run it as root or "
				"with CAP_PERFMON, or start the program by it",
				strerror(-err), probe_paranoid());
	if (err == -ENOSYS || err == -ENOENT)
		return cmd_fail(&cmd_flame,
				"this kernel has no perf events; start the "
				"program by it, which needs none");
	if (err == -EMFILE)
		return cmd_fail(&cmd_flame,
				"too many threads for the limit of open files: "
				"raise it by 'ulimit -n', or run it as root, "
				"where one for each CPU is enough");
	if (err == -ESRCH)
		return cmd_fail(&cmd_flame, "the process or thread has ended");
	return cmd_fail(&cmd_flame, "cannot sample by perf events: %s",
			strerror(-err));
}

static void note_limits(struct session *session,
			const struct perf_events *events)
{
	struct profile *profile = session->profile;

	/* Where it is read first. */
	if (events->attr.exclude_kernel)
		profile->about.engine = "perf task-clock, user only";
	if (events->attr.exclude_kernel && !session->options->user_only)
		profile_note(profile,
			     "user only: the kernel's part is not sampled, as "
			     "kernel.perf_event_paranoid is %d and this was "
			     "not run as root or with CAP_PERFMON",
			     probe_paranoid());
	if (events->ring_size < events->least_size)
		profile_note(profile,
			     "buffers shrunk from %zu to %zu KiB for each CPU: "
			     "more memory may not be locked "
			     "(kernel.perf_event_mlock_kb, ulimit -l)",
			     events->wanted_size / 1024,
			     events->ring_size / 1024);
	if (!cfi_is_supported())
		profile_note(profile,
			     "stacks by frame pointers only: this build is "
			     "without libdw");
}

static void drain(struct perf_events *events, struct records *records)
{
	for (size_t i = 0; i < events->n_rings; i++)
		ring_drain(&events->rings[i], records_take, records);
}

/* What was in a ring before the last round began has come out by this one. */
static int collect(struct session *session, struct control *control,
		   struct perf_events *events)
{
	struct records records = {.session = session, .attr = &events->attr};
	struct pollfd *fds = calloc(events->n_rings + 1, sizeof(*fds));
	int64_t last = 0;
	bool goes_on = true;

	if (!fds)
		return cmd_fail(&cmd_flame, "out of memory");
	for (size_t i = 0; i < events->n_rings; i++)
		fds[i] = (struct pollfd){events->ring_fds[i], POLLIN, 0};
	while (goes_on) {
		int64_t now;

		goes_on = control_wait(control, fds, events->n_rings);
		now = monotonic_now();
		drain(events, &records);
		records_process(&records, (uint64_t)last);
		last = now;
	}
	drain(events, &records);
	records_process(&records, UINT64_MAX);
	records_free(&records);
	free(fds);
	control_finish(control);
	note_limits(session, events);
	return CMD_OK;
}

static bool is_denial(int err)
{
	return err == -EACCES || err == -EPERM || err == -ENOSYS ||
	       err == -ENOENT;
}

int sample_perf_command(struct session *session, struct control *control,
			bool *ret_denied)
{
	char **argv = session->options->command;
	struct perf_events events;
	int status, err;

	perf_events_init(&events, session->options);
	*ret_denied = false;
	err = perf_events_probe(&events);
	if (is_denial(err)) {
		*ret_denied = true;
		return CMD_FAILURE;
	}
	err = child_start(&control->child, argv);
	if (err)
		return cmd_fail(&cmd_flame, "cannot start a process: %s",
				strerror(-err));
	err = perf_events_of_command(&events, control->child.pid);
	if (err) {
		child_cancel(&control->child);
		perf_events_close(&events);
		/* Or all memory that may be locked has been. */
		*ret_denied = is_denial(err);
		return *ret_denied ? CMD_FAILURE : fail_open(err);
	}
	control_start(control);
	err = child_release(&control->child);
	if (err) {
		child_cancel(&control->child);
		status = child_cannot_execute(&cmd_flame, *argv, -err);
	} else {
		status = collect(session, control, &events);
	}
	perf_events_close(&events);
	return status;
}

/*
 * Threads that these start are counted by inheritance. One that another starts
 * while they are listed is missed: to list them again would count it twice, if
 * its parent was open already.
 */
static int open_threads(struct perf_events *events, pid_t pid)
{
	char path[64];
	DIR *folder;
	struct dirent *entry;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(folder))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0)
			err = perf_events_of_thread(events, tid);
		/* It has ended since. */
		if (err == -ESRCH)
			err = 0;
	}
	closedir(folder);
	return err;
}

static int open_targets(struct perf_events *events,
			const struct flame_options *options)
{
	int err = 0;

	for (size_t i = 0; i < options->n_pids && !err; i++)
		err = open_threads(events, options->pids[i]);
	for (size_t i = 0; i < options->n_tids && !err; i++)
		err = perf_events_of_thread(events, options->tids[i]);
	return err;
}

int sample_perf_attach(struct session *session, struct control *control)
{
	const struct flame_options *options = session->options;
	struct perf_events events;
	int status, err;

	perf_events_init(&events, options);
	err = perf_events_of_machine(&events);
	if (err && !options->all) {
		perf_events_close(&events);
		err = open_targets(&events, options);
	}
	if (err) {
		perf_events_close(&events);
		return fail_open(err);
	}
	control_start(control);
	perf_events_enable(&events);
	/* Now that the kernel tells of what is mapped from here on. */
	for (size_t i = 0; i < options->n_pids; i++)
		processes_get(&session->processes, options->pids[i]);
	for (size_t i = 0; i < options->n_tids; i++)
		processes_get(&session->processes, session->owners[i]);
	status = collect(session, control, &events);
	perf_events_close(&events);
	return status;
}
