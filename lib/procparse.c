/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "procparse.h"

/* Fields of /proc/PID/stat are numbered from 1, as in proc(5). */
enum {
	STAT_PPID = 4, /* the first number after the name and the state */
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_NUM_THREADS = 20,
	STAT_STARTTIME = 22,
	STAT_PROCESSOR = 39, /* since Linux 2.2.8 */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/*
 * Takes an unsigned number and the byte that must stand behind it from the
 * front of *text. Without that byte a number at the end could have been cut.
 */
static bool take_number(const char **text, const char *end, char terminator,
			uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;

	if (p == end || !is_digit(*p))
		return false;
	for (; p < end && is_digit(*p); p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (p == end || *p != terminator)
		return false;

	*text = p + 1;
	*ret_value = value;
	return true;
}

/* Some fields that are passed over are signed: tty, tpgid, priority, nice. */
static bool skip_number(const char **text, const char *end)
{
	uint64_t ignored;

	if (*text < end && **text == '-')
		++*text;
	return take_number(text, end, ' ', &ignored);
}

/* Neither a PID nor a count of threads or CPUs is larger. */
static bool take_int(const char **text, const char *end, int32_t *ret_value)
{
	uint64_t value;

	if (!take_number(text, end, ' ', &value) || value > INT32_MAX)
		return false;
	*ret_value = (int32_t)value;
	return true;
}

/* The name of some kernel threads is longer here than their comm. */
static void take_name(const char *name, const char *close, char *ret_name,
		      size_t size)
{
	size_t length = (size_t)(close - name);

	if (length > size - 1)
		length = size - 1;
	memcpy(ret_name, name, length);
	ret_name[length] = '\0';
}

/*
 * Takes "PID (comm) S " from the front of *text. The name may hold any byte,
 * blanks and parentheses too, but no later field does: the last ')' of all ends
 * it.
 */
static bool take_name_and_state(const char **text, const char *end,
				struct cpuclock__task_stat *stat)
{
	const char *close = memrchr(*text, ')', (size_t)(end - *text));
	const char *open = *text;
	uint64_t pid;

	if (!take_number(&open, end, ' ', &pid) || open == end || *open != '(')
		return false;
	if (!close || close < open || end - close < 4)
		return false;
	if (close[1] != ' ' || !is_letter(close[2]) || close[3] != ' ')
		return false;
	take_name(open + 1, close, stat->name, sizeof(stat->name));
	stat->state = close[2];
	*text = close + 4;
	return true;
}

/* What is cut short could be cut within the name, and that look like fields. */
static bool is_whole(const char *text, size_t length)
{
	return length > 0 && text[length - 1] == '\n';
}

static bool take_field(const char **text, const char *end, int field,
		       struct cpuclock__task_stat *stat)
{
	switch (field) {
	case STAT_PPID:
		return take_int(text, end, &stat->parent_pid);
	case STAT_UTIME:
		return take_number(text, end, ' ', &stat->times.user_ticks);
	case STAT_STIME:
		return take_number(text, end, ' ', &stat->times.system_ticks);
	case STAT_NUM_THREADS:
		return take_int(text, end, &stat->threads);
	case STAT_STARTTIME:
		return take_number(text, end, ' ', &stat->times.start_ticks);
	case STAT_PROCESSOR:
		return take_int(text, end, &stat->cpu);
	default:
		return skip_number(text, end);
	}
}

int cpuclock__parse_task_stat(const char *text, size_t length,
			      struct cpuclock__task_stat *ret_stat)
{
	const char *end = text + length;
	struct cpuclock__task_stat stat = {.cpu = -1};
	int field = STAT_PPID;

	if (!is_whole(text, length) || !take_name_and_state(&text, end, &stat))
		return -EBADMSG;
	while (field <= STAT_PROCESSOR && take_field(&text, end, field, &stat))
		field++;
	/* The line may end behind the start time. */
	if (field <= STAT_STARTTIME)
		return -EBADMSG;

	*ret_stat = stat;
	return 0;
}

int cpuclock__parse_stat(const char *text, size_t length,
			 struct cpuclock__stat *ret_stat)
{
	struct cpuclock__task_stat stat;
	int err = cpuclock__parse_task_stat(text, length, &stat);

	if (!err)
		*ret_stat = stat.times;
	return err;
}

int cpuclock__parse_schedstat(const char *text, size_t length,
			      struct cpuclock__schedstat *ret_schedstat)
{
	const char *end = text + length;
	struct cpuclock__schedstat schedstat;

	if (!take_number(&text, end, ' ', &schedstat.cpu_ns) ||
	    !take_number(&text, end, ' ', &schedstat.wait_ns) ||
	    !take_number(&text, end, '\n', &schedstat.switches) || text != end)
		return -EBADMSG;

	*ret_schedstat = schedstat;
	return 0;
}
