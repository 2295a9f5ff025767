/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../cmd.h"
#include "stat.h"

static int find_word(const char *word, const char *const *words, int n)
{
	for (int i = 0; i < n; i++) {
		if (strcmp(word, words[i]) == 0)
			return i;
	}
	return -1;
}

static int add_pids(struct stat_options *options)
{
	int status = parse_ids(&cmd_stat, "-p", "PID", optarg, &options->pids,
			       &options->n_pids);

	options->n_given = options->n_pids;
	return status;
}

static int add_name(struct stat_options *options, const char *name)
{
	const char **names = reallocarray(options->names, options->n_names + 1,
					  sizeof(*names));

	if (!names)
		return cmd_fail(&cmd_stat, "out of memory");
	options->names = names;
	names[options->n_names++] = name;
	return CMD_OK;
}

static int parse_by(struct stat_options *options)
{
	int by = find_word(optarg, by_words, N_BY);

	if (by < 0)
		return cmd_usage(&cmd_stat,
				 "cannot group by '%s' (thread, process, name, "
				 "state)",
				 optarg);
	options->by = (enum by)by;
	return CMD_OK;
}

static int parse_sort(struct stat_options *options)
{
	int sort = find_word(optarg, sort_words, N_SORTS);

	if (sort < 0)
		return cmd_usage(&cmd_stat,
				 "cannot sort by '%s' (total, user, system, "
				 "wait, switches, name, pid, tid)",
				 optarg);
	options->sort = (enum sort)sort;
	return CMD_OK;
}

static int set_format(struct stat_options *options, enum output_format format)
{
	if (options->format != OUTPUT_TEXT && options->format != format)
		return cmd_usage(&cmd_stat, "either --json or --csv");
	options->format = format;
	options->path = optarg;
	return CMD_OK;
}

static int parse_option(struct stat_options *options, int option)
{
	switch (option) {
	case 'p':
		return add_pids(options);
	case 'N':
		return add_name(options, optarg);
	case 'a':
		options->all = true;
		return CMD_OK;
	case 'w':
		options->wait = true;
		return CMD_OK;
	case 'd':
		return parse_seconds(&cmd_stat, "-d", optarg,
				     &options->duration_ns);
	case 'i':
		return parse_seconds(&cmd_stat, "-i", optarg,
				     &options->interval_ns);
	case 'c':
		if (cmd_parse_number(optarg, 1, INT32_MAX, &options->count))
			return CMD_OK;
		return cmd_usage(&cmd_stat, "-c: '%s' is no number from 1",
				 optarg);
	case 'n':
		if (cmd_parse_number(optarg, 0, INT32_MAX, &options->top))
			return CMD_OK;
		return cmd_usage(&cmd_stat, "--top: '%s' is no number from 0",
				 optarg);
	case 'b':
		return parse_by(options);
	case 'S':
		return parse_sort(options);
	case 's':
		options->source = optarg;
		return CMD_OK;
	case 'j':
		return set_format(options, OUTPUT_JSON);
	default:
		return set_format(options, OUTPUT_CSV);
	}
}

/* Asks of the name alone: whether it works costs what opening it costs. */
static bool is_source(const char *name)
{
	const char *source;

	for (size_t i = 0; (source = cpuclock_snapshot_source_at(i)); i++) {
		if (strcmp(source, name) == 0)
			return true;
	}
	return false;
}

/* One of the sources of snapshots; the environment's may be one of a clock. */
static int resolve_source(struct stat_options *options)
{
	const char *forced = getenv("CPUCLOCK_SOURCE");

	if (!options->source && forced && is_source(forced))
		options->source = forced;
	if (options->source && strcmp(options->source, "best") == 0)
		options->source = NULL;
	if (options->source && !is_source(options->source))
		return cmd_usage(&cmd_stat,
				 "--source: no source '%s' of snapshots (best "
				 "bpf bpf-iter proc)",
				 options->source);
	return CMD_OK;
}

static int check(const struct stat_options *options)
{
	int targets = (options->command != NULL) + options->all +
		      (options->n_pids > 0 || options->n_names > 0);

	if (targets == 0)
		return cmd_usage(&cmd_stat,
				 "whose? -p PID, --name NAME, --all or -- "
				 "COMMAND");
	if (targets > 1)
		return cmd_usage(&cmd_stat,
				 "either processes (-p, --name), or --all, or "
				 "a command");
	if (options->command && options->duration_ns)
		return cmd_usage(&cmd_stat,
				 "-d is for processes that run already");
	if (options->duration_ns && (options->wait || options->interval_ns))
		return cmd_usage(&cmd_stat,
				 "-d excludes --wait and -i, which last until "
				 "the end");
	if (options->count && !options->interval_ns)
		return cmd_usage(&cmd_stat, "-c needs -i");
	return CMD_OK;
}

int stat_parse(int argc, char **argv, struct stat_options *options)
{
	static const struct option long_options[] = {
		{"pid", required_argument, NULL, 'p'},
		{"name", required_argument, NULL, 'N'},
		{"all", no_argument, NULL, 'a'},
		{"duration", required_argument, NULL, 'd'},
		{"wait", no_argument, NULL, 'w'},
		{"interval", required_argument, NULL, 'i'},
		{"count", required_argument, NULL, 'c'},
		{"by", required_argument, NULL, 'b'},
		{"sort", required_argument, NULL, 'S'},
		{"top", required_argument, NULL, 'n'},
		{"source", required_argument, NULL, 's'},
		{"json", optional_argument, NULL, 'j'},
		{"csv", optional_argument, NULL, 'C'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option, status = CMD_OK;

	*options = (struct stat_options){.top = -1};
	/* '+': what follows the command is the command's. */
	while (!status && (option = getopt_long(argc, argv, "+:p:ad:wi:c:s:h",
						long_options, NULL)) != -1) {
		if (option == 'h') {
			cmd_help(&cmd_stat);
			return -1;
		}
		if (option == '?' || option == ':')
			return cmd_bad_option(&cmd_stat, option, argv);
		status = parse_option(options, option);
	}
	if (!status && optind < argc)
		options->command = argv + optind;
	if (!status)
		status = check(options);
	if (!status)
		status = resolve_source(options);
	/* What people read is cut; what programs read is not. */
	if (options->top < 0)
		options->top = options->format == OUTPUT_TEXT ? 20 : 0;
	return status;
}

void stat_free_options(struct stat_options *options)
{
	free(options->pids);
	free(options->names);
}
