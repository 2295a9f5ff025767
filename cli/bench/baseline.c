/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../table.h"
#include "bench.h"

/* Fewer say nothing of how much they vary. */
#define MIN_FORKS 3

/* The mean score of each fork: what differs between processes shows in them. */
struct forks {
	double *means;
	size_t count;
};

static bool add_fork(struct forks *forks, double mean)
{
	double *means =
		reallocarray(forks->means, forks->count + 1, sizeof(*means));

	if (!means)
		return false;
	forks->means = means;
	means[forks->count++] = mean;
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

static bool read_forks(json_t *benchmark, struct forks *ret_forks)
{
	json_t *metric = json_object_get(benchmark, "primaryMetric");
	json_t *raw = json_object_get(metric, "rawData");
	json_t *histograms = json_object_get(metric, "rawDataHistogram");
	json_t *fork, *iteration;
	size_t i, j;

	json_array_foreach(raw ? raw : histograms, i, fork)
	{
		double sum = 0;

		json_array_foreach(fork, j, iteration) sum +=
			raw ? json_number_value(iteration)
			    : median_of(iteration);
		if (isfinite(sum) && j > 0 &&
		    !add_fork(ret_forks, sum / (double)j))
			return false;
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
	if (old->count < MIN_FORKS || new->count < MIN_FORKS)
		return "too few forks to tell";
	if (!stats_differ(old, new))
		return "no difference shown";
	return new->mean > old->mean ? "SLOWER" : "faster";
}

static bool own_forks(const struct bench_cell *cell, size_t per_fork,
		      struct forks *ret_forks)
{
	bool ok = true;

	for (size_t i = 0; i + per_fork <= cell->n_done && ok; i += per_fork) {
		double sum = 0;

		for (size_t j = 0; j < per_fork; j++)
			sum += bench_iteration_score(cell, i + j);
		ok = add_fork(ret_forks, sum / (double)per_fork);
	}
	return ok;
}

static bool compare_forks(const struct bench *bench,
			  const struct bench_cell *cell, json_t *benchmark,
			  struct stats *ret_old, struct stats *ret_new)
{
	struct forks old = {0}, new = {0};
	bool ok = read_forks(benchmark, &old) &&
		  own_forks(cell, (size_t)bench->settings.iterations, &new);

	*ret_old = stats_of(old.means, old.count);
	*ret_new = stats_of(new.means, new.count);
	free(old.means);
	free(new.means);
	return ok;
}

/* Adds a row where both have figures. */
static bool compare_cell(const struct bench *bench,
			 const struct bench_cell *cell, json_t *baseline,
			 struct table *table, size_t *n_rows)
{
	const char *name = bench->rows[cell->row].name;
	json_t *benchmark = find(baseline, name, bench_mode_words[cell->mode],
				 cell->threads);
	struct stats old, new;

	if (!benchmark || !bench_cell_is_usable(cell))
		return true;
	if (!compare_forks(bench, cell, benchmark, &old, &new))
		return false;
	if (old.count == 0 || new.count == 0)
		return true;

	table_cell(table, "%s", name + sizeof("cpuclock.") - 1);
	table_cell(table, "%s",
		   cell->mode == BENCH_SAMPLE ? "sample p0.50" : "avgt");
	table_cell(table, "%d", cell->threads);
	table_cell(table, "%.1f", old.mean);
	table_cell(table, "%.1f", new.mean);
	table_cell(table, "%+.1f%%", 100 * (new.mean / old.mean - 1));
	table_cell(table, "%s", verdict(&old, &new));
	++*n_rows;
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
	size_t n_rows = 0;

	for (size_t i = 0; i < bench->n_cells && ok; i++)
		ok = compare_cell(bench, &bench->cells[i], baseline->json,
				  table, &n_rows);
	if (ok && n_rows == 0) {
		fputs("\nThe baseline has none of these benchmarks.\n", stream);
	} else if (ok) {
		fprintf(stream,
			"\nChange against the baseline, by Welch's test over "
			"the "
			"means of forks, of which both need %d\n\n",
			MIN_FORKS);
		ok = table_print(table, stream);
	}
	table_free(table);
	return ok;
}
