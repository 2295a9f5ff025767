/* SPDX-License-Identifier: MIT */
/*
 * A hundred thousand lines for some hundred addresses: each line looks for the
 * addresses that it could name, and no table of all is made.
 */
#include <stdlib.h>

#include "kallsyms.h"

/* "ffffffff81000000 T _stext", and "\t[module]" behind those of modules. */
static bool parse_line(struct slice line, uint64_t *ret_address,
		       struct slice *ret_name)
{
	const char *tab;

	if (!slice_take_hex(&line, ' ', ret_address))
		return false;
	if (line.length < 3 || !strchr("tTwW", line.text[0]) ||
	    line.text[0] == '\0' || line.text[1] != ' ')
		return false;
	line.text += 2;
	line.length -= 2;
	tab = memchr(line.text, '\t', line.length);
	if (tab)
		line.length = (size_t)(tab - line.text);
	*ret_name = line;
	return line.length > 0;
}

/* best[i]: the last function that begins above addresses[i - 1] and not above
 * addresses[i]. The first of several at one address: aliases follow it. */
static bool collect(struct slice text, const uint64_t *addresses, size_t n,
		    uint64_t *starts, struct slice *best)
{
	bool shown = false;
	struct slice line, name;
	uint64_t start;

	while (slice_take_line(&text, &line)) {
		size_t i;

		if (!parse_line(line, &start, &name) || start == 0)
			continue;
		shown = true;
		i = slice_count_below(addresses, n, start);
		if (i < n && (best[i].length == 0 || start > starts[i])) {
			starts[i] = start;
			best[i] = name;
		}
	}
	return shown;
}

bool kallsyms_resolve(struct slice text, const uint64_t *addresses, size_t n,
		      struct slice *ret_names)
{
	uint64_t *starts = calloc(n + 1, sizeof(*starts));
	bool shown;

	for (size_t i = 0; i < n; i++)
		ret_names[i] = (struct slice){NULL, 0};
	if (!starts)
		return false;
	shown = collect(text, addresses, n, starts, ret_names);
	free(starts);
	for (size_t i = 1; i < n; i++) {
		if (ret_names[i].length == 0)
			ret_names[i] = ret_names[i - 1];
	}
	return shown;
}
