/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "../table.h"
#include "../words.h"
#include "bench.h"

/* People do not need the first word of cpuclock.self.user.proc. */
static const char *short_name(const struct bench_row *row)
{
	return row->name + sizeof("cpuclock.") - 1;
}

static void cell_ns(struct table *table, double ns)
{
	if (isnan(ns))
		table_cell(table, "-");
	else
		table_cell(table, ns < 100 ? "%.1f" : "%.0f", ns);
}

static void cell_ratio(struct table *table, double ratio)
{
	if (isnan(ratio))
		table_cell(table, "-");
	else
		table_cell(table, ratio < 0.1 ? "%.3f" : "%.2f", ratio);
}

static void print_head(const struct bench *bench, FILE *stream)
{
	const struct bench_settings *settings = &bench->settings;
	char time[32];

	format_ns(time, sizeof(time), (double)settings->time_ns);
	fprintf(stream, "%s, %d CPU%s, %s%s%s, clocksource %s\n",
		bench->machine.kernel, bench->machine.cpus,
		bench->machine.cpus == 1 ? "" : "s", bench->machine.cpu,
		*bench->machine.hypervisor ? ", guest of " : "",
		bench->machine.hypervisor, bench->machine.clocksource);
	fprintf(stream,
		"Timer: %s, %.1f ns a read, steps of %.1f ns; not subtracted\n",
		bench->timer.name, bench->timer.cost_ns, bench->timer.step_ns);
	fprintf(stream,
		"%d fork%s, %d warm-up and %d measured iterations of %s; "
		"errors are 99.9 %% intervals\n",
		settings->forks, settings->forks == 1 ? "" : "s",
		settings->warmup, settings->iterations, time);
}

enum { AVGT_FIRST = 1, AVGT_GROUP = 5, AVGT_LAST = 2 };

static void avgt_group(struct table *table, const struct bench_cell *cell)
{
	struct bench_summary summary;

	if (!bench_cell_is_usable(cell)) {
		table_cell(table, "%s", cell ? "failed" : "-");
		for (int i = 1; i < AVGT_GROUP; i++)
			table_cell(table, "%s", "");
		return;
	}
	bench_summarize(cell, &summary);
	cell_ns(table, summary.score_ns);
	cell_ns(table, summary.error_ns);
	cell_ns(table, summary.cpu_ns);
	table_cell(table, "%" PRId64, summary.involuntary_switches);
	table_cell(table, "%s", summary.preempted ? "!" : "");
}

static void avgt_row(const struct bench *bench, size_t row, struct table *table)
{
	const struct bench_cell *first = bench_find(
		bench, row, BENCH_AVGT, bench->settings.thread_counts[0]);

	if (!first || (first->n_done == 0 && bench->interrupted))
		return;
	table_cell(table, "%s", short_name(&bench->rows[row]));
	for (int i = 0; i < bench->settings.n_thread_counts; i++)
		avgt_group(table, bench_find(bench, row, BENCH_AVGT,
					     bench->settings.thread_counts[i]));
	cell_ratio(table, bench_ratio_to_proc(bench, first));
	cell_ratio(table, bench_ratio_to_syscall(bench, first));
}

static bool print_avgt(const struct bench *bench, FILE *stream)
{
	struct table_column columns[AVGT_FIRST +
				    AVGT_GROUP * MAX_THREAD_COUNTS + AVGT_LAST];
	char titles[MAX_THREAD_COUNTS][24];
	size_t n = 0;
	struct table *table;
	bool ok;

	columns[n++] = (struct table_column){"benchmark", false};
	for (int i = 0; i < bench->settings.n_thread_counts; i++) {
		snprintf(titles[i], sizeof(titles[i]), "%d thr: ns",
			 bench->settings.thread_counts[i]);
		columns[n++] = (struct table_column){titles[i], true};
		columns[n++] = (struct table_column){"+-", true};
		columns[n++] = (struct table_column){"CPU", true};
		columns[n++] = (struct table_column){"sw", true};
		columns[n++] = (struct table_column){"", false};
	}
	columns[n++] = (struct table_column){"/proc", true};
	columns[n++] = (struct table_column){"/syscall", true};

	table = table_new(columns, n);
	if (!table)
		return false;
	for (size_t i = 0; i < bench->n_rows; i++)
		avgt_row(bench, i, table);
	fprintf(stream,
		"\nCost of a call (avgt): ns by the wall clock and by CPU "
		"time; "
		"sw: involuntary switches\nin the run, ! preempted a lot; as "
		"multiple of proc and of the cheapest system call, %d thr\n\n",
		bench->settings.thread_counts[0]);
	ok = table_print(table, stream);
	table_free(table);
	return ok;
}

static bool sample_row(const struct bench *bench, const struct bench_cell *cell,
		       struct table *table)
{
	struct bench_summary summary;
	struct histogram *histogram;

	if (!bench_cell_is_usable(cell))
		return true;
	histogram = bench_histogram(cell);
	if (!histogram)
		return false;
	bench_summarize(cell, &summary);
	table_cell(table, "%s", short_name(&bench->rows[cell->row]));
	table_cell(table, "%d", cell->threads);
	for (size_t i = 0; i < N_PERCENTILES_SHOWN; i++)
		table_cell(table, "%" PRIu64,
			   histogram_percentile(histogram,
						bench_percentiles[i].percent));
	cell_ns(table, summary.score_ns);
	cell_ns(table, summary.error_ns);
	table_cell(table, "%s", summary.preempted ? "!" : "");
	free(histogram);
	return true;
}

static bool print_sample(const struct bench *bench, FILE *stream)
{
	struct table_column columns[5 + N_PERCENTILES_SHOWN];
	struct table *table;
	size_t n = 0;
	bool ok = true;

	columns[n++] = (struct table_column){"benchmark", false};
	columns[n++] = (struct table_column){"thr", true};
	for (size_t i = 0; i < N_PERCENTILES_SHOWN; i++)
		columns[n++] =
			(struct table_column){bench_percentiles[i].title, true};
	columns[n++] = (struct table_column){"mean", true};
	columns[n++] = (struct table_column){"+-", true};
	columns[n++] = (struct table_column){"", false};

	table = table_new(columns, n);
	if (!table)
		return false;
	for (size_t i = 0; i < bench->n_cells && ok; i++) {
		if (bench->cells[i].mode == BENCH_SAMPLE)
			ok = sample_row(bench, &bench->cells[i], table);
	}
	fputs("\nLatency of single calls (sample), ns, the timer's own cost "
	      "included\n\n",
	      stream);
	ok = ok && table_print(table, stream);
	table_free(table);
	return ok;
}

static void cell_work(struct table *table, double value)
{
	if (value < 0)
		table_cell(table, "-");
	else
		table_cell(table, "%.4g", value);
}

static bool print_kernel_work(const struct bench *bench, FILE *stream)
{
	static const struct table_column columns[] = {
		{"benchmark", false},
		{"system calls", true},
		{"allocations", true},
		{"bytes", true},
	};
	struct table *table;
	bool ok;

	table = table_new(columns, 4);
	if (!table)
		return false;
	for (size_t i = 0; i < bench->n_rows; i++) {
		const struct bench_row *row = &bench->rows[i];

		if (!row->selected)
			continue;
		table_cell(table, "%s", short_name(row));
		cell_work(table, row->system_calls);
		cell_work(table, row->allocations);
		cell_work(table, row->allocated_bytes);
	}
	fputs("\nWork in the kernel per call; memory is that of its slab "
	      "allocator\n",
	      stream);
	if (bench->kernel_work_why)
		fprintf(stream,
			"Not measured, system calls are as stated: %s\n",
			bench->kernel_work_why);
	fputc('\n', stream);
	ok = table_print(table, stream);
	table_free(table);
	return ok;
}

static void print_failures(const struct bench *bench, FILE *stream)
{
	for (size_t i = 0; i < bench->n_cells; i++) {
		const struct bench_cell *cell = &bench->cells[i];
		char why[128];

		/* What was not begun is told of below. */
		if (bench_cell_is_usable(cell) ||
		    (!cell->error && !cell->end_signal))
			continue;
		bench_describe_failure(cell, why, sizeof(why));
		fprintf(stream, "\n%s, %s, %d thread%s: %s\n",
			bench->rows[cell->row].name,
			bench_mode_words[cell->mode], cell->threads,
			cell->threads == 1 ? "" : "s", why);
	}
	if (bench->interrupted)
		fputs("\nInterrupted: the rest was not measured.\n", stream);
}

bool report_text(const struct bench *bench, FILE *stream)
{
	bool ok = true;

	print_head(bench, stream);
	if (bench->settings.modes[BENCH_AVGT])
		ok = print_avgt(bench, stream);
	if (ok && bench->settings.modes[BENCH_SAMPLE])
		ok = print_sample(bench, stream);
	if (ok)
		ok = print_kernel_work(bench, stream);
	print_failures(bench, stream);
	return ok;
}
