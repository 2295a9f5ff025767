/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_UTF8_H
#define CPUCLOCK_UTF8_H

#include <stddef.h>

/*
 * Bytes of the well-formed character (RFC 3629: shortest form, no surrogates)
 * that text begins with, 1 to 4; 0 if there is none.
 */
size_t utf8_length(const unsigned char *text, size_t size);

#endif
