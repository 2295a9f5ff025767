/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "utf8.h"

bool is_harmful(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},	  {0x7f, 0x9f},	    {0x061c, 0x061c},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
		{0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	}
	return false;
}

/* The letter behind the backslash in C; 0: none. */
static char letter_of(unsigned char byte)
{
	switch (byte) {
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	case '\\':
		return '\\';
	default:
		return 0;
	}
}

/* Of the character that text begins with, or of one byte that is none; how many
 * bytes they are is in *ret_taken. */
static void escape_one(const unsigned char *text, size_t rest,
		       char escaped[static 17], size_t *ret_taken)
{
	size_t length = utf8_length(text, rest);
	char letter = letter_of(*text);

	*ret_taken = length ? length : 1;
	if (letter) {
		snprintf(escaped, 17, "\\%c", letter);
	} else if (length && !is_harmful(utf8_character(text, length))) {
		memcpy(escaped, text, length);
		escaped[length] = '\0';
	} else {
		for (size_t i = 0; i < *ret_taken; i++)
			snprintf(escaped + 4 * i, 5, "\\x%02x", text[i]);
	}
}

void escape_text(const char *text, char *escaped, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t rest = strlen(text), used = 0, taken;

	for (; rest > 0; p += taken, rest -= taken) {
		char one[17];
		size_t length;

		escape_one(p, rest, one, &taken);
		length = strlen(one);
		if (used + length >= size)
			break;
		memcpy(escaped + used, one, length);
		used += length;
	}
	escaped[used] = '\0';
}

void escape_cell(const char *text, char *escaped, size_t size)
{
	if (!*text || !strchr("=+-@", *text) || size < 5) {
		escape_text(text, escaped, size);
		return;
	}
	snprintf(escaped, size, "\\x%02x", (unsigned char)*text);
	escape_text(text + 1, escaped + 4, size - 4);
}
