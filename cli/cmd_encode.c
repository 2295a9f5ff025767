/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

#include "clockid.h"
#include "clockid_text.h"
#include "cmd.h"

#define FD_LIMIT 0xfffffff

static int refuse_id(const char *text)
{
	int64_t value;

	if (cmd_parse_number(text, -1, -1, &value))
		return cmd_usage(
			&cmd_encode,
			"-1 would come out as a fixed clock, such as 6, "
			"CLOCK_MONOTONIC_COARSE: give 0 (the caller) "
			"to 4194304");
	return cmd_usage(&cmd_encode, "'%s' is not 0 (the caller) to 4194304",
			 text);
}

static int parse_encode(int argc, char **argv, struct cpuclock_clockid *id,
			bool *ret_json)
{
	static const struct option options[] = {
		{"pid", required_argument, NULL, 'p'},
		{"tid", required_argument, NULL, 't'},
		{"fd", required_argument, NULL, 'f'},
		{"type", required_argument, NULL, 'y'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	bool typed = false;
	bool device = false;
	int targets = 0;
	int64_t value = 0;
	int option;

	while ((option = getopt_long(argc, argv, ":p:t:h", options, NULL)) !=
	       -1) {
		switch (option) {
		case 'p':
		case 't':
			id->per_thread = option == 't';
			if (!cmd_parse_number(optarg, 0, CPUCLOCK__PID_MAX,
					      &value))
				return refuse_id(optarg);
			targets++;
			break;
		case 'f':
			if (!cmd_parse_number(optarg, 0, FD_LIMIT, &value))
				return cmd_usage(&cmd_encode,
						 "'%s' is no file descriptor",
						 optarg);
			device = true;
			targets++;
			break;
		case 'y':
			if (!clockid_parse_type(optarg, &id->type))
				return cmd_usage(&cmd_encode,
						 "no type '%s' (sched, virt, "
						 "prof)",
						 optarg);
			typed = true;
			break;
		case 'j':
			*ret_json = true;
			break;
		case 'h':
			cmd_help(&cmd_encode);
			return -1;
		default:
			return cmd_bad_option(&cmd_encode, option, argv);
		}
	}
	if (optind < argc)
		return cmd_usage(&cmd_encode, "unexpected argument '%s'",
				 argv[optind]);
	if (targets != 1 || (typed && device))
		return cmd_usage(&cmd_encode,
				 "give one of --pid, --tid and --fd%s",
				 typed ? ", and no --type with --fd" : "");
	if (device)
		id->type = CPUCLOCK_ID_FD;
	id->value = (int32_t)value;
	return CMD_OK;
}

static int run_encode(int argc, char **argv)
{
	struct cpuclock_clockid id = {.type = CPUCLOCK_ID_SCHED};
	bool as_json = false;
	clockid_t clockid;
	int status = parse_encode(argc, argv, &id, &as_json);

	if (status)
		return status < 0 ? CMD_OK : status;
	status = cpuclock_clockid_encode(&id, &clockid);
	if (status)
		return cmd_fail(&cmd_encode, "%s", strerror(-status));
	if (as_json)
		clockid_explain_json(clockid);
	else
		clockid_explain(clockid);
	return CMD_OK;
}

const struct cmd cmd_encode = {
	.name = "encode",
	.summary = "build a clockid_t from a PID, TID or descriptor",
	.usage =
		"(-p PID | -t TID | --fd FD) [--type TYPE] [--json]\n"
		"Builds the clock id of a process, a thread or an open device, "
		"and explains it.\n\n"
		"  -p, --pid=PID    process; 0 is the caller's own\n"
		"  -t, --tid=TID    thread; 0 is the caller itself\n"
		"      --fd=FD      descriptor of a device such as /dev/ptp0\n"
		"      --type=TYPE  sched (default), virt, prof\n"
		"      --json       print JSON\n"
		"  -h, --help       print this help\n",
	.run = run_encode,
};
