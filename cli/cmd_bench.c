/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "bench/options.h"
#include "cmd.h"
#include "outfile.h"

/*
 * Without wildcards a pattern selects the names that it is a part of, in whole
 * words: "proc" selects no process.
 */
static bool matches(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);
	const char *found = name;

	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, name, 0) == 0;
	while (length > 0 && (found = strstr(found, pattern))) {
		bool begins = found == name || found[-1] == '.';
		bool ends = found[length] == '\0' || found[length] == '.';

		if (begins && ends)
			return true;
		found++;
	}
	return false;
}

/* Returns the pattern that selects nothing, or NULL. */
static const char *select_rows(struct bench *bench, char **patterns, bool quick)
{
	for (size_t i = 0; i < bench->n_rows; i++) {
		struct bench_row *row = &bench->rows[i];

		/* The two targets that quick shows answer the first question:
		 * what does it cost to ask for the own time? */
		row->selected = !*patterns &&
				(!quick || strcmp(row->target, "self") == 0 ||
				 strcmp(row->target, "floor") == 0);
	}
	for (char **pattern = patterns; *pattern; pattern++) {
		bool found = false;

		for (size_t i = 0; i < bench->n_rows; i++) {
			if (!matches(*pattern, bench->rows[i].name))
				continue;
			bench->rows[i].selected = true;
			found = true;
		}
		if (!found)
			return *pattern;
	}
	return NULL;
}

static void list_rows(const struct bench *bench)
{
	for (size_t i = 0; i < bench->n_rows; i++) {
		if (bench->rows[i].selected)
			puts(bench->rows[i].name);
	}
}

/* Opens the files before the work, so that no minute is lost on a typo. */
static int open_outputs(const struct bench_options *options,
			struct outfile *files)
{
	for (int i = 0; i < N_FORMATS; i++) {
		const char *path = options->outputs[i];
		int err;

		if (!path || strcmp(path, "-") == 0)
			continue;
		err = outfile_open(&files[i], path);
		if (err) {
			for (int j = 0; j < i; j++)
				outfile_abandon(&files[j]);
			return cmd_fail(&cmd_bench, "cannot write %s: %s", path,
					strerror(-err));
		}
	}
	return CMD_OK;
}

static int write_outputs(const struct bench *bench,
			 const struct bench_options *options,
			 struct outfile *files)
{
	int status = CMD_OK;

	for (int i = 0; i < N_FORMATS; i++) {
		int err;

		if (!files[i].stream)
			continue;
		if (!bench_formats[i].report(bench, files[i].stream)) {
			outfile_abandon(&files[i]);
			status = cmd_fail(&cmd_bench, "out of memory");
			continue;
		}
		err = outfile_commit(&files[i]);
		if (err)
			status = cmd_fail(&cmd_bench, "cannot write %s: %s",
					  options->outputs[i], strerror(-err));
	}
	return status;
}

/* To standard output: the format asked for, or the report for people. */
static bool print(const struct bench *bench,
		  const struct bench_options *options,
		  const struct baseline *baseline)
{
	for (int i = 0; i < N_FORMATS; i++) {
		if (options->outputs[i] &&
		    strcmp(options->outputs[i], "-") == 0)
			return bench_formats[i].report(bench, stdout);
	}
	return report_text(bench, stdout) &&
	       (!baseline || baseline_report(baseline, bench, stdout));
}

static size_t count_failures(const struct bench *bench)
{
	size_t count = 0;

	for (size_t i = 0; i < bench->n_cells; i++)
		count += !bench_cell_is_usable(&bench->cells[i]);
	return count;
}

static int measure(struct bench *bench, const struct bench_options *options,
		   const struct baseline *baseline)
{
	struct outfile files[N_FORMATS] = {0};
	time_t now = time(NULL);
	struct tm utc;
	size_t failures;
	int status;

	bench_catch_signals();
	status = open_outputs(options, files);
	if (status)
		return status;
	gmtime_r(&now, &utc);
	strftime(bench->date, sizeof(bench->date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	timer_init(&bench->timer);
	bench_kernel_work(bench);
	if (!bench_run(bench, isatty(STDERR_FILENO) ? stderr : NULL)) {
		for (int i = 0; i < N_FORMATS; i++)
			outfile_abandon(&files[i]);
		return cmd_fail(&cmd_bench, "out of memory");
	}

	status = write_outputs(bench, options, files);
	if (!print(bench, options, baseline))
		status = cmd_fail(&cmd_bench, "out of memory");
	failures = count_failures(bench);
	if (failures > 0)
		status = cmd_fail(&cmd_bench, "%zu of %zu measurements %s",
				  failures, bench->n_cells,
				  bench->interrupted
					  ? "were not made: interrupted"
					  : "failed");
	return bench->interrupted ? CMD_SIGNALLED + bench->interrupted : status;
}

static int run(int argc, char **argv)
{
	struct bench_options options = {
		.settings = {.modes = {true, true},
			     .forks = 1,
			     .warmup = 1,
			     .iterations = 5},
	};
	struct bench bench = {0};
	struct baseline *baseline = NULL;
	const char *unmatched;
	int status = bench_options_parse(argc, argv, &options);

	if (status)
		return status < 0 ? CMD_OK : status;
	if (options.baseline) {
		char message[512];

		baseline = baseline_open(options.baseline, message,
					 sizeof(message));
		if (!baseline)
			return cmd_fail(&cmd_bench, "%s", message);
	}

	machine_get(&bench.machine);
	bench_options_complete(&options, &bench.machine);
	bench.settings = options.settings;
	if (!bench_rows_make(&bench)) {
		status = cmd_fail(&cmd_bench, "out of memory");
	} else if ((unmatched = select_rows(&bench, argv + optind,
					    options.quick))) {
		status =
			cmd_usage(&cmd_bench,
				  "no benchmark matches '%s'; --list shows all",
				  unmatched);
	} else if (options.list) {
		list_rows(&bench);
	} else {
		status = measure(&bench, &options, baseline);
	}
	bench_free(&bench);
	baseline_close(baseline);
	return status;
}

const struct cmd cmd_bench = {
	.name = "bench",
	.summary = "measure what each way of asking costs",
	.usage =
		"[OPTION...] [PATTERN...]\n"
		"Measures what it costs to ask for CPU time, by every source "
		"that works here.\n"
		"A PATTERN selects benchmarks by words of the name, such as "
		"self.total, or by\n"
		"a wildcard.\n\n"
		"  -m, --mode=MODE       sample (each call timed: "
		"percentiles), "
		"avgt (batches:\n"
		"                        averages), all (default)\n"
		"  -t, --threads=N,...   threads that call at once; default 1 "
		"and one per CPU\n"
		"      --forks=N         processes for each benchmark, default "
		"1\n"
		"      --warmup=N        iterations not counted, default 1\n"
		"      --iterations=N    iterations counted, default 5\n"
		"      --time=TIME       length of an iteration, default 20ms\n"
		"      --quick           own time only and 10ms: done in less "
		"than 8 s\n"
		"      --list            print the names of the benchmarks\n"
		"      --json[=FILE]     JMH's JSON, to standard output or "
		"FILE\n"
		"      --csv[=FILE]      comma-separated values\n"
		"      --hgrm[=FILE]     HdrHistogram percentile "
		"distributions\n"
		"      --html=FILE       a page with charts\n"
		"      --baseline=FILE   compare with an earlier --json\n"
		"  -h, --help            print this help\n",
	.run = run,
};
