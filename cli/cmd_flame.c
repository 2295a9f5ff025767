/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd.h"
#include "flame/diff.h"
#include "flame/flame.h"
#include "flame/options.h"
#include "flame/read.h"
#include "flame/write.h"
#include "outfile.h"

static int fail_to_read(const char *path, int err)
{
	if (err == -EBADMSG)
		return cmd_fail(&cmd_flame,
				"%s: no line is a folded stack (a;b;c COUNT), "
				"nor is it what perf script prints",
				path);
	if (err == -EMEDIUMTYPE)
		return cmd_fail(&cmd_flame,
				"%s: this is perf's own file; give what `perf "
				"script -i %s` prints",
				path, path);
	if (err == -ENODATA)
		return cmd_fail(&cmd_flame,
				"%s: folded stacks do not name threads; leave "
				"--threads out",
				path);
	if (err == -EOVERFLOW)
		return cmd_fail(&cmd_flame, "%s: the counts are too large",
				path);
	return cmd_fail(&cmd_flame, "%s: %s", path, strerror(-err));
}

static int read_one(const struct flame_command *command, const char *path,
		    bool before, struct profile *profile)
{
	const struct read_filter filter = {
		.user_only = command->flame.user_only,
		.kernel_only = command->flame.kernel_only,
		.by_thread = command->flame.by_thread,
		.before = before,
	};
	int err = read_file(path, &filter, profile);

	return err ? fail_to_read(path, err) : CMD_OK;
}

static const char *name_of(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

static int read_files(const struct flame_command *command,
		      struct profile **ret_profile)
{
	struct profile *profile = profile_new();
	struct profile_about *about;
	int status = CMD_OK;

	if (!profile)
		return cmd_fail(&cmd_flame, "out of memory");
	about = &profile->about;
	about->engine = "another program, read from a file";
	if (command->before)
		status = read_one(command, command->before, true, profile);
	if (!status)
		status = read_one(command, command->from, false, profile);
	if (!status && command->before) {
		/* Even if that has no samples. */
		profile->is_difference = true;
		if (asprintf(&about->title, "%s, compared with %s",
			     name_of(command->from),
			     name_of(command->before)) < 0)
			status = cmd_fail(&cmd_flame, "out of memory");
	} else if (!status) {
		about->title = strdup(name_of(command->from));
		if (!about->title)
			status = cmd_fail(&cmd_flame, "out of memory");
	}
	if (status)
		profile_free(profile);
	else
		*ret_profile = profile;
	return status;
}

/* Why nothing is there, of which the sampler or reader has not said more. */
static int explain_empty(struct profile *profile,
			 const struct flame_command *command)
{
	const struct flame_options *flame = &command->flame;

	if (profile->root.total > 0 || profile->root.before_total > 0 ||
	    profile->about.n_notes > 0)
		return 0;
	if (flame->user_only || flame->kernel_only)
		return profile_note(profile, "empty: no sample was taken in %s",
				    flame->user_only ? "user code"
						     : "the kernel");
	return profile_note(profile, "empty: there were no samples");
}

static int finish(struct profile *profile, const struct flame_command *command)
{
	struct profile_about *about = &profile->about;

	if (command->title) {
		free(about->title);
		about->title = strdup(command->title);
		if (!about->title)
			return -ENOMEM;
	}
	if (profile_finish(profile) != 0)
		return -ENOMEM;
	return explain_empty(profile, command);
}

static size_t terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

static int write_profile(struct profile *profile,
			 const struct flame_command *command,
			 struct outfile *file)
{
	int err = finish(profile, command);

	if (!err && command->writer)
		err = command->writer->write(profile, file->stream);
	else if (!err)
		err = write_summary(profile, stdout, terminal_width());
	return err ? cmd_fail(&cmd_flame, "out of memory") : CMD_OK;
}

/* The file is opened before the work is done that would be lost. */
static int execute(const struct flame_command *command)
{
	struct profile *profile = NULL;
	struct outfile file = {0};
	int status, err = 0;

	if (command->writer)
		err = outfile_open(&file, command->output);
	if (err)
		return cmd_fail(&cmd_flame, "%s: %s", command->output,
				strerror(-err));
	status = command->from ? read_files(command, &profile)
			       : flame_sample(&command->flame, &profile);
	if (profile) {
		status = write_profile(profile, command, &file);
		profile_free(profile);
	}
	if (!command->writer)
		return status;
	if (status) {
		outfile_abandon(&file);
		return status;
	}
	err = outfile_commit(&file);
	return err ? cmd_fail(&cmd_flame, "%s: %s", command->output,
			      strerror(-err))
		   : CMD_OK;
}

static int run(int argc, char **argv)
{
	struct flame_command command = {0};
	int status = flame_parse(argc, argv, &command);

	if (!status)
		status = execute(&command);
	flame_command_free(&command);
	return status < 0 ? CMD_OK : status;
}

const struct cmd cmd_flame = {
	.name = "flame",
	.summary = "draw where CPU time goes, as a flame graph",
	.usage =
		"[OPTION...] {-p PID,... | -t TID,... | -a | COMMAND...}\n"
		"       cpuclock flame [OPTION...] {--from=FILE | --diff "
		"BEFORE "
		"AFTER}\n"
		"Samples the CPU time of processes, threads, the machine (-a) "
		"or a command, and\n"
		"shows in which functions it went. Or reads what others have "
		"sampled: folded\n"
		"stacks, or what perf script prints.\n\n"
		"  -o, --output=FILE    written by its ending: .html, .svg, "
		".folded, .json\n"
		"                       (speedscope), .pb.gz (pprof); a text "
		"otherwise\n"
		"  -p, --pid=PID,...    all threads of processes\n"
		"  -t, --tid=TID,...    single threads\n"
		"  -a, --all            all CPUs\n"
		"  -F, --rate=HZ        samples in a second of CPU time, 99 by "
		"default\n"
		"  -d, --duration=SECONDS  how long; until the end, or Ctrl-C, "
		"by "
		"default\n"
		"      --user           samples in user code alone\n"
		"      --kernel         samples in the kernel alone\n"
		"      --threads        a root for each thread\n"
		"      --from=FILE      draw a file, - for standard input\n"
		"      --diff BEFORE AFTER  draw how a file differs from "
		"another\n"
		"      --title=TEXT     in place of the command or file\n"
		"  -h, --help\n",
	.run = run,
};
