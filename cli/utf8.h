/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_UTF8_H
#define CPUCLOCK_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the well-formed character (RFC 3629: shortest form, no surrogates)
 * that text begins with, 1 to 4; 0 if there is none.
 */
size_t utf8_length(const unsigned char *text, size_t size);

/* The number of a well-formed character of that length. */
uint32_t utf8_character(const unsigned char *text, size_t length);

/*
 * Columns that a well-formed character takes on a terminal: 2 for Chinese,
 * Japanese, Korean and pictures, 0 for what goes onto the one before.
 */
int utf8_columns(const unsigned char *text, size_t length);

#endif
