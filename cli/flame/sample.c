/* SPDX-License-Identifier: MIT */
/* The sampler: which way samples come, and what is said of them in the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cmd.h"
#include "sample_perf.h"
#include "sample_timers.h"

#define NS_PER_SEC INT64_C(1000000000)

/* A difference of samples and clock beyond chance is told. */
#define TOLERATED_PERCENT 10
#define MIN_SAMPLES	  50

/* For -p, an ID that is a thread's is not the process that is meant. */
static int find_targets(struct session *session)
{
	const struct flame_options *options = session->options;

	for (size_t i = 0; i < options->n_pids; i++) {
		pid_t owner = processes_owner(options->pids[i]);

		if (owner < 0)
			return cmd_fail(&cmd_flame, "there is no process %d",
					(int)options->pids[i]);
		if (owner != options->pids[i])
			return cmd_fail(&cmd_flame,
					"%d is a thread of process %d: use -t "
					"for it",
					(int)options->pids[i], (int)owner);
	}
	if (options->n_tids == 0)
		return CMD_OK;
	session->owners = calloc(options->n_tids, sizeof(pid_t));
	if (!session->owners)
		return cmd_fail(&cmd_flame, "out of memory");
	for (size_t i = 0; i < options->n_tids; i++) {
		session->owners[i] = processes_owner(options->tids[i]);
		if (session->owners[i] < 0)
			return cmd_fail(&cmd_flame, "there is no thread %d",
					(int)options->tids[i]);
	}
	return CMD_OK;
}

/* The command as it was given, or what was pointed at. */
static char *title_of(const struct flame_options *options)
{
	size_t size = 0;
	char *title = NULL;
	FILE *stream = open_memstream(&title, &size);

	if (!stream)
		return NULL;
	for (char **word = options->command; word && *word; word++)
		fprintf(stream, "%s%s", word == options->command ? "" : " ",
			word == options->command ? basename(*word) : *word);
	for (size_t i = 0; i < options->n_pids; i++)
		fprintf(stream, "%s %d", i ? "," : "process",
			(int)options->pids[i]);
	for (size_t i = 0; i < options->n_tids; i++)
		fprintf(stream, "%s %d", i ? "," : "thread",
			(int)options->tids[i]);
	if (options->all)
		fputs("the whole machine", stream);
	return fclose(stream) == 0 ? title : NULL;
}

static int sample(struct session *session, struct control *control)
{
	struct profile_about *about = &session->profile->about;
	bool denied = false;
	int status;

	about->engine = "perf task-clock";
	about->resolution = "one sample for each period of CPU time";
	if (!session->options->command)
		return sample_perf_attach(session, control);
	status = sample_perf_command(session, control, &denied);
	if (!denied)
		return status;
	about->engine = "CPU timers";
	about->resolution = "the kernel's tick: longer than a period, a sample "
			    "stands for several";
	return sample_timers_command(session, control);
}

/* Why nothing was found, for who wonders. */
static void explain_nothing(struct session *session)
{
	const struct flame_options *options = session->options;
	struct profile *profile = session->profile;
	int64_t cpu_ns = profile->about.cpu_ns;
	int64_t period_ns = NS_PER_SEC / options->rate_hz;

	if (session->lost > 0)
		profile_note(profile, "no samples: all were lost");
	else if (cpu_ns >= 0 && cpu_ns < period_ns)
		profile_note(profile,
			     "no samples: only %.3f ms of CPU time were used, "
			     "less than the %.3f ms of a sample: %s",
			     (double)cpu_ns / 1e6, (double)period_ns / 1e6,
			     options->command ? "it ended early or was idle; "
						"raise -F"
					      : "it was idle; raise -F or -d");
	else if (options->kernel_only)
		profile_note(profile, "no samples in the kernel");
	else if (profile->about.n_notes == 0 || cpu_ns < 0)
		profile_note(profile, "no samples: what was sampled was idle");
	else
		profile_note(profile,
			     "no samples of %.3f ms of CPU time: its threads "
			     "live for less than a period, raise -F; or it "
			     "ran in the kernel, which was not sampled",
			     (double)cpu_ns / 1e6);
}

static void compare_clock(struct session *session)
{
	struct profile_about *about = &session->profile->about;
	const struct flame_options *options = session->options;
	int64_t sampled_ns = (int64_t)session->samples * about->sample_ns;
	int64_t off_ns = about->cpu_ns - sampled_ns;

	/* One mode alone is a part of the clock. */
	if (options->user_only || options->kernel_only || about->cpu_ns <= 0 ||
	    session->samples < MIN_SAMPLES)
		return;
	if (llabs(off_ns) * 100 <= about->cpu_ns * TOLERATED_PERCENT)
		return;
	profile_note(session->profile,
		     "samples stand for %.2f s of CPU time, the clock says "
		     "%.2f s: %s",
		     (double)sampled_ns / 1e9, (double)about->cpu_ns / 1e9,
		     session->lost ? "samples were lost"
		     : off_ns < 0  ? "a part of it is not in the clock"
				   : "threads that live for some periods only "
				     "are seen too rarely (raise -F), as is "
				     "what runs in the kernel if that is not "
				     "sampled");
}

static void tell(struct session *session)
{
	struct profile_about *about = &session->profile->about;

	about->lost = (int64_t)session->lost;
	about->throttled = (int64_t)session->throttled;
	about->truncated = (int64_t)session->truncated;
	if (session->samples == 0)
		explain_nothing(session);
	else
		compare_clock(session);
}

int flame_sample(const struct flame_options *options,
		 struct profile **ret_profile)
{
	struct session *session = calloc(1, sizeof(*session));
	struct profile *profile = profile_new();
	struct control control;
	int status, err;

	if (!session || !profile) {
		free(session);
		profile_free(profile);
		return cmd_fail(&cmd_flame, "out of memory");
	}
	session->options = options;
	session->profile = profile;
	profile->about.title = title_of(options);
	profile->about.rate_hz = options->rate_hz;
	profile->about.sample_ns = NS_PER_SEC / options->rate_hz;
	status = find_targets(session);
	if (!status) {
		err = control_open(&control, session);
		status = err ? cmd_fail(&cmd_flame, "no signalfd: %s",
					strerror(-err))
			     : sample(session, &control);
		control_close(&control);
	}
	if (!status)
		status = session_resolve(session);
	if (!status)
		tell(session);
	session_free(session);
	free(session);
	if (status) {
		profile_free(profile);
		return status;
	}
	*ret_profile = profile;
	return CMD_OK;
}
