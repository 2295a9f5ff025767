/* SPDX-License-Identifier: MIT */
/* Puts the figures as JSON into the page report.html, which draws them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../json.h"
#include "bench.h"
#include "report_page.h"

static void known(struct json *json, const char *key, double value)
{
	json_number(json, key, value < 0 ? NAN : value);
}

static void write_machine(struct json *json, const struct bench *bench)
{
	const struct machine *machine = &bench->machine;

	json_begin_object(json, "machine");
	json_string(json, "kernel", machine->kernel);
	json_string(json, "cpu", machine->cpu);
	json_integer(json, "cpus", machine->cpus);
	json_string(json, "clocksource", machine->clocksource);
	json_string(json, "hypervisor",
		    *machine->hypervisor ? machine->hypervisor : NULL);
	json_end_object(json);

	json_begin_object(json, "timer");
	json_string(json, "name", bench->timer.name);
	json_number(json, "cost_ns", bench->timer.cost_ns);
	json_number(json, "step_ns", bench->timer.step_ns);
	json_end_object(json);

	json_begin_object(json, "settings");
	json_integer(json, "forks", bench->settings.forks);
	json_integer(json, "warmup", bench->settings.warmup);
	json_integer(json, "iterations", bench->settings.iterations);
	json_integer(json, "time_ns", bench->settings.time_ns);
	json_end_object(json);
}

static void write_avgt(struct json *json, const struct bench_cell *cell)
{
	struct bench_summary summary;

	if (!bench_cell_is_usable(cell)) {
		json_null(json, "avgt");
		return;
	}
	bench_summarize(cell, &summary);
	json_begin_object(json, "avgt");
	json_number(json, "score_ns", summary.score_ns);
	json_number(json, "error_ns", summary.error_ns);
	json_number(json, "cpu_ns", summary.cpu_ns);
	json_integer(json, "involuntary_switches",
		     summary.involuntary_switches);
	json_bool(json, "preempted", summary.preempted);
	json_end_object(json);
}

/* Points evenly spaced on the axis 1 / (1 - p), 4 to a halving of the rest. */
static void write_curve(struct json *json, const struct histogram *histogram)
{
	double rest = 1;

	json->compact = true;
	json_begin_array(json, "curve");
	for (int i = 0; rest * (double)histogram->count >= 1; i++) {
		double percent = 100 * (1 - rest);

		json_begin_array(json, NULL);
		json_number(json, NULL, percent);
		json_integer(json, NULL,
			     (int64_t)histogram_percentile(histogram, percent));
		json_end_array(json);
		rest = exp2(-(i + 1) / 4.0);
	}
	json_begin_array(json, NULL);
	json_number(json, NULL, 100);
	json_integer(json, NULL, (int64_t)histogram->max);
	json_end_array(json);
	json_end_array(json);
	json->compact = false;
}

static bool write_sample(struct json *json, const struct bench_cell *cell)
{
	struct bench_summary summary;
	struct histogram *histogram;

	if (!bench_cell_is_usable(cell)) {
		json_null(json, "sample");
		return true;
	}
	histogram = bench_histogram(cell);
	if (!histogram)
		return false;
	bench_summarize(cell, &summary);
	json_begin_object(json, "sample");
	json_integer(json, "count", (int64_t)histogram->count);
	json_number(json, "mean_ns", summary.score_ns);
	json_number(json, "error_ns", summary.error_ns);
	json_begin_object(json, "p");
	for (size_t i = 0; i < N_PERCENTILES_SHOWN; i++)
		json_integer(json, bench_percentiles[i].key,
			     (int64_t)histogram_percentile(
				     histogram, bench_percentiles[i].percent));
	json_end_object(json);
	write_curve(json, histogram);
	json_bool(json, "preempted", summary.preempted);
	json_end_object(json);
	free(histogram);
	return true;
}

static void write_error(struct json *json, const struct bench_cell *cell)
{
	char why[128];

	if (!cell || bench_cell_is_usable(cell)) {
		json_null(json, "error");
		return;
	}
	bench_describe_failure(cell, why, sizeof(why));
	json_string(json, "error", why);
}

static bool write_row(struct json *json, const struct bench *bench, size_t i,
		      int threads)
{
	const struct bench_row *row = &bench->rows[i];
	const struct bench_cell *avgt =
		bench_find(bench, i, BENCH_AVGT, threads);
	const struct bench_cell *sample =
		bench_find(bench, i, BENCH_SAMPLE, threads);
	bool ok;

	if (!avgt && !sample)
		return true;
	json_begin_object(json, NULL);
	json_string(json, "name", row->name);
	json_string(json, "target", row->target);
	json_string(json, "kind", row->kind);
	json_string(json, "source", row->source);
	json_integer(json, "threads", threads);
	write_error(json, bench_cell_is_usable(avgt) || !avgt ? sample : avgt);
	write_avgt(json, avgt);
	ok = write_sample(json, sample);
	known(json, "system_calls", row->system_calls);
	known(json, "allocations", row->allocations);
	known(json, "allocated_bytes", row->allocated_bytes);
	json_end_object(json);
	return ok;
}

static bool write_data(const struct bench *bench, FILE *stream)
{
	const struct bench_settings *settings = &bench->settings;
	struct json json = {.stream = stream};
	bool ok = true;

	json_begin_object(&json, NULL);
	json_string(&json, "version", CPUCLOCK_VERSION);
	json_string(&json, "date", bench->date);
	json_bool(&json, "interrupted", bench->interrupted != 0);
	write_machine(&json, bench);
	json_string(&json, "kernel_work_why", bench->kernel_work_why);
	json_begin_array(&json, "rows");
	for (size_t i = 0; i < bench->n_rows; i++) {
		for (int j = 0; j < settings->n_thread_counts && ok; j++)
			ok = write_row(&json, bench, i,
				       settings->thread_counts[j]);
	}
	json_end_array(&json);
	json_end_object(&json);
	return ok;
}

bool report_html(const struct bench *bench, FILE *stream)
{
	static const char mark[] = "@DATA@";
	const char *data = strstr(report_page, mark);
	bool ok;

	fwrite(report_page, 1, (size_t)(data - report_page), stream);
	ok = write_data(bench, stream);
	fputs(data + sizeof(mark) - 1, stream);
	return ok;
}
