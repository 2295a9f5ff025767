/* SPDX-License-Identifier: MIT */
/*
 * perf-script(1): a line of who, when and what for each sample, the frames
 * below it, the innermost first, and an empty line. Without call chains the
 * frame stands in the same line, and there are no empty ones.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf_line.h"
#include "text.h"

struct reading {
	const struct read_filter *filter;
	struct profile *profile;
	struct stack stack;
	struct perf_header header; /* of the sample that is being read */
	bool in_sample;
	struct slice event; /* the first; no other is counted */
	unsigned long n_other_events, n_bad;
	uint64_t n_samples, period;
	bool periods_differ;
};

static int push_root(struct reading *reading)
{
	struct slice comm = reading->header.comm;
	char name[128];
	int length;

	if (!reading->filter->by_thread)
		return stack_push(&reading->stack, comm, FRAME_ROOT);
	/* The kernel's names have 15 bytes. */
	length = snprintf(name, sizeof(name), "%.*s (%llu)",
			  comm.size < 64 ? (int)comm.size : 64, comm.at,
			  (unsigned long long)reading->header.tid);
	return stack_push(&reading->stack, (struct slice){name, (size_t)length},
			  FRAME_ROOT);
}

static bool is_other_event(struct reading *reading)
{
	struct slice event = reading->header.event;

	if (reading->n_samples == 0)
		reading->event = event;
	return event.size != reading->event.size ||
	       memcmp(event.at, reading->event.at, event.size) != 0;
}

static int end_sample(struct reading *reading)
{
	uint64_t period = reading->header.period ? reading->header.period : 1;
	int err;

	if (!reading->in_sample)
		return 0;
	reading->in_sample = false;
	if (is_other_event(reading)) {
		reading->n_other_events++;
		stack_clear(&reading->stack);
		return 0;
	}
	if (reading->n_samples++ == 0)
		reading->period = period;
	else if (reading->period != period)
		reading->periods_differ = true;
	err = push_root(reading);
	if (err)
		return err;
	stack_reverse(&reading->stack);
	return stack_add(&reading->stack, reading->filter, period,
			 reading->profile);
}

static int push_frame(struct reading *reading, const struct perf_frame *frame)
{
	struct slice name = frame->name;
	char module[256];
	int length;

	/* [libc.so.6], but [vdso] as it is. */
	if (frame->is_module && name.at[0] != '[') {
		length = snprintf(module, sizeof(module), "[%.*s]",
				  name.size < 250 ? (int)name.size : 250,
				  name.at);
		name = (struct slice){module, (size_t)length};
	}
	return stack_push(&reading->stack, name, frame->kind);
}

static int read_line(struct reading *reading, struct slice line)
{
	struct perf_header header;
	struct perf_frame frame;
	int err;

	if (line.size == 0)
		return end_sample(reading);
	if (reading->in_sample && (*line.at == ' ' || *line.at == '\t') &&
	    perf_parse_frame(line, &frame))
		return push_frame(reading, &frame);
	if (!perf_parse_header(line, &header)) {
		/* Below a frame, lines of the source may be printed. */
		reading->n_bad += !reading->in_sample && *line.at != '#';
		return 0;
	}
	err = end_sample(reading);
	if (err)
		return err;
	reading->header = header;
	reading->in_sample = true;
	if (!perf_parse_frame(header.rest, &frame))
		return 0;
	err = push_frame(reading, &frame);
	return err ? err : end_sample(reading);
}

/* Counts samples where each one stands for the same. */
static void divide(struct reading *reading)
{
	struct profile_node *node = &reading->profile->root;

	for (; node; node = (struct profile_node *)profile_next(node)) {
		if (reading->filter->before)
			node->before /= reading->period;
		else
			node->self /= reading->period;
	}
}

static bool is_clock(struct slice event)
{
	return (event.size >= 10 && memcmp(event.at, "task-clock", 10) == 0) ||
	       (event.size >= 9 && memcmp(event.at, "cpu-clock", 9) == 0);
}

/* What a count stands for. */
static int tell_unit(struct reading *reading, const char *event)
{
	struct profile_about *about = &reading->profile->about;
	bool clock = is_clock(reading->event) && reading->period > 1;

	if (!reading->periods_differ && reading->n_samples > 0)
		divide(reading);
	if (reading->filter->before)
		return 0;
	if (clock)
		about->sample_ns =
			reading->periods_differ ? 1 : (int64_t)reading->period;
	if (!reading->periods_differ)
		return 0;
	about->unit = strdup(clock ? "ns" : event);
	return about->unit ? 0 : -ENOMEM;
}

/* To be freed. */
static char *event_of(const struct reading *reading)
{
	char *name = strndup(reading->event.at, reading->event.size);
	char *clean = name ? text_clean(name, 60) : NULL;

	free(name);
	return clean;
}

static int tell(struct reading *reading)
{
	struct profile *profile = reading->profile;
	char *event = event_of(reading);
	int err = event ? tell_unit(reading, event) : -ENOMEM;

	if (!err && reading->n_other_events > 0)
		err = profile_note(profile,
				   "left out: %lu samples of other events than "
				   "the first, %s",
				   reading->n_other_events, event);
	if (!err && reading->n_bad > 0)
		err = profile_note(
			profile, "left out: %lu line%s outside of samples",
			reading->n_bad, reading->n_bad == 1 ? "" : "s");
	free(event);
	return err;
}

int64_t read_perf_script(const char *text, size_t size,
			 const struct read_filter *filter,
			 struct profile *profile)
{
	struct reading reading = {
		.filter = filter, .profile = profile, .event = {"", 0}};
	struct slice rest = {text, size}, line;
	int err = 0;

	while (!err && next_line(&rest, &line))
		err = read_line(&reading, line);
	if (!err)
		err = end_sample(&reading);
	if (!err)
		err = tell(&reading);
	stack_free(&reading.stack);
	return err ? err : (int64_t)reading.n_samples;
}

/* Of both kinds of line, those that folded stacks cannot be. */
bool is_perf_script(const char *text, size_t size)
{
	struct slice rest = {text, size}, line;
	struct perf_header header;
	struct perf_frame frame;

	for (int i = 0; i < 100 && next_line(&rest, &line); i++) {
		if (line.size == 0 || *line.at == '#')
			continue;
		if (perf_parse_header(line, &header) && header.has_time)
			return true;
		if (*line.at == '\t' && line.at[line.size - 1] == ')' &&
		    perf_parse_frame(line, &frame))
			return true;
	}
	return false;
}
