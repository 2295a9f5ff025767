/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "cmd.h"
#include "outfile.h"

static const struct format {
	const char *name;
	bool (*report)(const struct bench *bench, FILE *stream);
} formats[] = {
	{"json", report_json},
	{"csv", report_csv},
	{"hgrm", report_hgrm},
	{"html", report_html},
};

#define N_FORMATS 4

struct options {
	struct bench_settings settings;
	bool quick;
	bool list;
	bool given_threads, given_time;
	const char *baseline;
	/* For each format: not asked for (NULL), "-", or a path. */
	const char *outputs[N_FORMATS];
};

static bool parse_threads(const char *text, struct bench_settings *settings)
{
	char *copy = strdup(text);
	char *rest = copy;
	char *word;
	bool ok = copy != NULL;

	settings->n_thread_counts = 0;
	while (ok && (word = strsep(&rest, ",")) != NULL) {
		int64_t count;

		ok = cmd_parse_number(word, 1, MAX_THREADS, &count) &&
		     settings->n_thread_counts < MAX_THREAD_COUNTS;
		for (int i = 0; ok && i < settings->n_thread_counts; i++)
			ok = settings->thread_counts[i] != count;
		if (ok)
			settings->thread_counts[settings->n_thread_counts++] =
				(int)count;
	}
	free(copy);
	return ok;
}

/* "20ms", "1s", "500us"; 1 us to 1 hour. */
static bool parse_time(const char *text, int64_t *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double value;

	if (*text < '0' || *text > '9')
		return false;
	value = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double ns = value * units[i].ns;

		if (strcmp(end, units[i].name) == 0 && ns >= 1e3 &&
		    ns <= 3.6e12) {
			*ret_ns = (int64_t)ns;
			return true;
		}
	}
	return false;
}

static bool parse_mode(const char *word, struct bench_settings *settings)
{
	bool found = strcmp(word, "all") == 0;

	for (int i = 0; i < N_MODES; i++) {
		settings->modes[i] = strcmp(word, "all") == 0 ||
				     strcmp(word, bench_mode_words[i]) == 0;
		found |= settings->modes[i];
	}
	return found;
}

static bool parse_count(const char *text, int min, int *ret_count)
{
	int64_t count;

	if (!cmd_parse_number(text, min, 1000, &count))
		return false;
	*ret_count = (int)count;
	return true;
}

enum {
	OPTION_FORMAT = 256, /* and the next N_FORMATS - 1 */
	OPTION_QUICK = OPTION_FORMAT + N_FORMATS,
	OPTION_LIST,
	OPTION_BASELINE,
	OPTION_FORKS,
	OPTION_WARMUP,
	OPTION_ITERATIONS,
	OPTION_TIME,
};

static const struct option long_options[] = {
	{"json", optional_argument, NULL, OPTION_FORMAT},
	{"csv", optional_argument, NULL, OPTION_FORMAT + 1},
	{"hgrm", optional_argument, NULL, OPTION_FORMAT + 2},
	{"html", required_argument, NULL, OPTION_FORMAT + 3},
	{"quick", no_argument, NULL, OPTION_QUICK},
	{"list", no_argument, NULL, OPTION_LIST},
	{"baseline", required_argument, NULL, OPTION_BASELINE},
	{"forks", required_argument, NULL, OPTION_FORKS},
	{"warmup", required_argument, NULL, OPTION_WARMUP},
	{"iterations", required_argument, NULL, OPTION_ITERATIONS},
	{"time", required_argument, NULL, OPTION_TIME},
	{"threads", required_argument, NULL, 't'},
	{"mode", required_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* Takes one option; false if its value is not one. */
static bool take_option(int option, struct options *options)
{
	struct bench_settings *settings = &options->settings;

	switch (option) {
	case OPTION_QUICK:
		options->quick = true;
		return true;
	case OPTION_LIST:
		options->list = true;
		return true;
	case OPTION_BASELINE:
		options->baseline = optarg;
		return true;
	case OPTION_FORKS:
		return parse_count(optarg, 1, &settings->forks);
	case OPTION_WARMUP:
		return parse_count(optarg, 0, &settings->warmup);
	case OPTION_ITERATIONS:
		return parse_count(optarg, 1, &settings->iterations);
	case OPTION_TIME:
		options->given_time = true;
		return parse_time(optarg, &settings->time_ns);
	case 't':
		options->given_threads = true;
		return parse_threads(optarg, settings);
	case 'm':
		return parse_mode(optarg, settings);
	default:
		options->outputs[option - OPTION_FORMAT] =
			optarg ? optarg : "-";
		return true;
	}
}

static int count_stdout(const struct options *options)
{
	int count = 0;

	for (int i = 0; i < N_FORMATS; i++)
		count += options->outputs[i] &&
			 strcmp(options->outputs[i], "-") == 0;
	return count;
}

static int parse(int argc, char **argv, struct options *options)
{
	int option, index;

	while ((option = getopt_long(argc, argv, ":t:m:h", long_options,
				     &index)) != -1) {
		if (option == 'h') {
			cmd_help(&cmd_bench);
			return -1;
		}
		if (option == '?' || option == ':')
			return cmd_bad_option(&cmd_bench, option, argv);
		if (!take_option(option, options))
			return cmd_usage(&cmd_bench, "'%s' is no value for %s",
					 optarg, argv[optind - 1]);
	}
	if (count_stdout(options) > 1)
		return cmd_usage(&cmd_bench,
				 "only one format can go to standard output: "
				 "name files, as in --json=FILE");
	if (!options->settings.modes[BENCH_SAMPLE] && options->outputs[2])
		return cmd_usage(&cmd_bench, "--hgrm needs --mode sample");
	return CMD_OK;
}

/* A word without wildcards selects every name that it is a part of. */
static bool matches(const char *pattern, const char *name)
{
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, name, 0) == 0;
	return strstr(name, pattern) != NULL;
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

static void set_defaults(struct options *options, const struct machine *machine)
{
	struct bench_settings *settings = &options->settings;

	if (!options->given_threads) {
		settings->thread_counts[0] = 1;
		settings->thread_counts[1] = machine->cpus;
		settings->n_thread_counts = machine->cpus > 1 ? 2 : 1;
		if (machine->cpus > MAX_THREADS)
			settings->thread_counts[1] = MAX_THREADS;
	}
	if (!options->given_time)
		settings->time_ns = options->quick ? 10000000 : 20000000;
}

static void list_rows(const struct bench *bench)
{
	for (size_t i = 0; i < bench->n_rows; i++) {
		if (bench->rows[i].selected)
			puts(bench->rows[i].name);
	}
}

/* Opens the files before the work, so that no minute is lost on a typo. */
static int open_outputs(const struct options *options, struct outfile *files)
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

static int write_outputs(const struct bench *bench, struct outfile *files)
{
	int status = CMD_OK;

	for (int i = 0; i < N_FORMATS; i++) {
		int err;

		if (!files[i].stream)
			continue;
		if (!formats[i].report(bench, files[i].stream)) {
			outfile_abandon(&files[i]);
			status = cmd_fail(&cmd_bench, "out of memory");
			continue;
		}
		err = outfile_commit(&files[i]);
		if (err)
			status = cmd_fail(&cmd_bench, "cannot write %s: %s",
					  files[i].path, strerror(-err));
	}
	return status;
}

/* To standard output: the format asked for, or the report for people. */
static bool print(const struct bench *bench, const struct options *options,
		  const struct baseline *baseline)
{
	for (int i = 0; i < N_FORMATS; i++) {
		if (options->outputs[i] &&
		    strcmp(options->outputs[i], "-") == 0)
			return formats[i].report(bench, stdout);
	}
	return report_text(bench, stdout) &&
	       (!baseline || baseline_report(baseline, bench, stdout));
}

static bool has_failures(const struct bench *bench)
{
	for (size_t i = 0; i < bench->n_cells; i++) {
		if (!bench_cell_is_usable(&bench->cells[i]))
			return true;
	}
	return false;
}

static int measure(struct bench *bench, const struct options *options,
		   const struct baseline *baseline)
{
	struct outfile files[N_FORMATS] = {0};
	time_t now = time(NULL);
	struct tm utc;
	int status = open_outputs(options, files);

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

	status = write_outputs(bench, files);
	if (!print(bench, options, baseline))
		status = cmd_fail(&cmd_bench, "out of memory");
	if (bench->interrupted)
		return CMD_INTERRUPTED;
	if (!status && has_failures(bench))
		status =
			cmd_fail(&cmd_bench, "some rows could not be measured");
	return status;
}

static int run(int argc, char **argv)
{
	struct options options = {
		.settings = {.modes = {true, true},
			     .forks = 1,
			     .warmup = 1,
			     .iterations = 5},
	};
	struct bench bench = {0};
	struct baseline *baseline = NULL;
	const char *unmatched;
	int status = parse(argc, argv, &options);

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
	set_defaults(&options, &bench.machine);
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
		"A PATTERN selects benchmarks by a part of the name or by a "
		"wildcard.\n\n"
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
