/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_FLAME_TEXT_H
#define CPUCLOCK_FLAME_TEXT_H

#include <stddef.h>
#include <stdio.h>

/*
 * A name that another user chose, as text that any terminal, document or parser
 * takes: well-formed UTF-8 in which each byte that is none, each control
 * character, each sign that turns the direction of writing, and what XML 1.0
 * does not allow is U+FFFD. What has more than max_chars characters is cut
 * there and ends in an ellipsis. To be freed; NULL if memory is short.
 */
char *text_clean(const char *name, size_t max_chars);

/* Writes clean text with the five signs escaped that mean something in XML. */
void text_write_xml(FILE *stream, const char *clean);

#endif
