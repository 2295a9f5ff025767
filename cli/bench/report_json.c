/* SPDX-License-Identifier: MIT */
/*
 * JMH's result format (org.openjdk.jmh.results.format.JSONResultFormat), with
 * all raw data, so that JMH's viewers open it. Where JMH writes "NaN" as a
 * string, so does this.
 */
#include <math.h>
#include <stdlib.h>

#include "../json.h"
#include "bench.h"

static void number(struct json *json, const char *key, double value)
{
	if (isnan(value))
		json_string(json, key, "NaN");
	else
		json_number(json, key, value);
}

static void duration(struct json *json, const char *key, int64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9g ms", (double)ns / 1e6);
	json_string(json, key, text);
}

static void write_settings(struct json *json, const struct bench *bench)
{
	const struct bench_settings *settings = &bench->settings;

	json_integer(json, "forks", settings->forks);
	json_string(json, "jvm", "none: cpuclock bench");
	json_begin_array(json, "jvmArgs");
	json_end_array(json);
	json_string(json, "jdkVersion", "none");
	json_string(json, "vmName", bench->machine.kernel);
	json_string(json, "vmVersion", bench->machine.cpu);
	json_integer(json, "warmupIterations", settings->warmup);
	duration(json, "warmupTime", settings->time_ns);
	json_integer(json, "warmupBatchSize", 1);
	json_integer(json, "measurementIterations", settings->iterations);
	duration(json, "measurementTime", settings->time_ns);
	json_integer(json, "measurementBatchSize", 1);
}

static void write_score(struct json *json, double score, double error)
{
	number(json, "score", score);
	number(json, "scoreError", error);
	json_begin_array(json, "scoreConfidence");
	number(json, NULL, score - error);
	number(json, NULL, score + error);
	json_end_array(json);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Percentiles of the iterations, as JMH gives them for averages. */
static bool write_avgt_percentiles(struct json *json,
				   const struct bench_cell *cell)
{
	size_t n = cell->n_done;
	double *scores = calloc(n, sizeof(*scores));

	if (!scores)
		return false;
	for (size_t i = 0; i < n; i++)
		scores[i] = bench_iteration_score(cell, i);
	qsort(scores, n, sizeof(*scores), compare);
	json_begin_object(json, "scorePercentiles");
	for (size_t i = 0; i < N_PERCENTILES; i++) {
		double rank =
			ceil(bench_percentiles[i].percent / 100 * (double)n);
		size_t index = rank < 1 ? 0 : (size_t)rank - 1;

		number(json, bench_percentiles[i].key, scores[index]);
	}
	json_end_object(json);
	free(scores);
	return true;
}

static bool write_sample_percentiles(struct json *json,
				     const struct bench_cell *cell)
{
	struct histogram *histogram = bench_histogram(cell);

	if (!histogram)
		return false;
	json_begin_object(json, "scorePercentiles");
	for (size_t i = 0; i < N_PERCENTILES; i++)
		json_integer(json, bench_percentiles[i].key,
			     (int64_t)histogram_percentile(
				     histogram, bench_percentiles[i].percent));
	json_end_object(json);
	free(histogram);
	return true;
}

/* [[value, count], ...] */
static void write_histogram(struct json *json,
			    const struct histogram *histogram)
{
	json_begin_array(json, NULL);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (histogram->buckets[i] == 0)
			continue;
		json_begin_array(json, NULL);
		json_integer(json, NULL, (int64_t)histogram_bucket_top(i));
		json_integer(json, NULL, (int64_t)histogram->buckets[i]);
		json_end_array(json);
	}
	json_end_array(json);
}

static void write_raw_iteration(struct json *json,
				const struct bench_cell *cell, size_t iteration)
{
	if (cell->mode == BENCH_SAMPLE)
		write_histogram(json, &cell->histograms[iteration]);
	else
		number(json, NULL, bench_iteration_score(cell, iteration));
}

/* An array of forks, each an array of iterations. */
static void write_raw(struct json *json, const struct bench *bench,
		      const struct bench_cell *cell)
{
	size_t per_fork = (size_t)bench->settings.iterations;

	json->compact = true;
	json_begin_array(json, cell->mode == BENCH_SAMPLE ? "rawDataHistogram"
							  : "rawData");
	for (size_t i = 0; i < cell->n_done; i++) {
		if (i % per_fork == 0)
			json_begin_array(json, NULL);
		write_raw_iteration(json, cell, i);
		if (i + 1 == cell->n_done || (i + 1) % per_fork == 0)
			json_end_array(json);
	}
	json_end_array(json);
	json->compact = false;
}

static void write_secondary(struct json *json, const char *key, double value,
			    const char *unit)
{
	if (value < 0)
		return;
	json_begin_object(json, key);
	write_score(json, value, NAN);
	json_begin_object(json, "scorePercentiles");
	json_end_object(json);
	json_string(json, "scoreUnit", unit);
	json->compact = true;
	json_begin_array(json, "rawData");
	json_begin_array(json, NULL);
	number(json, NULL, value);
	json_end_array(json);
	json_end_array(json);
	json->compact = false;
	json_end_object(json);
}

static bool write_cell(struct json *json, const struct bench *bench,
		       const struct bench_cell *cell)
{
	const struct bench_row *row = &bench->rows[cell->row];
	struct bench_summary summary;
	char threads[16];
	bool ok;

	bench_summarize(cell, &summary);
	json_begin_object(json, NULL);
	json_string(json, "jmhVersion", "1.37");
	json_string(json, "benchmark", row->name);
	json_string(json, "mode", bench_mode_words[cell->mode]);
	json_integer(json, "threads", cell->threads);
	write_settings(json, bench);
	/* Viewers tell benchmarks apart by name and parameters alone. */
	if (bench->settings.n_thread_counts > 1) {
		json_begin_object(json, "params");
		snprintf(threads, sizeof(threads), "%d", cell->threads);
		json_string(json, "threads", threads);
		json_end_object(json);
	}

	json_begin_object(json, "primaryMetric");
	write_score(json, summary.score_ns, summary.error_ns);
	ok = cell->mode == BENCH_SAMPLE ? write_sample_percentiles(json, cell)
					: write_avgt_percentiles(json, cell);
	json_string(json, "scoreUnit", "ns/op");
	write_raw(json, bench, cell);
	json_end_object(json);

	json_begin_object(json, "secondaryMetrics");
	if (cell->mode == BENCH_AVGT)
		write_secondary(json, "cpuTime", summary.cpu_ns, "ns/op");
	write_secondary(json, "involuntarySwitches",
			(double)summary.involuntary_switches, "counts");
	write_secondary(json, "preempted", summary.preempted, "flag");
	write_secondary(json, "systemCalls", row->system_calls, "calls/op");
	write_secondary(json, "kernelAllocations", row->allocations,
			"allocations/op");
	write_secondary(json, "kernelAllocatedBytes", row->allocated_bytes,
			"B/op");
	json_end_object(json);
	json_end_object(json);
	return ok;
}

bool report_json(const struct bench *bench, FILE *stream)
{
	struct json json = {.stream = stream};
	bool ok = true;

	json_begin_array(&json, NULL);
	for (size_t i = 0; i < bench->n_cells && ok; i++) {
		if (bench_cell_is_usable(&bench->cells[i]))
			ok = write_cell(&json, bench, &bench->cells[i]);
	}
	json_end_array(&json);
	return ok;
}
