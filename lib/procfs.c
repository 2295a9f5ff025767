/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "procfs.h"
#include "sys.h"

void cpuclock__procfs_path(struct cpuclock *clock, const char *file)
{
	int id = clock->id;

	switch (clock->target) {
	case CPUCLOCK_SELF:
		/* Since Linux 3.17. */
		snprintf(clock->path, sizeof(clock->path),
			 "/proc/thread-self/%s", file);
		break;
	case CPUCLOCK_THREAD:
		snprintf(clock->path, sizeof(clock->path),
			 "/proc/self/task/%d/%s", id, file);
		break;
	case CPUCLOCK_PROCESS:
		snprintf(clock->path, sizeof(clock->path), "/proc/%d/%s", id,
			 file);
		break;
	case CPUCLOCK_FOREIGN:
		/* A TID is found at the top of /proc too, though not listed. */
		snprintf(clock->path, sizeof(clock->path),
			 "/proc/%d/task/%d/%s", id, id, file);
		break;
	}
}

int cpuclock__procfs_read(const char *path, char *buffer, size_t size)
{
	long fd = cpuclock__syscall(SYS_openat, AT_FDCWD, (long)path,
				    O_RDONLY | O_CLOEXEC);
	long length;

	if (fd < 0)
		return (int)fd;
	/* /proc gives the whole of such a file in one read, if there is room.
	 */
	length = cpuclock__syscall(SYS_read, fd, (long)buffer, (long)size);
	cpuclock__syscall(SYS_close, fd, 0, 0);
	return (int)length;
}

/* AT_CLKTCK is USER_HZ. */
int64_t cpuclock__procfs_tick_ns(void)
{
	unsigned long user_hz = getauxval(AT_CLKTCK);

	return CPUCLOCK__NSEC_PER_SEC / (user_hz ? (int64_t)user_hz : 100);
}

const struct cpuclock__verdict *cpuclock__procfs_probe(void)
{
	static const struct cpuclock__verdict
		absent = {-EOPNOTSUPP, "/proc is not mounted here"},
		foreign = {-EOPNOTSUPP, "/proc shows another PID namespace"};
	char link[16];
	long length =
		cpuclock__syscall4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self",
				   (long)link, sizeof(link) - 1);

	if (length <= 0)
		return &absent;
	link[length] = '\0';
	return strtol(link, NULL, 10) == getpid() ? &cpuclock__works : &foreign;
}

const struct cpuclock__verdict *cpuclock__procfs_verdict(int result)
{
	static const struct cpuclock__verdict
		hidden = {-EACCES, "/proc may not be read here"},
		no_descriptor = {-EMFILE, "no file descriptor is left"},
		malformed = {-EBADMSG, "the text in /proc is not what proc(5) "
				       "says"},
		other = {-EIO, "/proc cannot be read here"};

	if (result >= 0)
		return &cpuclock__works;
	switch (result) {
	case -EACCES:
	case -EPERM:
		return &hidden;
	case -EMFILE:
	case -ENFILE:
		return &no_descriptor;
	case -EBADMSG:
		return &malformed;
	default:
		return &other;
	}
}
