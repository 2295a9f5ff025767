/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc_stdio.h"

enum { STAT_SIZE = 2048, N_FIELDS = 13 };

static int read_text(const struct proc_stdio *what, char *text)
{
	char path[64];
	FILE *file;
	size_t length;

	if (what->pid)
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)what->pid);
	else
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
			 (int)what->tid);
	file = fopen(path, "r");
	if (!file)
		return -errno;
	length = fread(text, 1, STAT_SIZE - 1, file);
	text[length] = '\0';
	fclose(file);
	return 0;
}

int64_t proc_stdio_read(const void *arg)
{
	const struct proc_stdio *what = arg;
	char text[STAT_SIZE];
	unsigned long user, system, skipped;
	int number;
	char state;
	const char *fields;
	int64_t tick_ns;
	int err = read_text(what, text);

	if (err)
		return err;
	fields = strrchr(text, ')');
	if (!fields)
		return -EBADMSG;
	do {
		fields++;
	} while (isspace((unsigned char)*fields));
	/* NOLINTNEXTLINE(cert-err34-c): as the JDK does it */
	if (sscanf(fields, "%c %d %d %d %d %d %lu %lu %lu %lu %lu %lu %lu",
		   &state, &number, &number, &number, &number, &number,
		   &skipped, &skipped, &skipped, &skipped, &skipped, &user,
		   &system) != N_FIELDS)
		return -EBADMSG;

	tick_ns = INT64_C(1000000000) / sysconf(_SC_CLK_TCK);
	switch (what->kind) {
	case CPUCLOCK_USER:
		return (int64_t)user * tick_ns;
	case CPUCLOCK_SYSTEM:
		return (int64_t)system * tick_ns;
	default:
		return (int64_t)(user + system) * tick_ns;
	}
}
