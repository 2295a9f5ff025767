/* SPDX-License-Identifier: MIT */
/*
 * The file systems that processes see. A container's stay reachable when the
 * process that was found in it has ended.
 */
#ifndef CPUCLOCK_FLAME_ROOT_H
#define CPUCLOCK_FLAME_ROOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct root {
	char mounts[40]; /* "mnt:[4026531841]" */
	dev_t device;	 /* of its folder "/" */
	ino_t inode;
	int fd; /* of that folder */
	struct root *next;
};

/* The root of a process, which is kept in *roots; NULL if it cannot be seen. */
struct root *root_of(struct root **roots, pid_t pid);
void root_free_all(struct root **roots);

/*
 * Opens a regular file below a root to read, or returns -errno. Links are
 * followed within the root; a last one that is a link only with @follow. A
 * NULL root is that of this process.
 */
int root_open(const struct root *root, const char *path, bool follow);

#endif
