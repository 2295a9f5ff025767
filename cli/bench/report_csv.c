/* SPDX-License-Identifier: MIT */
/* One line a cell, RFC 4180. No value needs quotes: all are names or numbers.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "bench.h"

static void write_number(FILE *stream, double value)
{
	fputc(',', stream);
	if (isfinite(value))
		fprintf(stream, "%.9g", value);
}

/* Negative is not known, and so left empty. */
static void write_known(FILE *stream, double value)
{
	write_number(stream, value < 0 ? NAN : value);
}

static bool write_percentiles(const struct bench_cell *cell, FILE *stream)
{
	struct histogram *histogram = NULL;

	if (cell->mode == BENCH_SAMPLE) {
		histogram = bench_histogram(cell);
		if (!histogram)
			return false;
	}
	for (size_t i = 0; i < N_PERCENTILES_SHOWN; i++) {
		fputc(',', stream);
		if (histogram)
			fprintf(stream, "%" PRIu64,
				histogram_percentile(
					histogram,
					bench_percentiles[i].percent));
	}
	free(histogram);
	return true;
}

static bool write_cell(const struct bench *bench, const struct bench_cell *cell,
		       FILE *stream)
{
	const struct bench_row *row = &bench->rows[cell->row];
	struct bench_summary summary;

	bench_summarize(cell, &summary);
	fprintf(stream, "%s,%s,%d,%" PRIu64, row->name,
		bench_mode_words[cell->mode], cell->threads, summary.calls);
	write_number(stream, summary.score_ns);
	write_number(stream, summary.error_ns);
	if (!write_percentiles(cell, stream))
		return false;
	write_number(stream, summary.cpu_ns);
	fprintf(stream, ",%" PRId64 ",%d", summary.involuntary_switches,
		summary.preempted);
	write_number(stream, bench_ratio_to_proc(bench, cell));
	write_number(stream, bench_ratio_to_syscall(bench, cell));
	write_known(stream, row->system_calls);
	write_known(stream, row->allocations);
	write_known(stream, row->allocated_bytes);
	fputs("\r\n", stream);
	return true;
}

bool report_csv(const struct bench *bench, FILE *stream)
{
	fputs("benchmark,mode,threads,calls,score_ns,error_ns", stream);
	for (size_t i = 0; i < N_PERCENTILES_SHOWN; i++)
		fprintf(stream, ",%s_ns", bench_percentiles[i].title);
	fputs(",cpu_ns,involuntary_switches,preempted,ratio_to_proc,"
	      "ratio_to_syscall,system_calls,kernel_allocations,"
	      "kernel_allocated_bytes\r\n",
	      stream);
	for (size_t i = 0; i < bench->n_cells; i++) {
		const struct bench_cell *cell = &bench->cells[i];

		if (bench_cell_is_usable(cell) &&
		    !write_cell(bench, cell, stream))
			return false;
	}
	return true;
}
