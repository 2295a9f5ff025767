/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../cmd.h"

#define MAX_RATE 100000

static int parse_rate(const char *text, int64_t *ret_hz)
{
	if (!cmd_parse_number(text, 1, MAX_RATE, ret_hz))
		return cmd_usage(&cmd_flame,
				 "--rate: '%s' is not a number from 1 to %d",
				 text, MAX_RATE);
	return CMD_OK;
}

/* An option with two values; the second is an argument to getopt. */
static int take_files(int argc, char **argv, struct flame_command *command)
{
	if (optind == argc)
		return cmd_usage(&cmd_flame, "--diff needs two files");
	command->before = optarg;
	command->from = argv[optind++];
	if (strcmp(command->before, "-") == 0 &&
	    strcmp(command->from, "-") == 0)
		return cmd_usage(&cmd_flame, "--diff: only one file can be "
					     "standard input");
	return CMD_OK;
}

static int take(int option, struct flame_command *command)
{
	struct flame_options *flame = &command->flame;

	switch (option) {
	case 'p':
		return parse_ids(&cmd_flame, "-p", "PID", optarg, &flame->pids,
				 &flame->n_pids);
	case 't':
		return parse_ids(&cmd_flame, "-t", "TID", optarg, &flame->tids,
				 &flame->n_tids);
	case 'F':
		return parse_rate(optarg, &flame->rate_hz);
	case 'd':
		return parse_seconds(&cmd_flame, "-d", optarg,
				     &flame->duration_ns);
	case 'a':
		flame->all = true;
		break;
	case 'U':
		flame->user_only = true;
		break;
	case 'K':
		flame->kernel_only = true;
		break;
	case 'T':
		flame->by_thread = true;
		break;
	case 'o':
		command->output = optarg;
		break;
	case 'f':
		command->from = optarg;
		break;
	case 'n':
		command->title = optarg;
		break;
	default:
		break;
	}
	return CMD_OK;
}

static int choose_writer(struct flame_command *command)
{
	const struct writer *writer;

	if (!command->output)
		return CMD_OK;
	command->writer = writer = find_writer(command->output);
	if (!writer)
		return cmd_usage(&cmd_flame,
				 "--output: '%s' ends in none of .html, .svg, "
				 ".folded, .json and .pb.gz",
				 command->output);
	if (writer->missing)
		return cmd_fail(&cmd_flame, "%s: %s", command->output,
				writer->missing);
	if (command->before && !writer->can_difference)
		return cmd_usage(&cmd_flame,
				 "--diff: %s cannot hold a difference; .html, "
				 ".svg and .folded can",
				 writer->ending);
	return CMD_OK;
}

static int choose_target(struct flame_command *command, char **rest)
{
	struct flame_options *flame = &command->flame;
	int n_targets = (flame->n_pids > 0) + (flame->n_tids > 0) + flame->all +
			(command->from != NULL) + (*rest != NULL);

	if (n_targets == 0)
		return cmd_usage(
			&cmd_flame,
			"what? a COMMAND, -p, -t, -a, --from or --diff");
	if (n_targets > 1)
		return cmd_usage(&cmd_flame, "only one of COMMAND, -p, -t, -a, "
					     "--from and --diff can be had");
	if (*rest)
		flame->command = rest;
	return CMD_OK;
}

int flame_parse(int argc, char **argv, struct flame_command *command)
{
	static const struct option long_options[] = {
		{"pid", required_argument, NULL, 'p'},
		{"tid", required_argument, NULL, 't'},
		{"all", no_argument, NULL, 'a'},
		{"rate", required_argument, NULL, 'F'},
		{"duration", required_argument, NULL, 'd'},
		{"output", required_argument, NULL, 'o'},
		{"user", no_argument, NULL, 'U'},
		{"kernel", no_argument, NULL, 'K'},
		{"threads", no_argument, NULL, 'T'},
		{"from", required_argument, NULL, 'f'},
		{"diff", required_argument, NULL, 'D'},
		{"title", required_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option, status = CMD_OK;

	command->flame.rate_hz = 99;
	/* '+': what follows the command is the command's. */
	while (!status && (option = getopt_long(argc, argv, "+:p:t:aF:d:o:h",
						long_options, NULL)) != -1) {
		if (option == 'h') {
			cmd_help(&cmd_flame);
			return -1;
		}
		if (option == '?' || option == ':')
			return cmd_bad_option(&cmd_flame, option, argv);
		status = option == 'D' ? take_files(argc, argv, command)
				       : take(option, command);
	}
	if (status)
		return status;
	if (command->flame.user_only && command->flame.kernel_only)
		return cmd_usage(&cmd_flame,
				 "--user and --kernel leave nothing");
	status = choose_target(command, argv + optind);
	return status ? status : choose_writer(command);
}

void flame_command_free(struct flame_command *command)
{
	free(command->flame.pids);
	free(command->flame.tids);
}
