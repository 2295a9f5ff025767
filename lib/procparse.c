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
	STAT_STARTTIME = 22,
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

/*
 * Finds what follows "PID (comm) S ". The name may hold any byte, blanks and
 * parentheses too, but no later field does: the last ')' of all ends it.
 */
static const char *skip_to_ppid(const char *text, size_t length)
{
	const char *end = text + length;
	const char *close = memrchr(text, ')', length);
	uint64_t pid;

	if (!take_number(&text, end, ' ', &pid) || text == end || *text != '(')
		return NULL;
	if (!close || close < text || end - close < 4)
		return NULL;
	if (close[1] != ' ' || !is_letter(close[2]) || close[3] != ' ')
		return NULL;
	return close + 4;
}

/* What is cut short could be cut within the name, and that look like fields. */
static bool is_whole(const char *text, size_t length)
{
	return length > 0 && text[length - 1] == '\n';
}

int cpuclock__parse_stat(const char *text, size_t length,
			 struct cpuclock__stat *ret_stat)
{
	const char *end = text + length;
	struct cpuclock__stat stat = {0};

	if (!is_whole(text, length))
		return -EBADMSG;
	text = skip_to_ppid(text, length);
	if (!text)
		return -EBADMSG;

	for (int field = STAT_PPID; field <= STAT_STARTTIME; field++) {
		bool ok;

		switch (field) {
		case STAT_UTIME:
			ok = take_number(&text, end, ' ', &stat.user_ticks);
			break;
		case STAT_STIME:
			ok = take_number(&text, end, ' ', &stat.system_ticks);
			break;
		case STAT_STARTTIME:
			ok = take_number(&text, end, ' ', &stat.start_ticks);
			break;
		default:
			ok = skip_number(&text, end);
		}
		if (!ok)
			return -EBADMSG;
	}

	*ret_stat = stat;
	return 0;
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
