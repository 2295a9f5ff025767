/* SPDX-License-Identifier: MIT */
/* What stands above and below the rows, for people. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../escape.h"
#include "../words.h"
#include "stat.h"

static double wall_s(const struct report *report)
{
	return (double)(report->account->end_ns - report->account->begin_ns) /
	       1e9;
}

static const char *plural(int64_t n, const char *one, const char *more)
{
	return n == 1 ? one : more;
}

/* ---- Above */

static void print_targets(const struct report *report)
{
	const struct stat_options *options = report->options;
	char escaped[256];

	if (options->command) {
		escape_text(options->command[0], escaped, sizeof(escaped));
		fprintf(report->stream, "command '%s'", escaped);
	} else if (options->all) {
		fprintf(report->stream, "all processes");
	} else if (options->n_names == 1 && options->n_given == 0) {
		escape_text(options->names[0], escaped, sizeof(escaped));
		fprintf(report->stream, "processes named '%s'", escaped);
	} else if (options->n_pids == 1) {
		fprintf(report->stream, "process %d", (int)options->pids[0]);
	} else {
		fprintf(report->stream, "%zu processes given", options->n_pids);
	}
}

void stat_print_head(const struct report *report)
{
	const struct account *account = report->account;

	if (report->number > 1)
		fputc('\n', report->stream);
	fprintf(report->stream, "cpuclock stat: ");
	print_targets(report);
	fprintf(report->stream, ", %.3f s", wall_s(report));
	if (!report->final.known)
		fprintf(report->stream, "; now %d thread%s in %d process%s",
			account->live_threads,
			plural(account->live_threads, "", "s"),
			account->live_processes,
			plural(account->live_processes, "", "es"));
	fputs("\n\n", report->stream);
}

/* ---- Below */

static void print_usage(const struct report *report, const struct view *view)
{
	double used = (double)view->sum.usage.times.total_ns / 1e9;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char error[32];

	fprintf(report->stream,
		"used        %.3f s of CPU in %.3f s: %.2f of %ld CPU%s\n",
		used, wall_s(report),
		wall_s(report) > 0 ? used / wall_s(report) : 0, cpus,
		plural(cpus, "", "s"));
	format_ns(error, sizeof(error),
		  (double)stat_split_error(report,
					   view->sum.usage.times.total_ns));
	fprintf(report->stream,
		"error       +- %s in user and system of the sum (standard "
		"error)\n",
		error);
}

static void print_units(const struct report *report, const struct view *view)
{
	fprintf(report->stream,
		"units       times in %s; %%cpu is of one CPU: 200 is two of "
		"them all the time;\n"
		"            wait: ready to run, but no CPU was free%s\n",
		view_in_seconds(view) ? "s" : "ms",
		view->sum.usage.voluntary < 0
			? ""
			: "; vol, inv: context\n"
			  "            switches, as it slept or as another "
			  "thread took the CPU");
}

static void print_resolution(const struct report *report)
{
	char step[32], tick[32], stale[32];

	format_ns(step, sizeof(step), (double)report->info.split_step_ns);
	format_ns(tick, sizeof(tick), (double)report->info.tick_ns);
	format_ns(stale, sizeof(stale), (double)report->account->stale_ns);
	fprintf(report->stream,
		"resolution  total 1 ns, user and system %s, sampled every "
		"%s\n",
		step, tick);
	if (report->account->stale_ns > 0)
		fprintf(report->stream,
			"            a thread on a CPU is told up to %s late\n",
			stale);
}

/* What is not known, and why. */
static void print_exits(const struct report *report, const struct view *view)
{
	const struct account *account = report->account;
	int gone = account->gone_unseen;

	/* Since Linux 6.16 a thread's end is told before it frees memory. */
	if (gone > 0 && !report->final.known)
		fprintf(report->stream,
			"missing     %d process%s ended: what %s used %s is "
			"not known\n",
			gone, plural(gone, "", "es"),
			plural(gone, "it", "they"),
			account->knows_exits ? "at the very end"
					     : "after the last look");
	if (view->exited.usage.times.total_ns > 0 && !account->knows_exits)
		fprintf(report->stream,
			"exited      threads that source %s has not seen end "
			"have no rows of their own\n",
			report->info.source);
	if (report->info.lost_exits > 0)
		fprintf(report->stream,
			"exited      %" PRIu64 " ended too fast to have rows "
			"of their own; their time is\n"
			"            missing from the sum if their process "
			"ended too\n",
			report->info.lost_exits);
}

static void print_scans(const struct report *report)
{
	const struct scans *scans = report->scans;
	char duration[32], cpu[32], all[32];

	format_ns(duration, sizeof(duration),
		  (double)scans_median(scans, scans->durations));
	format_ns(cpu, sizeof(cpu), (double)scans_median(scans, scans->cpus));
	format_ns(all, sizeof(all), (double)scans->cpu_ns);
	fprintf(report->stream,
		"own cost    %" PRIu64 " snapshot%s, median %s (CPU %s); %s of "
		"CPU in all\n",
		scans->count, plural((int64_t)scans->count, "", "s"), duration,
		cpu, all);
}

static void print_source(const struct report *report)
{
	fprintf(report->stream, "source      %s: %s\n", report->info.source,
		report->info.summary);
	if (report->why)
		fprintf(report->stream, "            not %s: %s\n",
			report->passed_over, report->why);
}

static void print_final(const struct report *report, const struct view *view)
{
	const struct cpuclock_times *times = &report->final.usage.times;
	int64_t more_ns = view->sum.usage.times.total_ns +
			  report->account->earlier_ns - times->total_ns;

	if (!report->final.known)
		return;
	fprintf(report->stream,
		"kernel      %.6f s of CPU, of the command and all its "
		"children:\n"
		"            user %.6f s, system %.6f s; exit status %d\n",
		(double)times->total_ns / 1e9, (double)times->user_ns / 1e9,
		(double)times->system_ns / 1e9, report->final.status);
	/* What is cut to microseconds is no difference. */
	if (more_ns > 1000000)
		fprintf(report->stream,
			"            not with %.3f s of processes that nobody "
			"waited for\n",
			(double)more_ns / 1e9);
}

void stat_print_foot(const struct report *report, const struct view *view)
{
	fputc('\n', report->stream);
	print_usage(report, view);
	print_final(report, view);
	print_exits(report, view);
	print_scans(report);
	/* The rest is said once. */
	if (report->number > 1)
		return;
	print_units(report, view);
	print_resolution(report);
	print_source(report);
}
