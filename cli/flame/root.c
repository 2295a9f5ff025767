/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "root.h"

static bool is_same(const struct root *a, const struct root *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       strcmp(a->mounts, b->mounts) == 0;
}

static bool look(struct root *root, pid_t pid)
{
	char path[64];
	struct stat stat;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	length = readlink(path, root->mounts, sizeof(root->mounts) - 1);
	if (length < 0)
		return false;
	root->mounts[length] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->fd < 0)
		return false;
	if (fstat(root->fd, &stat) != 0) {
		close(root->fd);
		return false;
	}
	root->device = stat.st_dev;
	root->inode = stat.st_ino;
	return true;
}

struct root *root_of(struct root **roots, pid_t pid)
{
	struct root found = {0};
	struct root *root;

	if (!look(&found, pid))
		return NULL;
	for (root = *roots; root; root = root->next) {
		if (is_same(root, &found)) {
			close(found.fd);
			return root;
		}
	}
	root = malloc(sizeof(*root));
	if (!root) {
		close(found.fd);
		return NULL;
	}
	*root = found;
	root->next = *roots;
	*roots = root;
	return root;
}

void root_free_all(struct root **roots)
{
	while (*roots) {
		struct root *root = *roots;

		*roots = root->next;
		close(root->fd);
		free(root);
	}
}

/*
 * openat2(2) with RESOLVE_IN_ROOT, since Linux 5.6: without it a link in a
 * container could lead to a file out here, so there the file is not read.
 */
static int open_below(int root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/*
 * A place becomes a file to read. To open a device or a FIFO can act on it, so
 * what it is was asked for before. Takes the place over.
 */
static int open_place(int place)
{
	char path[32];
	struct stat stat;
	int fd = -EINVAL;

	if (fstat(place, &stat) != 0) {
		fd = -errno;
	} else if (S_ISLNK(stat.st_mode)) {
		fd = -ELOOP;
	} else if (S_ISREG(stat.st_mode)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0)
			fd = -errno;
	}
	close(place);
	return fd;
}

int root_open(const struct root *root, const char *path, bool follow)
{
	int flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	int place;

	if (root) {
		place = open_below(root->fd, path, (uint64_t)flags);
	} else {
		place = open(path, flags);
		if (place < 0)
			place = -errno;
	}
	return place < 0 ? place : open_place(place);
}
