/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

const char *const bench_mode_words[N_MODES] = {
	[BENCH_AVGT] = "avgt",
	[BENCH_SAMPLE] = "sample",
};

const struct percentile bench_percentiles[N_PERCENTILES] = {
	{0, "p0.00", "0.0"},	     {50, "p0.50", "50.0"},
	{90, "p0.90", "90.0"},	     {95, "p0.95", "95.0"},
	{99, "p0.99", "99.0"},	     {99.9, "p0.999", "99.9"},
	{99.99, "p0.9999", "99.99"}, {100, "p1.00", "100.0"},
	{99.999, NULL, "99.999"},    {99.9999, NULL, "99.9999"},
};

/* Wall-clock time a tenth above CPU time: the thread was off its CPU. */
#define PREEMPTED_RATIO 1.1

bool bench_cell_is_usable(const struct bench_cell *cell)
{
	return cell && cell->n_done > 0 && !cell->error && !cell->end_signal;
}

const struct bench_cell *bench_find(const struct bench *bench, size_t row,
				    enum bench_mode mode, int threads)
{
	for (size_t i = 0; i < bench->n_cells; i++) {
		const struct bench_cell *cell = &bench->cells[i];

		if (cell->row == row && cell->mode == mode &&
		    cell->threads == threads)
			return cell;
	}
	return NULL;
}

struct histogram *bench_histogram(const struct bench_cell *cell)
{
	struct histogram *sum = calloc(1, sizeof(*sum));

	for (size_t i = 0; sum && i < cell->n_done; i++)
		histogram_add(sum, &cell->histograms[i]);
	return sum;
}

double bench_iteration_score(const struct bench_cell *cell, size_t iteration)
{
	const struct bench_iteration *one = &cell->iterations[iteration];

	if (cell->histograms)
		return (double)histogram_percentile(
			&cell->histograms[iteration], 50);
	return (double)one->wall_ns / (double)one->calls;
}

/* All calls as one sample, from the exact sums. */
static struct stats stats_of_samples(const struct bench_cell *cell)
{
	struct stats stats = {.variance = NAN};
	double sum = 0, squares = 0;

	for (size_t i = 0; i < cell->n_done; i++) {
		stats.count += cell->histograms[i].count;
		sum += cell->histograms[i].sum;
		squares += cell->histograms[i].sum_of_squares;
	}
	stats.mean = sum / (double)stats.count;
	if (stats.count > 1)
		stats.variance = (squares - sum * stats.mean) /
				 (double)(stats.count - 1);
	return stats;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void summarize_iterations(const struct bench_cell *cell,
				 struct bench_summary *summary)
{
	size_t n = cell->n_done;
	double *scores = calloc(n, sizeof(*scores));

	summary->stats = (struct stats){.variance = NAN, .mean = NAN};
	summary->median_ns = NAN;
	if (!scores)
		return;
	for (size_t i = 0; i < n; i++)
		scores[i] = bench_iteration_score(cell, i);
	summary->stats = stats_of(scores, n);
	qsort(scores, n, sizeof(*scores), compare);
	summary->median_ns = (scores[(n - 1) / 2] + scores[n / 2]) / 2;
	free(scores);
}

static void summarize_samples(const struct bench_cell *cell,
			      struct bench_summary *summary)
{
	struct histogram *histogram = bench_histogram(cell);

	summary->stats = stats_of_samples(cell);
	summary->median_ns =
		histogram ? (double)histogram_percentile(histogram, 50) : NAN;
	free(histogram);
}

void bench_summarize(const struct bench_cell *cell,
		     struct bench_summary *ret_summary)
{
	struct bench_summary summary = {0};
	int64_t wall_ns = 0;
	int64_t cpu_ns = 0;

	for (size_t i = 0; i < cell->n_done; i++) {
		const struct bench_iteration *one = &cell->iterations[i];

		summary.calls += one->calls;
		summary.involuntary_switches += one->involuntary_switches;
		wall_ns += one->wall_ns;
		cpu_ns += one->cpu_ns;
	}
	if (cell->mode == BENCH_SAMPLE)
		summarize_samples(cell, &summary);
	else
		summarize_iterations(cell, &summary);
	summary.score_ns = summary.stats.mean;
	summary.error_ns =
		summary.stats.count > 1 ? stats_error(&summary.stats) : NAN;
	/* Between samples the CPU works for the timer and the histogram. */
	summary.cpu_ns = cell->mode == BENCH_AVGT && cpu_ns > 0
				 ? (double)cpu_ns / (double)summary.calls
				 : NAN;
	summary.preempted = cpu_ns > 0 &&
			    (double)wall_ns > PREEMPTED_RATIO * (double)cpu_ns;
	*ret_summary = summary;
}

static double median_of(const struct bench *bench, const char *name,
			const struct bench_cell *like)
{
	struct bench_summary summary;
	const struct bench_cell *cell;

	for (size_t i = 0; i < bench->n_rows; i++) {
		if (strcmp(bench->rows[i].name, name) != 0)
			continue;
		cell = bench_find(bench, i, like->mode, like->threads);
		if (!bench_cell_is_usable(cell))
			return NAN;
		bench_summarize(cell, &summary);
		return summary.median_ns;
	}
	return NAN;
}

static double ratio_to(const struct bench *bench, const char *name,
		       const struct bench_cell *cell)
{
	return median_of(bench, bench->rows[cell->row].name, cell) /
	       median_of(bench, name, cell);
}

double bench_ratio_to_proc(const struct bench *bench,
			   const struct bench_cell *cell)
{
	const struct bench_row *row = &bench->rows[cell->row];
	/* Ticks are user time too, and /proc has no other row for it. */
	const char *kind = strcmp(row->kind, "ticks") == 0 ? "user" : row->kind;
	char name[sizeof(row->name)];

	if (!*kind)
		return NAN;
	snprintf(name, sizeof(name), "cpuclock.%s.%s.proc", row->target, kind);
	return ratio_to(bench, name, cell);
}

double bench_ratio_to_syscall(const struct bench *bench,
			      const struct bench_cell *cell)
{
	return ratio_to(bench, "cpuclock.floor.syscall", cell);
}

void bench_describe_failure(const struct bench_cell *cell, char *text,
			    size_t size)
{
	if (cell->end_signal)
		snprintf(text, size, "the measuring process died: %s",
			 strsignal(cell->end_signal));
	else if (cell->error)
		snprintf(text, size, "%s", strerror(-cell->error));
	else
		snprintf(text, size, "interrupted");
}
