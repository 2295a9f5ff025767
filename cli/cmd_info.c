/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/timer.h"
#include "cmd.h"
#include "info.h"

static void gather(struct info *info)
{
	memset(info, 0, sizeof(*info));
	machine_get(&info->machine);
	probe_accounting(&info->accounting);
	probe_perf(&info->perf);
	probe_rseq(&info->rseq);
	info->cycles = cpuclock__cycles_usable();
	if (!read_line("/sys/devices/system/cpu/nohz_full", info->nohz_full,
		       sizeof(info->nohz_full)) ||
	    strcmp(info->nohz_full, "(null)") == 0)
		info->nohz_full[0] = '\0';
}

void describe_perf(const struct perf_state *perf, char *text, size_t size)
{
	char paranoid[48] = "";

	if (perf->paranoid != PARANOID_UNKNOWN)
		snprintf(paranoid, sizeof(paranoid),
			 ", kernel.perf_event_paranoid is %d", perf->paranoid);
	switch (perf->error) {
	case 0:
		snprintf(text, size,
			 "own threads may be measured%s; cap_user_time is %d",
			 paranoid, perf->cap_user_time);
		break;
	case -EACCES:
	case -EPERM:
		snprintf(text, size, "denied (%s)%s",
			 perf->error == -EACCES ? "EACCES" : "EPERM", paranoid);
		break;
	case -ENOSYS:
		snprintf(text, size, "the kernel or a seccomp filter has none");
		break;
	default:
		snprintf(text, size, "%s%s", strerror(-perf->error), paranoid);
	}
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	bool as_json = false;
	struct info info;
	int option;

	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option == 'h')
			return cmd_help(&cmd_info);
		if (option != 'j')
			return cmd_bad_option(&cmd_info, option, argv);
		as_json = true;
	}
	if (optind < argc)
		return cmd_usage(&cmd_info, "unexpected argument '%s'",
				 argv[optind]);
	gather(&info);
	if (as_json)
		info_print_json(&info);
	else if (!info_print(&info))
		return cmd_fail(&cmd_info, "out of memory");
	return CMD_OK;
}

const struct cmd cmd_info = {
	.name = "info",
	.summary = "show what this machine offers",
	.usage = "[--json]\n"
		 "Shows how this kernel accounts CPU time, which sources work "
		 "here and why\n"
		 "others do not, and what the library uses.\n\n"
		 "      --json  print JSON\n"
		 "  -h, --help  print this help\n",
	.run = run,
};
