/* SPDX-License-Identifier: MIT */
#include "cmd.h"
#include "stat/stat.h"

static int run(int argc, char **argv)
{
	struct stat_options options;
	int status = stat_parse(argc, argv, &options);

	if (!status)
		status = stat_run(&options);
	stat_free_options(&options);
	return status < 0 ? CMD_OK : status;
}

const struct cmd cmd_stat = {
	.name = "stat",
	.summary = "show which threads use the CPU",
	.usage =
		"[OPTION...] {-p PID,... | --name=NAME | --all}\n"
		"       cpuclock stat [OPTION...] [--] COMMAND [ARG...]\n"
		"Shows how much CPU time each thread has used, and in user "
		"mode or in the kernel:\n"
		"of a command until it ends, or of processes that run already, "
		"for one second.\n\n"
		"  -p, --pid=PID,...       these processes\n"
		"      --name=NAME         processes of this name; can be "
		"given "
		"again\n"
		"  -a, --all               all processes\n"
		"  -d, --duration=SECONDS  look for so long; 1 by default\n"
		"  -w, --wait              until all of them have exited, or "
		"Ctrl-C\n"
		"  -i, --interval=SECONDS  a report as often as that, until "
		"then\n"
		"  -c, --count=N           so many of these reports\n"
		"      --by=WORD           a row for each thread (default), "
		"process, name, state\n"
		"      --sort=WORD         total (default), user, system, "
		"wait, "
		"switches, name,\n"
		"                          pid, tid\n"
		"      --top=N             so many rows and the sum of the "
		"others; 0: all.\n"
		"                          Text: 20 by default, else all\n"
		"  -s, --source=NAME       best (default), bpf, bpf-iter, "
		"proc; or by the\n"
		"                          environment, as CPUCLOCK_SOURCE="
		"NAME\n"
		"      --json[=FILE]       JSON, into FILE if given\n"
		"      --csv[=FILE]        comma-separated values\n"
		"  -h, --help\n\n"
		"The report on a command goes to standard error, and the exit "
		"status is the\n"
		"command's; 128 and the signal's number if one ended it, 126 "
		"if "
		"it cannot be\n"
		"executed, 127 if it is not found.\n",
	.run = run,
};
