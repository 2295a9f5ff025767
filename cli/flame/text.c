/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"

static bool is_harmless(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code <= 0x9f))
		return false;
	/* Line separators, and what turns the direction of what follows. */
	if ((code >= 0x200e && code <= 0x200f) ||
	    (code >= 0x2028 && code <= 0x202e) ||
	    (code >= 0x2066 && code <= 0x2069))
		return false;
	return code != 0xfffe && code != 0xffff;
}

char *text_clean(const char *name, size_t max_chars)
{
	const unsigned char *from = (const unsigned char *)name;
	size_t left = strlen(name), chars = 0;
	char *clean, *to;

	/* A byte becomes a sign of three at most. */
	if (left > (SIZE_MAX - sizeof(ELLIPSIS)) / 3)
		return NULL;
	clean = to = malloc(3 * left + sizeof(ELLIPSIS));
	if (!clean)
		return NULL;
	for (; left > 0 && chars < max_chars; chars++) {
		size_t length = utf8_length(from, left);

		if (length > 0 && is_harmless(utf8_character(from, length))) {
			memcpy(to, from, length);
			to += length;
		} else {
			memcpy(to, REPLACEMENT, 3);
			to += 3;
		}
		from += length ? length : 1;
		left -= length ? length : 1;
	}
	if (left > 0) {
		memcpy(to, ELLIPSIS, 3);
		to += 3;
	}
	*to = '\0';
	return clean;
}

void text_write_xml(FILE *stream, const char *clean)
{
	for (; *clean; clean++) {
		switch (*clean) {
		case '&':
			fputs("&amp;", stream);
			break;
		case '<':
			fputs("&lt;", stream);
			break;
		case '>':
			fputs("&gt;", stream);
			break;
		case '"':
			fputs("&quot;", stream);
			break;
		case '\'':
			fputs("&#39;", stream);
			break;
		default:
			fputc(*clean, stream);
		}
	}
}
