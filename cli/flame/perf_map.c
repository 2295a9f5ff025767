/* SPDX-License-Identifier: MIT */
#include "perf_map.h"

/* So that a file of lines which all cover everything ends in a second. */
#define MAX_NAMINGS (UINT64_C(1) << 28)

/* Some run-times write 0x before the numbers. */
static void skip_prefix(struct slice *line)
{
	if (line->length > 2 && line->text[0] == '0' && line->text[1] == 'x') {
		line->text += 2;
		line->length -= 2;
	}
}

static bool parse_line(struct slice line, uint64_t *ret_start,
		       uint64_t *ret_size, struct slice *ret_name)
{
	skip_prefix(&line);
	if (!slice_take_hex(&line, ' ', ret_start))
		return false;
	skip_prefix(&line);
	if (!slice_take_hex(&line, ' ', ret_size))
		return false;
	*ret_name = line;
	return line.length > 0;
}

void perf_map_resolve(struct slice text, const uint64_t *addresses, size_t n,
		      struct slice *ret_names)
{
	uint64_t start, size, namings = 0;
	struct slice line, name;

	for (size_t i = 0; i < n; i++)
		ret_names[i] = (struct slice){NULL, 0};
	while (slice_take_line(&text, &line) && namings < MAX_NAMINGS) {
		if (!parse_line(line, &start, &size, &name))
			continue;
		for (size_t i = slice_count_below(addresses, n, start);
		     i < n && addresses[i] - start < size; i++, namings++)
			ret_names[i] = name;
	}
}
