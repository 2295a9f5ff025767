/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "slurp.h"

static bool grow(char **buffer, size_t *capacity)
{
	char *bigger = realloc(*buffer, *capacity * 2 + 1);

	if (!bigger)
		return false;
	*buffer = bigger;
	*capacity *= 2;
	return true;
}

char *slurp_fd(int fd, size_t max, size_t *ret_length)
{
	size_t length = 0, capacity = 16384;
	char *buffer = fd < 0 ? NULL : malloc(capacity + 1);
	ssize_t n = -1;

	while (buffer && length < max) {
		size_t room;

		if (length == capacity && !grow(&buffer, &capacity)) {
			n = -1;
			break;
		}
		room = capacity - length < max - length ? capacity - length
							: max - length;
		n = read(fd, buffer + length, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (!buffer || n < 0) {
		free(buffer);
		return NULL;
	}
	buffer[length] = '\0';
	*ret_length = length;
	return buffer;
}

char *slurp(const char *path, size_t max, size_t *ret_length)
{
	return slurp_fd(open(path, O_RDONLY | O_CLOEXEC), max, ret_length);
}
