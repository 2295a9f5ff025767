/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "cpuclock.h"
#include "run/run.h"
#include "words.h"

struct options {
	bool java;
	bool report;
	bool json;
	const char *source;
};

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option long_options[] = {
		{"java", no_argument, NULL, 'J'},
		{"report", no_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"source", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	/* '+': what follows the command is the command's. */
	while ((option = getopt_long(argc, argv, "+:s:h", long_options,
				     NULL)) != -1) {
		switch (option) {
		case 'J':
			options->java = true;
			break;
		case 'r':
			options->report = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 's':
			options->source = optarg;
			break;
		case 'h':
			cmd_help(&cmd_run);
			return -1;
		default:
			return cmd_bad_option(&cmd_run, option, argv);
		}
	}
	if (optind == argc)
		return cmd_usage(&cmd_run, "which command?");
	if (options->json && !options->report)
		return cmd_usage(&cmd_run, "--json needs --report");
	return CMD_OK;
}

/* The shim and the agent read it in the environment. */
static int set_source(const char *source)
{
	const char *forced = getenv("CPUCLOCK_SOURCE");
	struct cpuclock_source_info info;
	const char *origin = source ? "--source" : "CPUCLOCK_SOURCE";

	if (!source)
		source = forced && *forced ? forced : "best";
	if (strcmp(source, "best") == 0) {
		unsetenv("CPUCLOCK_SOURCE");
		return CMD_OK;
	}
	if (cpuclock_source_info(source, &info))
		return cmd_usage(&cmd_run, "%s: no source '%s' (best %s)",
				 origin, source, source_words());
	if (info.status)
		return cmd_fail(&cmd_run, "source %s does not work here: %s",
				source, info.why);
	if (setenv("CPUCLOCK_SOURCE", source, 1) != 0)
		return cmd_fail(&cmd_run, "out of memory");
	return CMD_OK;
}

static int execute(char **command)
{
	cmd_restore_sigpipe();
	execvp(*command, command);
	return run_cannot_execute(&cmd_run, *command, errno);
}

static int execute_and_report(char **command, bool as_json)
{
	struct tally tally;
	int status = CMD_FAILURE;
	int err = tally_open(&tally);

	if (err)
		return cmd_fail(&cmd_run, "no file for the report: %s",
				strerror(-err));
	err = run_and_wait(command, &status);
	tally_remove(&tally);
	if (err)
		return run_cannot_execute(&cmd_run, *command, -err);
	/* Standard output is the command's. */
	if (as_json)
		tally_print_json(&tally, stderr);
	else if (!tally_print(&tally, stderr))
		cmd_fail(&cmd_run, "out of memory");
	return status;
}

static int run(int argc, char **argv)
{
	struct options options = {0};
	int status = parse(argc, argv, &options);

	if (status)
		return status < 0 ? CMD_OK : status;
	status = set_source(options.source);
	if (!status)
		status = run_add_preload();
	if (!status && options.java)
		status = run_add_agent();
	if (status)
		return status;
	if (options.report)
		return execute_and_report(argv + optind, options.json);
	return execute(argv + optind);
}

const struct cmd cmd_run = {
	.name = "run",
	.summary = "run an unmodified program with the fast clock",
	.usage =
		"[OPTION...] [--] COMMAND [ARG...]\n"
		"Runs a command whose reads of its threads' own CPU time are "
		"answered by\n"
		"cpuclock: clock_gettime and getrusage(RUSAGE_THREAD).\n\n"
		"      --java         load the agent for Java too\n"
		"      --report       at the end, say how many reads were "
		"served by which path\n"
		"      --json         the report as JSON\n"
		"  -s, --source=NAME  the source that answers, best by "
		"default\n"
		"  -h, --help\n\n"
		"The exit status is the command's; 128 and the signal's number "
		"if one ended it,\n"
		"126 if it cannot be executed, 127 if it is not found.\n",
	.run = run,
};
