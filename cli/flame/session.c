/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "jit.h"
#include "session.h"

static bool has(const pid_t *list, size_t n, pid_t id)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i] == id)
			return true;
	}
	return false;
}

bool session_wants_process(const struct session *session, pid_t pid)
{
	const struct flame_options *options = session->options;

	if (options->all || options->command)
		return true;
	return has(options->pids, options->n_pids, pid) ||
	       (session->owners && has(session->owners, options->n_tids, pid));
}

static bool wants(const struct session *session, const struct sample *sample)
{
	const struct flame_options *options = session->options;

	/* PID 0 is the kernel's idle thread. */
	if (options->all || options->command)
		return sample->pid > 0;
	return has(options->pids, options->n_pids, sample->pid) ||
	       has(options->tids, options->n_tids, sample->tid);
}

static uint32_t push_text(struct session *session, uint32_t node,
			  enum place_kind kind, const char *text)
{
	struct place place = {.kind = kind,
			      .text = stacks_text(&session->stacks, text)};

	return place.text ? stacks_push(&session->stacks, node, &place) : node;
}

static uint32_t push_root(struct session *session, const struct sample *sample,
			  const struct process *process)
{
	char name[COMM_SIZE + 16];

	if (!session->options->by_thread)
		return push_text(session, 0, PLACE_ROOT, process->comm);
	snprintf(name, sizeof(name), "%s-%d",
		 processes_thread_name(&session->processes, sample->pid,
				       sample->tid),
		 (int)sample->tid);
	return push_text(session, 0, PLACE_ROOT, name);
}

static uint32_t push_user(struct session *session, uint32_t node,
			  struct process *process, uint64_t address)
{
	struct place place = {.kind = PLACE_OBJECT};

	unwind_locate(process, address, &place.object, &place.address);
	if (!place.object) {
		jit_hold(process);
		place.kind = PLACE_MEMORY;
		place.process = process;
		place.address = address;
	}
	return stacks_push(&session->stacks, node, &place);
}

void session_add(struct session *session, const struct sample *sample)
{
	uint64_t addresses[UNWIND_MAX];
	struct process *process;
	bool complete = true;
	uint32_t node;
	size_t n;

	if (!wants(session, sample))
		return;
	process = processes_get(&session->processes, sample->pid);
	if (!process)
		return;
	processes_look(&session->processes, process);
	n = unwind(sample, process, addresses, &complete);
	node = push_root(session, sample, process);
	if (!complete) {
		session->truncated += sample->weight;
		node = push_text(session, node, PLACE_LABEL, "[truncated]");
	}
	while (n > 0)
		node = push_user(session, node, process, addresses[--n]);
	for (n = sample->n_kernel; n > 0; n--) {
		struct place place = {
			.kind = PLACE_KERNEL,
			.address = sample->kernel[n - 1] - (n > 1),
		};

		node = stacks_push(&session->stacks, node, &place);
	}
	stacks_count(&session->stacks, node, sample->weight);
	session->samples += sample->weight;
}

void session_free(struct session *session)
{
	free(session->owners);
	stacks_free(&session->stacks);
	processes_free(&session->processes);
}
