/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "utf8.h"

static const struct cmd *const commands[] = {
	&cmd_info,   &cmd_read,	 &cmd_stat,  &cmd_flame, &cmd_decode,
	&cmd_encode, &cmd_bench, &cmd_check, &cmd_run,	 NULL,
};

/* What is longer is cut. */
#define MESSAGE_SIZE 1024

/*
 * One line, whatever it quotes: control characters and what is not UTF-8 are
 * shown as \xHH.
 */
static void say(const struct cmd *cmd, const char *text, const char *hint)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t rest = strlen(text);

	fprintf(stderr, "cpuclock%s%s: ", cmd ? " " : "", cmd ? cmd->name : "");
	while (rest > 0) {
		size_t length = utf8_length(p, rest);

		/* U+0080 to U+009F, two bytes from 0xc2 on, are controls. */
		if (length == 0 || *p < 0x20 || *p == 0x7f ||
		    (length == 2 && *p == 0xc2 && p[1] < 0xa0)) {
			fprintf(stderr, "\\x%02x", *p);
			length = 1;
		} else {
			fwrite(p, 1, length, stderr);
		}
		p += length;
		rest -= length;
	}
	fprintf(stderr, "%s\n", hint);
}

int cmd_fail(const struct cmd *cmd, const char *format, ...)
{
	char text[MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say(cmd, text, "");
	return CMD_FAILURE;
}

int cmd_usage(const struct cmd *cmd, const char *format, ...)
{
	char text[MESSAGE_SIZE];
	char hint[64];
	va_list args;

	snprintf(hint, sizeof(hint), "; see 'cpuclock%s%s --help'",
		 cmd ? " " : "", cmd ? cmd->name : "");
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say(cmd, text, hint);
	return CMD_USAGE;
}

int cmd_bad_option(const struct cmd *cmd, int result, char **argv)
{
	const char *given = argv[optind - 1];

	if (result == ':')
		return cmd_usage(cmd, "option '%s' needs a value", given);
	/* optopt is 0 for an unknown long option, the letter of a short one. */
	if (optopt == 0)
		return cmd_usage(cmd, "unknown or ambiguous option '%s'",
				 given);
	if (strncmp(given, "--", 2) == 0 && strchr(given, '='))
		return cmd_usage(cmd, "option '%s' takes no value", given);
	return cmd_usage(cmd, "unknown option '-%c'", optopt);
}

int cmd_help(const struct cmd *cmd)
{
	printf("Usage: cpuclock %s %s", cmd->name, cmd->usage);
	return CMD_OK;
}

bool cmd_parse_number(const char *text, int64_t min, int64_t max,
		      int64_t *ret_value)
{
	char *end;
	long long value;

	if (*text != '-' && (*text < '0' || *text > '9'))
		return false;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}

static void print_help(FILE *stream)
{
	fputs("Usage: cpuclock COMMAND [OPTION...]\n"
	      "How much CPU time has this thread used?\n\n"
	      "Commands:\n",
	      stream);
	for (size_t i = 0; commands[i]; i++)
		fprintf(stream, "  %-8s %s\n", commands[i]->name,
			commands[i]->summary);
	fputs("\n  --help, --version\n\n"
	      "'cpuclock COMMAND --help' explains a command; cpuclock(1) "
	      "all.\n",
	      stream);
}

static const struct cmd *find(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	const struct cmd *cmd;

	if (argc < 2)
		return cmd_usage(NULL, "which command?");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return CMD_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("cpuclock " CPUCLOCK_VERSION);
		return CMD_OK;
	}
	cmd = find(argv[1]);
	if (!cmd) {
		return cmd_usage(NULL, "there is no command '%s'", argv[1]);
	}
	opterr = 0;
	return cmd->run(argc - 1, argv + 1);
}

static sighandler_t old_sigpipe;

void cmd_restore_sigpipe(void)
{
	signal(SIGPIPE, old_sigpipe);
}

/*
 * A file opened while descriptors 0 to 2 are free would become standard output.
 * With /dev/null in their place, and open for reading only, writes fail.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
}

/* The errno of the first write that failed, where it is known. */
static int write_error;

bool cmd_flush(void)
{
	if (fflush(stdout) == 0)
		return true;
	if (!write_error)
		write_error = errno;
	return false;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	bool failed;
	int status;

	occupy_standard_descriptors();
	/* A reader that went away is a write error like a full disk. */
	old_sigpipe = signal(SIGPIPE, SIG_IGN);
	/* All is written at the end, where the errno is not lost. */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));

	status = run(argc, argv);
	/* The errno of a write that failed in between is lost. */
	failed = ferror(stdout) != 0;
	errno = 0;
	if (fclose(stdout) != 0 || failed) {
		int err = write_error ? write_error : errno;

		fprintf(stderr,
			"cpuclock: cannot write to standard output: %s\n",
			err ? strerror(err) : "a write failed");
		return CMD_FAILURE;
	}
	return status;
}
