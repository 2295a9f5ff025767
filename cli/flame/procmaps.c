/* SPDX-License-Identifier: MIT */
#include "procmaps.h"

static bool skip_word(struct slice *line)
{
	const char *blank = memchr(line->text, ' ', line->length);

	if (!blank)
		return false;
	line->length -= (size_t)(blank - line->text);
	line->text = blank;
	while (line->length > 0 && *line->text == ' ') {
		line->text++;
		line->length--;
	}
	return true;
}

/* "START-END PERM OFFSET MAJOR:MINOR INODE   PATH" */
static bool parse_line(struct slice line, struct procmap *ret_map)
{
	if (!slice_take_hex(&line, '-', &ret_map->start) ||
	    !slice_take_hex(&line, ' ', &ret_map->end) ||
	    ret_map->start >= ret_map->end)
		return false;
	if (line.length < 5 || line.text[4] != ' ')
		return false;
	ret_map->executable = line.text[2] == 'x';
	line.text += 5;
	line.length -= 5;
	if (!slice_take_hex(&line, ' ', &ret_map->offset) || !skip_word(&line))
		return false;
	/* Without a path the line ends behind the inode, or in blanks. */
	if (!skip_word(&line))
		line.length = 0;
	ret_map->path = line;
	return true;
}

bool procmaps_next(struct slice *text, struct procmap *ret_map)
{
	struct slice line;

	while (memchr(text->text, '\n', text->length) &&
	       slice_take_line(text, &line)) {
		if (parse_line(line, ret_map))
			return true;
	}
	return false;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void procmaps_path(struct slice path, char *ret_path, size_t size)
{
	const char *p = path.text, *end = p + path.length;
	size_t n = 0;

	while (p < end && n + 1 < size) {
		if (end - p >= 4 && p[0] == '\\' && is_octal(p[1]) &&
		    is_octal(p[2]) && is_octal(p[3])) {
			ret_path[n++] =
				(char)((p[1] - '0') << 6 | (p[2] - '0') << 3 |
				       (p[3] - '0'));
			p += 4;
		} else {
			ret_path[n++] = *p++;
		}
	}
	ret_path[n] = '\0';
}
