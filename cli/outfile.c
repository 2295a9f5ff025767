/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outfile.h"

/* A descriptor's name may lead to a file, but means what is open there. */
static bool is_device(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 ||
	       strncmp(path, "/proc/", 6) == 0;
}

/* So large that all is written at the end, where the errno is not lost. Without
 * memory for it, it is. */
#define BUFFER_SIZE (16 << 20)

/* Of a temporary name: ".XXXXXX". */
#define SUFFIX 7

static void set_buffer(struct outfile *file)
{
	file->buffer = malloc(BUFFER_SIZE);
	if (file->buffer)
		setvbuf(file->stream, file->buffer, _IOFBF, BUFFER_SIZE);
}

static int open_directly(struct outfile *file)
{
	file->stream = fopen(file->path, "we");
	if (!file->stream)
		return -errno;
	set_buffer(file);
	return 0;
}

/* mkstemp makes files private: a new one gets the mode that open(2) would give,
 * one in place of another that of the other. */
static void set_mode(int fd, const char *path)
{
	struct stat status;
	mode_t mask;

	if (stat(path, &status) == 0) {
		fchmod(fd, status.st_mode & 07777);
		return;
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

/* Where the file is to be: text before the last '/'. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/")
			     : strndup(path, (size_t)(slash - path));
}

/*
 * Without a name nothing is left of it, whatever ends this process. Not every
 * file system has such files; to name one later takes /proc.
 */
static bool open_unnamed(struct outfile *file)
{
	char *folder = folder_of(file->path);
	int fd = -1;

	/* What could not be named is to be found now. */
	if (folder && strlen(basename(file->path)) + SUFFIX <= NAME_MAX &&
	    access("/proc/self/fd", X_OK) == 0)
		fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	free(folder);
	if (fd < 0)
		return false;
	set_mode(fd, file->path);
	file->stream = fdopen(fd, "w");
	if (!file->stream) {
		close(fd);
		return false;
	}
	file->unnamed = true;
	set_buffer(file);
	return true;
}

static int open_temporary(struct outfile *file)
{
	int fd, err;

	if (open_unnamed(file))
		return 0;
	if (asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
		file->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd >= 0) {
		set_mode(fd, file->path);
		file->stream = fdopen(fd, "w");
		if (file->stream) {
			set_buffer(file);
			return 0;
		}
	}
	err = -errno;
	if (fd >= 0) {
		unlink(file->temporary);
		close(fd);
	}
	return err;
}

static void release(struct outfile *file)
{
	free(file->buffer);
	free(file->temporary);
	free(file->path);
	*file = (struct outfile){0};
}

int outfile_open(struct outfile *file, const char *path)
{
	struct stat status;
	bool exists = stat(path, &status) == 0;
	bool dangles = !exists && lstat(path, &status) == 0;
	int err;

	*file = (struct outfile){.path = exists ? realpath(path, NULL)
						: strdup(path)};
	if (!file->path)
		return -errno;
	if (exists && S_ISREG(status.st_mode) && access(path, W_OK) != 0)
		err = -errno;
	else if (dangles || is_device(path) ||
		 (exists && !S_ISREG(status.st_mode)))
		err = open_directly(file);
	else
		err = open_temporary(file);
	if (err)
		release(file);
	return err;
}

/* Only a rename puts one file in the place of another. */
static int name_it(struct outfile *file)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(file->stream));
	for (int i = 0; i < 100; i++) {
		unsigned int number =
			((unsigned int)getpid() * 100U + (unsigned int)i) &
			0xffffff;

		/* No longer than mkostemp makes it. */
		if (asprintf(&file->temporary, "%s.%06x", file->path, number) <
		    0) {
			file->temporary = NULL;
			return -ENOMEM;
		}
		if (linkat(AT_FDCWD, link, AT_FDCWD, file->temporary,
			   AT_SYMLINK_FOLLOW) == 0)
			return 0;
		free(file->temporary);
		file->temporary = NULL;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int outfile_commit(struct outfile *file)
{
	int err = 0;

	if (fflush(file->stream) != 0)
		err = -errno;
	else if (ferror(file->stream))
		err = -EIO;
	if (!err && file->unnamed)
		err = name_it(file);
	if (fclose(file->stream) != 0 && !err)
		err = -errno;
	if (file->temporary) {
		if (!err && rename(file->temporary, file->path) != 0)
			err = -errno;
		if (err)
			unlink(file->temporary);
	}
	release(file);
	return err;
}

void outfile_abandon(struct outfile *file)
{
	if (file->stream)
		fclose(file->stream);
	if (file->temporary)
		unlink(file->temporary);
	release(file);
}
