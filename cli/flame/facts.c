/* SPDX-License-Identifier: MIT */
#include "facts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../words.h"
#include "text.h"

/* Fits the line of a picture as it is drawn there. */
#define MAX_TITLE 100

const char *unit_of(const struct profile *profile)
{
	return profile->about.unit ? profile->about.unit : "samples";
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void describe_count(const struct profile *profile, uint64_t count,
		    char text[COUNT_SIZE])
{
	char digits[24], grouped[32];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, count), to = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			grouped[to++] = ',';
		grouped[to++] = digits[i];
	}
	grouped[to] = '\0';
	snprintf(text, COUNT_SIZE, "%s %s", grouped,
		 count == 1 && !profile->about.unit ? "sample"
						    : unit_of(profile));
}

void describe_samples(const struct profile *profile, uint64_t samples,
		      char *text, size_t size)
{
	double ns = profile_ns(profile, samples);
	char time[32] = "", count[COUNT_SIZE];

	if (ns >= 0)
		format_ns(time, sizeof(time), ns);
	describe_count(profile, samples, count);
	snprintf(text, size, "%s%s%s, %.2f %%", count, *time ? ", " : "", time,
		 percent(samples, profile->root.total));
}

static void add(struct facts *facts, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add(struct facts *facts, const char *name, const char *format, ...)
{
	struct fact *fact = &facts->facts[facts->n_facts++];
	va_list args;

	fact->name = name;
	va_start(args, format);
	vsnprintf(fact->text, sizeof(fact->text), format, args);
	va_end(args);
}

static void add_title(const struct profile *profile, struct facts *facts)
{
	const char *title = profile->about.title;
	char *clean = text_clean(title ? title : "", MAX_TITLE);

	snprintf(facts->title, sizeof(facts->title), "%s",
		 clean && *clean ? clean : "CPU time");
	free(clean);
}

static void add_sampled(const struct profile *profile, struct facts *facts)
{
	uint64_t total = profile->root.total;
	double ns = profile_ns(profile, total);
	int64_t cpu_ns = profile->about.cpu_ns;
	char time[32], clock[32], count[COUNT_SIZE];

	describe_count(profile, total, count);
	format_ns(time, sizeof(time), ns);
	format_ns(clock, sizeof(clock), (double)cpu_ns);
	if (ns < 0)
		add(facts, "Sampled", "%s", count);
	else
		add(facts, "Sampled", "%s of CPU time in %s", time, count);
	if (ns >= 0 && cpu_ns > 0)
		add(facts, "CPU clock", "%s; sampled are %.1f %% of it", clock,
		    100 * ns / (double)cpu_ns);
	else if (cpu_ns >= 0)
		add(facts, "CPU clock", "%s", clock);
}

static void add_losses(const struct profile_about *about, struct facts *facts)
{
	char text[200] = "";
	size_t length = 0;
	const struct {
		int64_t n;
		const char *word;
	} losses[] = {
		{about->lost, "lost"},
		{about->throttled, "times throttled"},
		{about->truncated, "of which the stack was cut"},
	};

	for (size_t i = 0; i < 3; i++) {
		if (losses[i].n >= 0)
			length += (size_t)snprintf(
				text + length, sizeof(text) - length,
				"%s%" PRId64 " %s", length ? ", " : "",
				losses[i].n, losses[i].word);
	}
	if (length > 0)
		add(facts, "Samples", "%s", text);
}

void facts_of(const struct profile *profile, struct facts *ret_facts)
{
	const struct profile_about *about = &profile->about;
	struct facts *facts = ret_facts;
	char time[32], count[COUNT_SIZE];

	facts->n_facts = 0;
	add_title(profile, facts);
	if (about->wall_ns >= 0) {
		format_ns(time, sizeof(time), (double)about->wall_ns);
		add(facts, "Duration", "%s", time);
	}
	if (about->rate_hz >= 0)
		add(facts, "Rate", "%" PRId64 " Hz", about->rate_hz);
	add_sampled(profile, facts);
	if (profile->is_difference) {
		describe_count(profile, profile->root.before_total, count);
		add(facts, "Before", "%s; shares are compared, not counts",
		    count);
	}
	add_losses(about, facts);
	if (about->engine)
		add(facts, "Sampled by", "%s", about->engine);
	if (about->resolution)
		add(facts, "Resolution", "%s", about->resolution);
}
