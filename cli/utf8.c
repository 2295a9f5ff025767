/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <wchar.h>

#include "utf8.h"

size_t utf8_length(const unsigned char *text, size_t size)
{
	unsigned char first = size ? text[0] : 0;
	/* What the second byte may be: narrowed by some first bytes. */
	unsigned char low = 0x80, high = 0xbf;
	size_t length;

	if (size == 0)
		return 0;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		length = 2;
	else if (first >= 0xe0 && first <= 0xef)
		length = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		length = 4;
	else
		return 0;

	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;

	if (size < length || text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	}
	return length;
}

uint32_t utf8_character(const unsigned char *text, size_t length)
{
	/* The first byte of n has n ones and a zero before what counts. */
	uint32_t character = length == 1 ? text[0] : text[0] & 0x7f >> length;

	for (size_t i = 1; i < length; i++)
		character = character << 6 | (text[i] & 0x3f);
	return character;
}

int utf8_columns(const unsigned char *text, size_t length)
{
	static locale_t locale;
	locale_t old;
	int columns;

	if (length == 1)
		return 1;
	/* The C locale of glibc knows no wide characters. */
	if (!locale)
		locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!locale)
		return 1;
	old = uselocale(locale);
	columns = wcwidth((wchar_t)utf8_character(text, length));
	uselocale(old);
	return columns < 0 ? 1 : columns;
}
