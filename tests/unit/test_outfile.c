/* SPDX-License-Identifier: MIT */
/* cli/outfile: whole or not at all, and nothing else in the folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "outfile.h"
#include "support.h"

/* A folder for each test; files are named in it, as it is where we are. */
static char folder[] = "/tmp/cpuclock-outfile-XXXXXX";
static int old_folder = -1;

static int enter_folder(void **state)
{
	(void)state;
	strcpy(folder + sizeof(folder) - sizeof("XXXXXX"), "XXXXXX");
	old_folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	umask(022);
	return old_folder < 0 || !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

/* How many entries a folder has, but for "." and "..". */
static size_t count_entries(const char *path, bool unlink_all)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		count++;
		if (unlink_all)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
	return count;
}

static int leave_folder(void **state)
{
	(void)state;
	count_entries(".", true);
	if (fchdir(old_folder))
		return -1;
	close(old_folder);
	return rmdir(folder);
}

static void assert_file(const char *path, const char *expected)
{
	char text[256] = "";
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text) - 1, file),
			 strlen(expected));
	fclose(file);
	assert_string_equal(text, expected);
}

static void make_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int write_file(const char *path, const char *text)
{
	struct outfile file;
	int r;

	r = outfile_open(&file, path);
	if (r)
		return r;
	fputs(text, file.stream);
	return outfile_commit(&file);
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void committed_file_is_there_and_alone(void **state)
{
	(void)state;
	assert_int_equal(write_file("out", "new"), 0);
	assert_file("out", "new");
	assert_int_equal(count_entries(".", false), 1);
	assert_int_equal(write_file("empty", ""), 0);
	assert_file("empty", "");
}

static void file_is_not_there_before_it_is_whole(void **state)
{
	struct outfile file;

	(void)state;
	assert_int_equal(outfile_open(&file, "out"), 0);
	fputs("half of", file.stream);
	fflush(file.stream);
	assert_false(exists("out"));
	fputs(" it", file.stream);
	assert_int_equal(outfile_commit(&file), 0);
	assert_file("out", "half of it");
}

static void old_file_stands_until_the_new_one_is_whole(void **state)
{
	struct outfile file;

	(void)state;
	make_file("out", "old");
	assert_int_equal(outfile_open(&file, "out"), 0);
	fputs("new", file.stream);
	fflush(file.stream);
	assert_file("out", "old");
	assert_int_equal(outfile_commit(&file), 0);
	assert_file("out", "new");
	assert_int_equal(count_entries(".", false), 1);
}

static void abandoned_file_leaves_the_old_one(void **state)
{
	struct outfile file;

	(void)state;
	make_file("out", "old");
	assert_int_equal(outfile_open(&file, "out"), 0);
	fputs("new", file.stream);
	outfile_abandon(&file);
	assert_file("out", "old");
	assert_int_equal(count_entries(".", false), 1);

	assert_int_equal(outfile_open(&file, "none"), 0);
	fputs("new", file.stream);
	outfile_abandon(&file);
	assert_int_equal(count_entries(".", false), 1);
}

/* Where the file system has files without a name. */
static void nothing_is_left_of_a_writer_that_is_killed(void **state)
{
	int probe = open(".", O_TMPFILE | O_WRONLY, 0600);
	struct outfile file;
	pid_t pid;

	(void)state;
	if (probe < 0)
		skip_because("no file without a name can be made here");
	close(probe);
	make_file("out", "old");
	pid = fork();
	if (pid == 0) {
		if (outfile_open(&file, "out") == 0 &&
		    fputs("new", file.stream) >= 0)
			fflush(file.stream);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_file("out", "old");
	assert_int_equal(count_entries(".", false), 1);
}

static void folder_that_is_not_there_is_found_at_once(void **state)
{
	struct outfile file;

	(void)state;
	assert_int_equal(outfile_open(&file, "no/out"), -ENOENT);
	make_file("file", "");
	assert_int_equal(outfile_open(&file, "file/out"), -ENOTDIR);
	assert_int_equal(count_entries(".", false), 1);
}

/* As a user whom the folder does not belong to; root may write anywhere. */
static void folder_that_cannot_be_written_is_found_at_once(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(chmod(".", 0555), 0);
	pid = fork();
	if (!pid) {
		struct outfile file;

		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(77);
		_exit(outfile_open(&file, "out") == -EACCES ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(".", 0755), 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip_because("root cannot become another user here");
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(count_entries(".", false), 0);
}

static void folder_is_no_file(void **state)
{
	struct outfile file;
	int r;

	(void)state;
	assert_int_equal(mkdir("dir", 0755), 0);
	r = outfile_open(&file, "dir");
	if (!r)
		r = outfile_commit(&file);
	assert_int_equal(r, -EISDIR);
	assert_int_equal(rmdir("dir"), 0);
	assert_int_equal(count_entries(".", false), 0);
}

static void permissions_are_those_of_any_new_file(void **state)
{
	static const mode_t masks[] = {022, 027, 077, 002, 0};
	struct stat st;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		umask(masks[i]);
		assert_int_equal(write_file("out", "new"), 0);
		assert_int_equal(stat("out", &st), 0);
		assert_int_equal(st.st_mode & 07777, 0666 & ~masks[i]);
		/* To ask for the mask is to set it: it must be back. */
		assert_int_equal(umask(022), masks[i]);
		assert_int_equal(unlink("out"), 0);
	}
}

static void write_error_leaves_the_old_file_and_nothing_new(void **state)
{
	const struct rlimit small = {4096, RLIM_INFINITY};
	struct rlimit before;
	struct outfile file;
	int i, r;

	(void)state;
	make_file("out", "old");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(outfile_open(&file, "out"), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (i = 0; i < 10000; i++)
		fprintf(file.stream, "line %d\n", i);
	r = outfile_commit(&file);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	assert_file("out", "old");
	assert_int_equal(count_entries(".", false), 1);
}

/* The last of it is written by commit itself. */
static void write_error_at_the_end_leaves_the_old_file(void **state)
{
	const struct rlimit none = {0, RLIM_INFINITY};
	struct rlimit before;
	struct outfile file;
	int r;

	(void)state;
	make_file("out", "old");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(outfile_open(&file, "out"), 0);
	fputs("new", file.stream);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	r = outfile_commit(&file);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	assert_file("out", "old");
	assert_int_equal(count_entries(".", false), 1);
}

/* Memory or disk may have come free by the time that the rest is written. */
static void write_error_in_the_middle_is_not_forgotten(void **state)
{
	const struct rlimit small = {4096, RLIM_INFINITY};
	struct rlimit before;
	struct outfile file;
	int i;

	(void)state;
	make_file("out", "old");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(outfile_open(&file, "out"), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (i = 0; i < 10000; i++)
		fprintf(file.stream, "line %d\n", i);
	fflush(file.stream);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	fputs("and the rest\n", file.stream);
	assert_true(outfile_commit(&file) < 0);
	assert_file("out", "old");
	assert_int_equal(count_entries(".", false), 1);
}

static void full_device_is_an_error(void **state)
{
	struct stat st;

	(void)state;
	if (stat("/dev/full", &st))
		skip_because("there is no /dev/full");
	assert_int_equal(write_file("/dev/full", "new"), -ENOSPC);
	assert_int_equal(stat("/dev/full", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void pipe_is_written_directly(void **state)
{
	char text[8] = "";
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	fd = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_file("pipe", "new"), 0);
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	assert_string_equal(text, "new");
	close(fd);
	assert_int_equal(lstat("pipe", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(count_entries(".", false), 1);
}

static void abandoned_pipe_is_still_there(void **state)
{
	struct outfile file;
	int fd;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	fd = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(outfile_open(&file, "pipe"), 0);
	outfile_abandon(&file);
	close(fd);
	assert_true(exists("pipe"));
}

static void link_is_followed(void **state)
{
	struct stat st;

	(void)state;
	make_file("target", "old");
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(write_file("link", "new"), 0);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_file("target", "new");
	assert_int_equal(count_entries(".", false), 2);
}

static void abandoned_link_leaves_its_target(void **state)
{
	struct outfile file;

	(void)state;
	make_file("target", "old");
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(outfile_open(&file, "link"), 0);
	fputs("new", file.stream);
	outfile_abandon(&file);
	assert_file("link", "old");
	assert_int_equal(count_entries(".", false), 2);
}

/* The temporary file must be where the target is: rename(2) needs it there. */
static void link_into_another_folder_is_followed(void **state)
{
	(void)state;
	assert_int_equal(mkdir("dir", 0755), 0);
	assert_int_equal(symlink("dir/target", "link"), 0);
	make_file("dir/target", "old");
	assert_int_equal(write_file("link", "new"), 0);
	assert_file("dir/target", "new");
	assert_int_equal(count_entries(".", false), 2);
	assert_int_equal(count_entries("dir", true), 1);
	assert_int_equal(rmdir("dir"), 0);
}

static void link_to_nothing_leads_to_the_new_text(void **state)
{
	(void)state;
	assert_int_equal(symlink("nothing", "link"), 0);
	assert_int_equal(write_file("link", "new"), 0);
	assert_file("nothing", "new");
	assert_file("link", "new");
}

static void link_to_itself_is_an_error(void **state)
{
	struct outfile file;
	int r;

	(void)state;
	assert_int_equal(symlink("link", "link"), 0);
	r = outfile_open(&file, "link");
	if (!r)
		r = outfile_commit(&file);
	assert_int_equal(r, -ELOOP);
	assert_int_equal(count_entries(".", false), 1);
}

static void link_to_a_device_is_written_directly(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(symlink("/dev/null", "link"), 0);
	assert_int_equal(write_file("link", "new"), 0);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(count_entries(".", false), 1);
}

static void longest_name_may_be_used(void **state)
{
	char name[NAME_MAX + 2];
	struct outfile file;

	(void)state;
	/* As long as leaves room for a suffix, and no longer. */
	memset(name, 'x', sizeof(name));
	name[NAME_MAX - 20] = '\0';
	assert_int_equal(write_file(name, "new"), 0);
	assert_file(name, "new");
	name[NAME_MAX - 20] = 'x';
	name[NAME_MAX + 1] = '\0';
	assert_int_equal(outfile_open(&file, name), -ENAMETOOLONG);
	assert_int_equal(count_entries(".", false), 1);
}

static void two_may_write_the_same_file_at_once(void **state)
{
	struct outfile first, second;

	(void)state;
	assert_int_equal(outfile_open(&first, "out"), 0);
	assert_int_equal(outfile_open(&second, "out"), 0);
	fputs("first", first.stream);
	fputs("second", second.stream);
	assert_int_equal(outfile_commit(&first), 0);
	assert_file("out", "first");
	assert_int_equal(outfile_commit(&second), 0);
	assert_file("out", "second");
	assert_int_equal(count_entries(".", false), 1);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(committed_file_is_there_and_alone),
		TEST(file_is_not_there_before_it_is_whole),
		TEST(old_file_stands_until_the_new_one_is_whole),
		TEST(abandoned_file_leaves_the_old_one),
		TEST(nothing_is_left_of_a_writer_that_is_killed),
		TEST(folder_that_is_not_there_is_found_at_once),
		TEST(folder_that_cannot_be_written_is_found_at_once),
		TEST(folder_is_no_file),
		TEST(permissions_are_those_of_any_new_file),
		TEST(write_error_leaves_the_old_file_and_nothing_new),
		TEST(write_error_at_the_end_leaves_the_old_file),
		TEST(write_error_in_the_middle_is_not_forgotten),
		TEST(full_device_is_an_error),
		TEST(pipe_is_written_directly),
		TEST(abandoned_pipe_is_still_there),
		TEST(link_is_followed),
		TEST(abandoned_link_leaves_its_target),
		TEST(link_into_another_folder_is_followed),
		TEST(link_to_nothing_leads_to_the_new_text),
		TEST(link_to_itself_is_an_error),
		TEST(link_to_a_device_is_written_directly),
		TEST(longest_name_may_be_used),
		TEST(two_may_write_the_same_file_at_once),
	};

	return cmocka_run_group_tests_name("outfile", tests, NULL, NULL);
}
