/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../table.h"
#include "bench.h"

/* The scores of one benchmark in the baseline, an iteration each. */
struct scores {
	double *values;
	size_t count;
};

static bool add_score(struct scores *scores, double value)
{
	double *values = reallocarray(scores->values, scores->count + 1,
				      sizeof(*values));

	if (!values)
		return false;
	scores->values = values;
	values[scores->count++] = value;
	return true;
}

/* The median of [[value, count], ...], or NaN. */
static double median_of(json_t *histogram)
{
	double total = 0, seen = 0;
	json_t *bucket;
	size_t i;

	json_array_foreach(histogram, i, bucket) total +=
		json_number_value(json_array_get(bucket, 1));
	json_array_foreach(histogram, i, bucket)
	{
		seen += json_number_value(json_array_get(bucket, 1));
		if (seen > 0 && seen >= total / 2)
			return json_number_value(json_array_get(bucket, 0));
	}
	return NAN;
}

static bool read_scores(json_t *benchmark, struct scores *ret_scores)
{
	json_t *metric = json_object_get(benchmark, "primaryMetric");
	json_t *raw = json_object_get(metric, "rawData");
	json_t *histograms = json_object_get(metric, "rawDataHistogram");
	json_t *fork, *iteration;
	size_t i, j;

	json_array_foreach(raw ? raw : histograms, i, fork)
	{
		json_array_foreach(fork, j, iteration)
		{
			double score = raw ? json_number_value(iteration)
					   : median_of(iteration);

			if (isfinite(score) && !add_score(ret_scores, score))
				return false;
		}
	}
	return true;
}

static json_t *find(json_t *baseline, const char *name, const char *mode,
		    int threads)
{
	json_t *benchmark;
	size_t i;

	json_array_foreach(baseline, i, benchmark)
	{
		const char *its_name = json_string_value(
			json_object_get(benchmark, "benchmark"));
		const char *its_mode =
			json_string_value(json_object_get(benchmark, "mode"));

		if (its_name && its_mode && strcmp(its_name, name) == 0 &&
		    strcmp(its_mode, mode) == 0 &&
		    json_integer_value(json_object_get(benchmark, "threads")) ==
			    threads)
			return benchmark;
	}
	return NULL;
}

static const char *verdict(const struct stats *old, const struct stats *new)
{
	if (old->count < 2 || new->count < 2)
		return "too few iterations";
	if (!stats_differ(old, new))
		return "no difference shown";
	return new->mean > old->mean ? "SLOWER" : "faster";
}

static bool own_stats(const struct bench_cell *cell, struct stats *ret_stats)
{
	struct scores scores = {0};
	bool ok = true;

	for (size_t i = 0; i < cell->n_done && ok; i++)
		ok = add_score(&scores, bench_iteration_score(cell, i));
	*ret_stats = stats_of(scores.values, scores.count);
	free(scores.values);
	return ok;
}

static bool compare_cell(const struct bench *bench,
			 const struct bench_cell *cell, json_t *baseline,
			 struct table *table)
{
	const char *name = bench->rows[cell->row].name;
	const char *mode = bench_mode_words[cell->mode];
	json_t *benchmark = find(baseline, name, mode, cell->threads);
	struct scores scores = {0};
	struct stats old, new;

	if (!benchmark || !bench_cell_is_usable(cell))
		return true;
	if (!read_scores(benchmark, &scores) || !own_stats(cell, &new)) {
		free(scores.values);
		return false;
	}
	old = stats_of(scores.values, scores.count);
	free(scores.values);
	if (old.count == 0)
		return true;

	table_cell(table, "%s", name + sizeof("cpuclock.") - 1);
	table_cell(table, "%s",
		   cell->mode == BENCH_SAMPLE ? "sample p0.50" : "avgt");
	table_cell(table, "%d", cell->threads);
	table_cell(table, "%.1f", old.mean);
	table_cell(table, "%.1f", new.mean);
	table_cell(table, "%+.1f%%", 100 * (new.mean / old.mean - 1));
	table_cell(table, "%s", verdict(&old, &new));
	return true;
}

/* Of the library's type, which no other file needs to know. */
struct baseline {
	json_t *json;
};

struct baseline *baseline_open(const char *path, char *message, size_t size)
{
	struct baseline *baseline = calloc(1, sizeof(*baseline));
	json_error_t error = {.text = "out of memory"};

	if (baseline)
		baseline->json =
			json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (baseline && json_is_array(baseline->json))
		return baseline;
	snprintf(message, size, "%s is no report of bench --json: %s", path,
		 baseline && baseline->json ? "the outermost value is no array"
					    : error.text);
	baseline_close(baseline);
	return NULL;
}

void baseline_close(struct baseline *baseline)
{
	if (!baseline)
		return;
	json_decref(baseline->json);
	free(baseline);
}

bool baseline_report(const struct baseline *baseline, const struct bench *bench,
		     FILE *stream)
{
	static const struct table_column columns[] = {
		{"benchmark", false},	 {"mode", false},  {"thr", true},
		{"baseline ns", true},	 {"now ns", true}, {"change", true},
		{"at p < 0.001", false},
	};
	struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]));
	bool ok = table != NULL;

	for (size_t i = 0; i < bench->n_cells && ok; i++)
		ok = compare_cell(bench, &bench->cells[i], baseline->json,
				  table);
	if (ok) {
		fputs("\nChange against the baseline, by Welch's test over "
		      "iterations; it cannot see what differs\nbetween "
		      "processes unless there are several --forks\n\n",
		      stream);
		ok = table_print(table, stream);
	}
	table_free(table);
	return ok;
}
