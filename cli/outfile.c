/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outfile.h"

static int open_directly(struct outfile *file)
{
	file->stream = fopen(file->path, "we");
	return file->stream ? 0 : -errno;
}

/* mkstemp makes files private; these are reports, as open(2) would make them.
 */
static void apply_umask(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

int outfile_open(struct outfile *file, const char *path)
{
	struct stat status;
	int fd, err;

	*file = (struct outfile){.path = path};
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return open_directly(file);
	if (access(path, F_OK) == 0 && access(path, W_OK) != 0)
		return -errno;

	if (asprintf(&file->temporary, "%s.XXXXXX", path) < 0) {
		file->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd >= 0) {
		apply_umask(fd);
		file->stream = fdopen(fd, "w");
		if (file->stream)
			return 0;
	}
	err = -errno;
	if (fd >= 0) {
		unlink(file->temporary);
		close(fd);
	}
	free(file->temporary);
	return err;
}

int outfile_commit(struct outfile *file)
{
	int err = 0;

	if (fflush(file->stream) != 0)
		err = -errno;
	else if (ferror(file->stream))
		err = -EIO;
	if (fclose(file->stream) != 0 && !err)
		err = -errno;
	file->stream = NULL;
	if (!file->temporary)
		return err;

	if (!err && rename(file->temporary, file->path) != 0)
		err = -errno;
	if (err)
		unlink(file->temporary);
	free(file->temporary);
	file->temporary = NULL;
	return err;
}

void outfile_abandon(struct outfile *file)
{
	if (file->stream)
		fclose(file->stream);
	if (file->temporary)
		unlink(file->temporary);
	free(file->temporary);
	*file = (struct outfile){0};
}
