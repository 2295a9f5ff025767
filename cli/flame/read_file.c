/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read.h"

static int read_all(int fd, char **ret_text, size_t *ret_size)
{
	size_t size = 0, capacity = (size_t)1 << 16;
	char *text = malloc(capacity);
	ssize_t n = -1;

	while (text && (n = read(fd, text + size, capacity - size)) != 0) {
		char *larger;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		size += (size_t)n;
		if (size < capacity)
			continue;
		capacity *= 2;
		larger = realloc(text, capacity);
		if (!larger)
			free(text);
		text = larger;
	}
	if (!text)
		return -ENOMEM;
	if (n < 0) {
		int err = -errno;

		free(text);
		return err;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
}

static int64_t read_text(const char *text, size_t size,
			 const struct read_filter *filter,
			 struct profile *profile)
{
	if (size == 0)
		return profile_note(profile, "empty: the file is empty");
	if (size >= 8 && memcmp(text, "PERFILE2", 8) == 0)
		return -EMEDIUMTYPE;
	if (is_perf_script(text, size))
		return read_perf_script(text, size, filter, profile);
	if (filter->by_thread)
		return -ENODATA;
	return read_folded(text, size, filter, profile);
}

int read_file(const char *path, const struct read_filter *filter,
	      struct profile *profile)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	int64_t n_stacks;
	size_t size = 0;
	int err;

	if (fd < 0)
		return -errno;
	err = read_all(fd, &text, &size);
	if (!is_stdin)
		close(fd);
	if (err)
		return err;
	n_stacks = read_text(text, size, filter, profile);
	free(text);
	if (n_stacks < 0)
		return (int)n_stacks;
	return n_stacks == 0 && size > 0 ? -EBADMSG : 0;
}
