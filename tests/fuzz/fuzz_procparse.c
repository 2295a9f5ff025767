/* SPDX-License-Identifier: MIT */
/*
 * lib/procparse against a second, plainer reading of the same bytes. The first
 * byte of an input chooses the parser (even: stat, odd: schedstat).
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "procparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
	if (!ok)
		abort();
}

/* The n-th (from 0) word between blanks, up to the first newline, in copy. */
static uint64_t nth_number(char *copy, unsigned int n)
{
	char *word = copy, *end;
	uint64_t value;

	while (n--) {
		check((word = strchr(word, ' ')) != NULL);
		word++;
	}
	check(*word >= '0' && *word <= '9');
	errno = 0;
	value = strtoull(word, &end, 10);
	check(!errno && (*end == ' ' || *end == '\n'));
	check(!memchr(copy, '\n', (size_t)(end - copy)));
	return value;
}

/* The n-th number, as nth_number, if there are so many and it is one. */
static int64_t nth_number_or(char *copy, unsigned int n, int64_t otherwise)
{
	char *word = copy + 2; /* behind the state */
	uint64_t value = 0;

	for (unsigned int i = 0; i < n; i++) {
		char *end;

		if (i + 1 < n && *word == '-')
			word++;
		if (*word < '0' || *word > '9')
			return otherwise;
		errno = 0;
		value = strtoull(word, &end, 10);
		if (errno || *end != ' ')
			return otherwise;
		word = end + 1;
	}
	return value > INT32_MAX ? otherwise : (int64_t)value;
}

static void check_task_stat(const char *text, size_t size, char *copy,
			    char *close, const struct cpuclock__stat *times)
{
	struct cpuclock__task_stat task;
	char *name = strchr(copy, '(') + 1;
	size_t length = (size_t)(close - name);

	memset(&task, 0xa5, sizeof(task));
	check(!cpuclock__parse_task_stat(text, size, &task));
	check(!memcmp(&task.times, times, sizeof(*times)));
	check(task.state == close[2]);
	if (length > 15)
		length = 15;
	check(!memcmp(task.name, name, length) && !task.name[length]);
	/* Fields 4 and 20; 39 may be missing. */
	check(nth_number(close + 2, 1) == (uint64_t)task.parent_pid);
	check(nth_number(close + 2, 17) == (uint64_t)task.threads);
	check(nth_number_or(close + 2, 36, -1) == task.cpu);
}

static void check_stat(const char *text, size_t size, char *copy)
{
	const struct cpuclock__stat before = {1, 2, 3};
	struct cpuclock__stat stat = before;
	char *close = copy + size;
	int r = cpuclock__parse_stat(text, size, &stat);

	if (r) {
		check(r == -EBADMSG && !memcmp(&stat, &before, sizeof(stat)));
		return;
	}
	while (*close != ')')
		check(close-- > copy);
	check(close[1] == ' ' && close[3] == ' ');
	check((close[2] | 0x20) >= 'a' && (close[2] | 0x20) <= 'z');
	/* Fields 14, 15 and 22; the state is field 3. */
	check(nth_number(close + 2, 11) == stat.user_ticks);
	check(nth_number(close + 2, 12) == stat.system_ticks);
	check(nth_number(close + 2, 19) == stat.start_ticks);
	check_task_stat(text, size, copy, close, &stat);
}

static void check_schedstat(const char *text, size_t size, char *copy)
{
	const struct cpuclock__schedstat before = {1, 2, 3};
	struct cpuclock__schedstat schedstat = before;
	int r = cpuclock__parse_schedstat(text, size, &schedstat);

	if (r) {
		check(r == -EBADMSG &&
		      !memcmp(&schedstat, &before, sizeof(schedstat)));
		return;
	}
	check(nth_number(copy, 0) == schedstat.cpu_ns);
	check(nth_number(copy, 1) == schedstat.wait_ns);
	check(nth_number(copy, 2) == schedstat.switches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;

	if (!size)
		return 0;
	copy = calloc(size, 1); /* the text and a NUL */
	check(copy != NULL);
	memcpy(copy, data + 1, size - 1);
	if (data[0] % 2)
		check_schedstat((const char *)data + 1, size - 1, copy);
	else
		check_stat((const char *)data + 1, size - 1, copy);
	free(copy);
	return 0;
}
