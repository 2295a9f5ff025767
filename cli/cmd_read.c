/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clockid.h"
#include "cmd.h"
#include "json.h"
#include "words.h"

struct request {
	enum cpuclock_target target;
	int64_t pid;
	int64_t tid;
	enum cpuclock_kind kind;
	const char *source;
	bool json;
};

static pid_t id_of(const struct request *request)
{
	switch (request->target) {
	case CPUCLOCK_SELF:
		return 0;
	case CPUCLOCK_PROCESS:
		return (pid_t)request->pid;
	default:
		return (pid_t)request->tid;
	}
}

static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"pid", required_argument, NULL, 'p'},
		{"tid", required_argument, NULL, 't'},
		{"kind", required_argument, NULL, 'k'},
		{"source", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, ":p:t:k:s:h", options,
				     NULL)) != -1) {
		switch (option) {
		case 'p':
			if (!cmd_parse_number(optarg, 1, CPUCLOCK__PID_MAX,
					      &request->pid))
				return cmd_usage(
					&cmd_read,
					"'%s' is no PID (1 to 4194304)",
					optarg);
			break;
		case 't':
			if (!cmd_parse_number(optarg, 1, CPUCLOCK__PID_MAX,
					      &request->tid))
				return cmd_usage(
					&cmd_read,
					"'%s' is no TID (1 to 4194304)",
					optarg);
			break;
		case 'k':
			if (!parse_kind(optarg, &request->kind))
				return cmd_usage(&cmd_read,
						 "no kind '%s' (total, user, "
						 "system, ticks)",
						 optarg);
			break;
		case 's':
			request->source = optarg;
			break;
		case 'j':
			request->json = true;
			break;
		case 'h':
			cmd_help(&cmd_read);
			return -1;
		default:
			return cmd_bad_option(&cmd_read, option, argv);
		}
	}
	if (optind < argc)
		return cmd_usage(&cmd_read, "unexpected argument '%s'",
				 argv[optind]);
	return CMD_OK;
}

/* Completes what the options left open. */
static int resolve(struct request *request)
{
	struct cpuclock_source_info info;
	const char *forced = getenv("CPUCLOCK_SOURCE");
	const char *origin = "--source";

	if (!request->source && forced && *forced) {
		request->source = forced;
		origin = "CPUCLOCK_SOURCE";
	}
	if (request->source && strcmp(request->source, "best") == 0)
		request->source = NULL;
	if (request->source && cpuclock_source_info(request->source, &info))
		return cmd_usage(&cmd_read, "%s: no source '%s' (best %s)",
				 origin, request->source, source_words());

	if (request->tid)
		request->target = CPUCLOCK_FOREIGN;
	else if (request->pid)
		request->target = CPUCLOCK_PROCESS;
	else
		request->target = CPUCLOCK_SELF;
	return CMD_OK;
}

/* With both -p and -t, the thread must be one of the process. */
static bool is_member(const struct request *request)
{
	if (!request->pid || !request->tid)
		return true;
	/* Signal 0 only asks; a refusal means that there is such a thread. */
	return syscall(SYS_tgkill, (int)request->pid, (int)request->tid, 0) ==
		       0 ||
	       errno != ESRCH;
}

static void print(const struct request *request, const char *source,
		  int64_t time_ns)
{
	int64_t resolution_ns =
		cpuclock_source_resolution(source, request->kind);
	char resolution[32];

	if (request->json) {
		struct json json = {.stream = stdout};

		json_begin_object(&json, NULL);
		json_string(&json, "target",
			    request->target == CPUCLOCK_FOREIGN
				    ? "thread"
				    : target_words[request->target]);
		json_integer(&json, "id", id_of(request));
		json_string(&json, "kind", kind_words[request->kind]);
		json_integer(&json, "time_ns", time_ns);
		if (resolution_ns < 0)
			json_null(&json, "resolution_ns");
		else
			json_integer(&json, "resolution_ns", resolution_ns);
		json_string(&json, "source", source);
		json_end_object(&json);
		return;
	}

	if (resolution_ns < 0)
		snprintf(resolution, sizeof(resolution), "unknown");
	else
		format_ns(resolution, sizeof(resolution),
			  (double)resolution_ns);
	printf("%" PRId64 " ns %s CPU time of ", time_ns,
	       kind_words[request->kind]);
	if (request->target == CPUCLOCK_SELF)
		printf("this thread");
	else
		printf("%s %d", request->tid ? "thread" : "process",
		       (int)id_of(request));
	printf(" (source %s, resolution %s)\n", source, resolution);
}

static int run(int argc, char **argv)
{
	struct request request = {.kind = CPUCLOCK_TOTAL};
	struct cpuclock *clock = NULL;
	int64_t result;
	int status = parse(argc, argv, &request);

	if (status)
		return status < 0 ? CMD_OK : status;
	status = resolve(&request);
	if (status)
		return status;
	if (!is_member(&request))
		return cmd_fail(&cmd_read, "process %d has no thread %d",
				(int)request.pid, (int)request.tid);

	result = cpuclock_open(request.target, id_of(&request), request.kind,
			       request.source, &clock);
	if (result == 0)
		result = cpuclock_read(clock);
	if (result < 0) {
		char why[256];

		describe_error(why, sizeof(why), (int)result, request.target,
			       id_of(&request), request.source, request.kind);
		cpuclock_close(clock);
		return cmd_fail(&cmd_read, "%s", why);
	}
	print(&request, cpuclock_clock_source(clock), result);
	cpuclock_close(clock);
	return CMD_OK;
}

const struct cmd cmd_read = {
	.name = "read",
	.summary = "read one CPU clock",
	.usage =
		"[-p PID] [-t TID] [OPTION...]\n"
		"Reads the CPU time of a process (-p), of a thread (-t), or of "
		"this command.\n\n"
		"  -p, --pid=PID      process; with -t, the thread must be one "
		"of it\n"
		"  -t, --tid=TID      thread, of any process\n"
		"  -k, --kind=KIND    total (default), user, system, ticks\n"
		"  -s, --source=NAME  best (default), fast, taskclock, self, "
		"posix, rusage,\n"
		"                     schedstat, proc; or by the environment, "
		"as\n"
		"                     CPUCLOCK_SOURCE=NAME\n"
		"      --json         print JSON\n"
		"  -h, --help         print this help\n",
	.run = run,
};
