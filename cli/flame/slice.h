/* SPDX-License-Identifier: MIT */
/* A part of a text, and what the parsers of the kernel's and the run-times'
 * tables share. */
#ifndef CPUCLOCK_FLAME_SLICE_H
#define CPUCLOCK_FLAME_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const char *text;
	size_t length;
};

static inline int slice_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes a hexadecimal number of up to 64 bits, and what must stand behind it.
 */
static inline bool slice_take_hex(struct slice *slice, char terminator,
				  uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < slice->length; i++) {
		int digit = slice_hex_digit(slice->text[i]);

		if (digit < 0)
			break;
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	if (i == 0 || i == slice->length || slice->text[i] != terminator)
		return false;
	slice->text += i + 1;
	slice->length -= i + 1;
	*ret_value = value;
	return true;
}

/* Takes a line, without its newline; false at the end. */
static inline bool slice_take_line(struct slice *slice, struct slice *ret_line)
{
	const char *newline;
	size_t length;

	if (slice->length == 0)
		return false;
	newline = memchr(slice->text, '\n', slice->length);
	length = newline ? (size_t)(newline - slice->text) : slice->length;
	*ret_line = (struct slice){slice->text, length};
	length += newline != NULL;
	slice->text += length;
	slice->length -= length;
	return true;
}

/* How many of the sorted addresses are below one. */
static inline size_t slice_count_below(const uint64_t *addresses, size_t n,
				       uint64_t address)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (addresses[middle] < address)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

#endif
