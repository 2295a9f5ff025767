/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/epoch.h"
#include "check/check.h"
#include "cmd.h"
#include "json.h"
#include "machine.h"
#include "table.h"

/* The last one is no epoch: what answers where there is none. */
#define N_EPOCHS  2
#define N_RESULTS (N_EPOCHS + 1)

struct epoch_result {
	const struct cpuclock__epoch *epoch;
	const char *name;
	bool was_tried;
	const char *why; /* not, of an epoch */
	bool was_caught; /* the library turned it off meanwhile */
	struct load_result load;
};

struct options {
	int64_t seconds;
	int64_t threads;
	bool json;
};

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option long_options[] = {
		{"time", required_argument, NULL, 'T'},
		{"threads", required_argument, NULL, 't'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, ":t:h", long_options, NULL)) !=
	       -1) {
		switch (option) {
		case 'T':
			if (!cmd_parse_number(optarg, 1, 86400,
					      &options->seconds))
				return cmd_usage(&cmd_check,
						 "'%s' is no number of seconds "
						 "(1 to 86400)",
						 optarg);
			break;
		case 't':
			if (!cmd_parse_number(optarg, 1, 1000,
					      &options->threads))
				return cmd_usage(&cmd_check,
						 "'%s' is no number of threads "
						 "(1 to 1000)",
						 optarg);
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			cmd_help(&cmd_check);
			return -1;
		default:
			return cmd_bad_option(&cmd_check, option, argv);
		}
	}
	if (optind < argc)
		return cmd_usage(&cmd_check, "unexpected argument '%s'",
				 argv[optind]);
	return CMD_OK;
}

static int run_load(const struct options *options, struct epoch_result *result)
{
	result->was_tried = true;
	return load_run((int)options->threads,
			options->seconds * 1000000000 / N_EPOCHS,
			&result->load);
}

static int run_epoch(const struct options *options, struct epoch_result *result)
{
	const struct cpuclock__verdict *verdict =
		cpuclock__epoch_use(result->epoch);
	int err;

	if (verdict->status) {
		result->why = verdict->why;
		return 0;
	}
	err = run_load(options, result);
	result->was_caught = cpuclock__epoch_chosen() != result->epoch;
	return err;
}

/* Each epoch that there is; without any, what the calls are answered by. */
static int run_all(const struct options *options, struct epoch_result *results)
{
	bool any = false;
	int err = 0;

	for (int i = 0; i < N_EPOCHS && !err; i++) {
		err = run_epoch(options, &results[i]);
		any = any || results[i].was_tried;
	}
	cpuclock__epoch_use(NULL);
	return err || any ? err : run_load(options, &results[N_EPOCHS]);
}

static bool is_kept(const struct epoch_result *result)
{
	return !result->was_tried ||
	       (!result->was_caught && load_kept_promises(&result->load));
}

static const double percentiles[] = {0, 1, 50, 99, 99.9, 100};

#define N_SHOWN (sizeof(percentiles) / sizeof(percentiles[0]))

static bool print_errors(struct epoch_result *results)
{
	static const struct table_column columns[] = {
		{"epoch", false}, {"p0", true},	   {"p1", true},
		{"p50", true},	  {"p99", true},   {"p99.9", true},
		{"p100", true},	  {"ahead", true}, {"behind", true},
	};
	struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]));
	bool ok;

	if (!table)
		return false;
	for (int i = 0; i < N_RESULTS; i++) {
		struct load_result *load = &results[i].load;

		if (!results[i].was_tried)
			continue;
		table_cell(table, "%s", results[i].name);
		for (size_t j = 0; j < N_SHOWN; j++)
			table_cell(table, "%" PRId32,
				   load_percentile(load, percentiles[j]));
		table_cell(table, "%" PRId64, load->worst_ahead_ns);
		table_cell(table, "%" PRId64, load->worst_behind_ns);
	}
	puts("Error against CLOCK_THREAD_CPUTIME_ID, ns, from the middle of "
	     "two "
	     "reads around\neach answer; at worst ahead of the second, and "
	     "behind "
	     "the first of them (< 0: never)\n");
	ok = table_print(table, stdout);
	table_free(table);
	return ok;
}

static bool print_promises(const struct epoch_result *results)
{
	static const struct table_column columns[] = {
		{"epoch", false},      {"reads", true},	    {"switches", true},
		{"missed", true},      {"backwards", true}, {"sum wrong", true},
		{"too far", true},     {"behind", true},    {"forks", true},
		{"wrong there", true}, {"promises", false},
	};
	struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]));
	bool ok;

	if (!table)
		return false;
	for (int i = 0; i < N_RESULTS; i++) {
		const struct load_result *load = &results[i].load;

		if (!results[i].was_tried)
			continue;
		table_cell(table, "%s", results[i].name);
		table_cell(table, "%" PRIu64, load->reads);
		table_cell(table, "%" PRIu64, load->switches);
		table_cell(table, "%" PRIu64, load->misses);
		table_cell(table, "%" PRIu64, load->backwards);
		table_cell(table, "%" PRIu64, load->unequal);
		table_cell(table, "%" PRIu64, load->too_far);
		table_cell(table, "%" PRIu64, load->behind);
		table_cell(table, "%" PRIu64, load->children);
		table_cell(table, "%" PRIu64, load->bad_children);
		table_cell(table, "%s",
			   is_kept(&results[i]) ? "kept" : "BROKEN");
	}
	puts("\nPromises under mixed load\n");
	ok = table_print(table, stdout);
	table_free(table);
	return ok;
}

static bool print_splits(const struct split_result *splits)
{
	static const struct table_column columns[] = {
		{"thread that does", false},
		{"rounds", true},
		{"user ms", true},
		{"scaled: off by", true},
		{"worst", true},
		{"ticks: off by", true},
		{"worst", true},
		{"ticks > total", true},
	};
	struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]));
	bool ok;

	if (!table)
		return false;
	for (int i = 0; i < N_SPLITS; i++) {
		table_cell(table, "%s", splits[i].work);
		table_cell(table, "%d", splits[i].rounds);
		table_cell(table, "%.2f", splits[i].true_user_ms);
		table_cell(table, "%.2f", splits[i].scaled_mean_ms);
		table_cell(table, "%.2f", splits[i].scaled_worst_ms);
		table_cell(table, "%.2f", splits[i].ticks_mean_ms);
		table_cell(table, "%.2f", splits[i].ticks_worst_ms);
		table_cell(table, "%d", splits[i].ticks_above_total);
	}
	puts("\nUser time against known work, ms: scaled is cpuclock_user, "
	     "ticks "
	     "what JDK 26 reports\n");
	ok = table_print(table, stdout);
	table_free(table);
	return ok;
}

static bool print(struct epoch_result *results,
		  const struct split_result *splits)
{
	bool ok = print_errors(results) && print_promises(results) &&
		  print_splits(splits);

	for (int i = 0; i < N_RESULTS; i++) {
		if (results[i].why)
			printf("\n%s was not tried: %s\n", results[i].name,
			       results[i].why);
		if (results[i].was_caught)
			printf("\n%s was turned off: the kernel did not show a "
			       "switch\n",
			       results[i].name);
	}
	return ok;
}

static void json_load(struct json *json, struct load_result *load)
{
	char name[16];

	json_integer(json, "reads", (int64_t)load->reads);
	json_integer(json, "switches", (int64_t)load->switches);
	json_integer(json, "misses", (int64_t)load->misses);
	json_integer(json, "backwards", (int64_t)load->backwards);
	json_integer(json, "unequal_sums", (int64_t)load->unequal);
	json_integer(json, "beyond_window", (int64_t)load->too_far);
	json_integer(json, "behind", (int64_t)load->behind);
	json_integer(json, "children", (int64_t)load->children);
	json_integer(json, "wrong_children", (int64_t)load->bad_children);
	json_integer(json, "worst_ahead_ns", load->worst_ahead_ns);
	json_integer(json, "worst_behind_ns", load->worst_behind_ns);
	json_begin_object(json, "error_ns");
	for (size_t i = 0; i < N_SHOWN; i++) {
		snprintf(name, sizeof(name), "%g", percentiles[i]);
		json_integer(json, name, load_percentile(load, percentiles[i]));
	}
	json_end_object(json);
}

static void print_json(struct epoch_result *results,
		       const struct split_result *splits)
{
	struct json json = {.stream = stdout};

	json_begin_object(&json, NULL);
	json_begin_array(&json, "epochs");
	for (int i = 0; i < N_RESULTS; i++) {
		if (!results[i].was_tried && !results[i].why)
			continue;
		json_begin_object(&json, NULL);
		json_string(&json, "epoch", results[i].name);
		json_string(&json, "why_not", results[i].why);
		if (results[i].was_tried) {
			json_bool(&json, "promises_kept", is_kept(&results[i]));
			json_load(&json, &results[i].load);
		}
		json_end_object(&json);
	}
	json_end_array(&json);
	json_begin_array(&json, "split");
	for (int i = 0; i < N_SPLITS; i++) {
		json_begin_object(&json, NULL);
		json_string(&json, "work", splits[i].work);
		json_integer(&json, "rounds", splits[i].rounds);
		json_number(&json, "user_ms", splits[i].true_user_ms);
		json_number(&json, "scaled_mean_ms", splits[i].scaled_mean_ms);
		json_number(&json, "scaled_worst_ms",
			    splits[i].scaled_worst_ms);
		json_number(&json, "ticks_mean_ms", splits[i].ticks_mean_ms);
		json_number(&json, "ticks_worst_ms", splits[i].ticks_worst_ms);
		json_integer(&json, "ticks_above_total",
			     splits[i].ticks_above_total);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
}

static int run(int argc, char **argv)
{
	struct epoch_result results[N_RESULTS] = {
		{.epoch = &cpuclock__epoch_rseq, .name = "fast:rseq"},
		{.epoch = &cpuclock__epoch_perf, .name = "fast:perf"},
		{.name = "self"},
	};
	struct split_result splits[N_SPLITS];
	struct options options = {.seconds = 6};
	struct machine machine;
	bool kept = true;
	int status = parse(argc, argv, &options);

	if (status)
		return status < 0 ? CMD_OK : status;
	machine_get(&machine);
	if (options.threads == 0)
		options.threads = 2L * machine.cpus;

	status = run_all(&options, results);
	if (!status)
		status = split_run(splits);
	if (status)
		return cmd_fail(&cmd_check, "%s", strerror(-status));

	if (options.json)
		print_json(results, splits);
	else if (!print(results, splits))
		status = cmd_fail(&cmd_check, "out of memory");
	for (int i = 0; i < N_RESULTS; i++) {
		kept = kept && is_kept(&results[i]);
		free(results[i].load.errors);
	}
	if (!kept)
		status = cmd_fail(&cmd_check,
				  "a promise was broken; use another "
				  "source, and report this");
	return status;
}

const struct cmd cmd_check = {
	.name = "check",
	.summary = "try whether the fast clock tells the truth here",
	.usage = "[--time=SECONDS] [--threads=N] [--json]\n"
		 "Runs a mixed load, holds each answer of the clock without a "
		 "system call\n"
		 "against the kernel's, and exits with 1 if a promise was "
		 "broken. Then tries\n"
		 "how well user time is told.\n\n"
		 "      --time=SECONDS  length of the load, default 6\n"
		 "  -t, --threads=N     threads of the load, default two per "
		 "CPU\n"
		 "      --json          print JSON\n"
		 "  -h, --help          print this help\n",
	.run = run,
};
