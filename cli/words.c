/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

const char *const kind_words[N_KINDS] = {
	[CPUCLOCK_TOTAL] = "total",
	[CPUCLOCK_USER] = "user",
	[CPUCLOCK_SYSTEM] = "system",
	[CPUCLOCK_TICKS] = "ticks",
};

const char *const target_words[N_TARGETS] = {
	[CPUCLOCK_SELF] = "self",
	[CPUCLOCK_THREAD] = "thread",
	[CPUCLOCK_PROCESS] = "process",
	[CPUCLOCK_FOREIGN] = "foreign",
};

bool parse_kind(const char *word, enum cpuclock_kind *ret_kind)
{
	for (int kind = 0; kind < N_KINDS; kind++) {
		if (strcmp(word, kind_words[kind]) == 0) {
			*ret_kind = (enum cpuclock_kind)kind;
			return true;
		}
	}
	return false;
}

const char *source_words(void)
{
	static char words[256];
	const char *name;
	size_t length = 0;

	for (size_t i = 0; (name = cpuclock_source_at(i)); i++)
		length +=
			(size_t)snprintf(words + length, sizeof(words) - length,
					 "%s%s", i ? " " : "", name);
	return words;
}

/* The source that was asked for, or the last that could have served, and why it
 * does not work here; false if that is not the matter. */
static bool find_unavailable(const char *wanted, enum cpuclock_target target,
			     enum cpuclock_kind kind,
			     struct cpuclock_source_info *ret_info)
{
	const char *name;
	bool found = false;

	for (size_t i = 0; (name = cpuclock_source_at(i)); i++) {
		struct cpuclock_source_info info;

		if (cpuclock_source_info(name, &info) ||
		    !(info.targets & 1U << target) ||
		    !(info.kinds & 1U << kind))
			continue;
		if (wanted && strcmp(wanted, name) != 0)
			continue;
		if (info.status == 0)
			return false;
		*ret_info = info;
		found = true;
	}
	return found;
}

void describe_error(char *text, size_t size, int err,
		    enum cpuclock_target target, pid_t id, const char *source,
		    enum cpuclock_kind kind)
{
	const char *what = target == CPUCLOCK_PROCESS ? "process" : "thread";
	struct cpuclock_source_info info;

	if (find_unavailable(source, target, kind, &info))
		snprintf(text, size, "%s%s%s does not work here: %s",
			 source ? "source " : kind_words[kind],
			 source ? "" : " needs a source that works; ",
			 info.name, info.why);
	else if (err == -ESRCH)
		snprintf(text, size, "%s %d does not exist or has ended", what,
			 (int)id);
	else if (err == -EACCES)
		snprintf(text, size, "%s %d is hidden in /proc from this user",
			 what, (int)id);
	else if (err == -EINVAL && target == CPUCLOCK_PROCESS)
		snprintf(text, size,
			 "%d is a thread, not a process; use -t for threads",
			 (int)id);
	else if (err == -EPERM && target != CPUCLOCK_SELF)
		snprintf(text, size,
			 "source %s cannot read a thread of another process; "
			 "proc and schedstat can",
			 source ? source : "chosen");
	else if (err == -EOPNOTSUPP && source)
		snprintf(text, size,
			 "source %s does not give %s of this target; `cpuclock "
			 "info` shows what gives what",
			 source, kind_words[kind]);
	else if (err == -EOPNOTSUPP)
		snprintf(text, size,
			 "no source that works here gives %s of this target; "
			 "`cpuclock info` shows why",
			 kind_words[kind]);
	else
		snprintf(text, size, "%s: %s",
			 source ? source : "the source chosen", strerror(-err));
}

void format_ns(char *text, size_t size, double ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t i = 0;

	/* What would be shown as 1000 has the next unit. */
	while (i < 3 && ns < 0.9995 * units[i].ns)
		i++;
	snprintf(text, size, "%.3g %s", ns / units[i].ns, units[i].name);
}
