/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "../cmd.h"
#include "options.h"

const struct format bench_formats[N_FORMATS] = {
	{"json", report_json},
	{"csv", report_csv},
	{"hgrm", report_hgrm},
	{"html", report_html},
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
static bool take_option(int option, struct bench_options *options)
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
		return !optarg || *optarg;
	}
}

static bool has_same_file(const struct bench_options *options)
{
	for (int i = 0; i < N_FORMATS; i++) {
		for (int j = 0; j < i; j++) {
			const char *a = options->outputs[i];
			const char *b = options->outputs[j];

			if (a && b && strcmp(a, "-") != 0 && strcmp(a, b) == 0)
				return true;
		}
	}
	return false;
}

static int count_stdout(const struct bench_options *options)
{
	int count = 0;

	for (int i = 0; i < N_FORMATS; i++)
		count += options->outputs[i] &&
			 strcmp(options->outputs[i], "-") == 0;
	return count;
}

/* For messages: the long name, however it was given. */
static const char *name_of(int option)
{
	size_t i = 0;

	while (long_options[i].val != option)
		i++;
	return long_options[i].name;
}

int bench_options_parse(int argc, char **argv, struct bench_options *options)
{
	int option;

	while ((option = getopt_long(argc, argv, ":t:m:h", long_options,
				     NULL)) != -1) {
		if (option == 'h') {
			cmd_help(&cmd_bench);
			return -1;
		}
		if (option == '?' || option == ':')
			return cmd_bad_option(&cmd_bench, option, argv);
		if (!take_option(option, options))
			return cmd_usage(&cmd_bench,
					 "'%s' is no value for --%s", optarg,
					 name_of(option));
	}
	if (count_stdout(options) > 1)
		return cmd_usage(&cmd_bench,
				 "only one format can go to standard output: "
				 "name files, as in --json=FILE");
	if (has_same_file(options))
		return cmd_usage(&cmd_bench, "two formats go to one file");
	if (options->baseline && count_stdout(options) > 0)
		return cmd_usage(
			&cmd_bench,
			"--baseline adds to the report for people: name "
			"a file for the other format");
	if (!options->settings.modes[BENCH_SAMPLE] && options->outputs[2])
		return cmd_usage(&cmd_bench,
				 "--hgrm needs samples: --mode sample or all");
	return CMD_OK;
}

void bench_options_complete(struct bench_options *options,
			    const struct machine *machine)
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
