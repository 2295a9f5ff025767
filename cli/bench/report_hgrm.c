/* SPDX-License-Identifier: MIT */
/*
 * HdrHistogram's percentile distribution, a block for each row that was
 * sampled, in ns. Values are the tops of the histogram's buckets; the last is
 * the exact maximum.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "bench.h"

static void write_line(FILE *stream, uint64_t value, double share,
		       uint64_t total)
{
	fprintf(stream, "%12.3f %2.12f %10" PRIu64, (double)value, share,
		total);
	if (share < 1)
		fprintf(stream, " %14.2f\n", 1 / (1 - share));
	else
		fputs("            inf\n", stream);
}

static void write_distribution(const struct histogram *histogram, FILE *stream)
{
	uint64_t seen = 0;

	fputs("       Value     Percentile TotalCount 1/(1-Percentile)\n\n",
	      stream);
	write_line(stream, histogram->min, 0, 1);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t top = histogram_bucket_top(i);

		if (histogram->buckets[i] == 0)
			continue;
		seen += histogram->buckets[i];
		if (seen == histogram->count)
			top = histogram->max;
		write_line(stream, top, (double)seen / (double)histogram->count,
			   seen);
	}
}

static bool write_cell(const struct bench *bench, const struct bench_cell *cell,
		       FILE *stream)
{
	struct histogram *histogram = bench_histogram(cell);
	struct bench_summary summary;

	if (!histogram)
		return false;
	bench_summarize(cell, &summary);
	fprintf(stream, "#[%s, threads = %d, ns]\n",
		bench->rows[cell->row].name, cell->threads);
	write_distribution(histogram, stream);
	fprintf(stream,
		"#[Mean    = %12.3f, StdDeviation   = %12.3f]\n"
		"#[Max     = %12.3f, Total count    = %12" PRIu64 "]\n"
		"#[Buckets = %12d, SubBuckets     = %12d]\n",
		summary.score_ns,
		summary.stats.count > 1 ? sqrt(summary.stats.variance) : 0,
		(double)histogram->max, histogram->count, HISTOGRAM_MAX_LOG - 7,
		2 * HISTOGRAM_HALF);
	free(histogram);
	return true;
}

bool report_hgrm(const struct bench *bench, FILE *stream)
{
	for (size_t i = 0; i < bench->n_cells; i++) {
		const struct bench_cell *cell = &bench->cells[i];

		if (cell->mode == BENCH_SAMPLE && bench_cell_is_usable(cell) &&
		    !write_cell(bench, cell, stream))
			return false;
	}
	return true;
}
