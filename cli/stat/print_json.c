/* SPDX-License-Identifier: MIT */
/* One object; with intervals, one on each line. */
#include <unistd.h>

#include "stat.h"

static void json_known(struct json *json, const char *key, int64_t value)
{
	if (value < 0)
		json_null(json, key);
	else
		json_integer(json, key, value);
}

static void json_final(struct json *json, const struct report *report)
{
	const struct usage *usage = &report->final.usage;

	if (!report->final.known) {
		json_null(json, "command");
		return;
	}
	json_begin_object(json, "command");
	json_integer(json, "status", report->final.status);
	json_integer(json, "total_ns", usage->times.total_ns);
	json_integer(json, "user_ns", usage->times.user_ns);
	json_integer(json, "system_ns", usage->times.system_ns);
	json_known(json, "voluntary_switches", usage->voluntary);
	json_known(json, "involuntary_switches", usage->involuntary);
	json_end_object(json);
}

static void json_scans(struct json *json, const struct scans *scans)
{
	json_begin_object(json, "scans");
	json_integer(json, "count", (int64_t)scans->count);
	json_integer(json, "median_duration_ns",
		     scans_median(scans, scans->durations));
	json_integer(json, "median_cpu_ns", scans_median(scans, scans->cpus));
	json_integer(json, "cpu_ns", scans->cpu_ns);
	json_end_object(json);
}

static void json_source(struct json *json, const struct report *report)
{
	const struct cpuclock_snapshot_info *info = &report->info;

	json_begin_object(json, "source");
	json_string(json, "name", info->source);
	json_string(json, "summary", report->info.summary);
	json_string(json, "not", report->why ? report->passed_over : NULL);
	json_string(json, "why_not", report->why);
	json_integer(json, "resolution_ns", 1);
	json_integer(json, "split_step_ns", info->split_step_ns);
	json_integer(json, "tick_ns", info->tick_ns);
	json_integer(json, "stale_ns", report->account->stale_ns);
	json_bool(json, "knows_exits", info->knows_exits != 0);
	json_integer(json, "lost_exits", (int64_t)info->lost_exits);
	json_end_object(json);
}

void stat_print_json(const struct report *report, const struct view *view)
{
	const struct account *account = report->account;
	int64_t wall_ns = account->end_ns - account->begin_ns;
	struct json json = {.stream = report->stream,
			    .compact = report->options->interval_ns > 0};

	json_begin_object(&json, NULL);
	json_string(&json, "by", by_words[report->options->by]);
	json_integer(&json, "wall_ns", wall_ns);
	json_integer(&json, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	json_number(&json, "cpus_used",
		    (double)view->sum.usage.times.total_ns / (double)wall_ns);
	json_integer(&json, "threads_now", account->live_threads);
	json_integer(&json, "processes_now", account->live_processes);
	json_integer(&json, "processes_gone", account->gone);
	json_final(&json, report);
	json_source(&json, report);
	json_scans(&json, report->scans);
	json_begin_array(&json, "rows");
	stat_print_rows(report, view, &json);
	json_end_array(&json);
	json_end_object(&json);
}
