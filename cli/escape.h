/* SPDX-License-Identifier: MIT */
/*
 * Text that someone else chose, such as the name of a thread, made harmless:
 * it can be shown on a terminal, and it stays one cell of a table.
 */
#ifndef CPUCLOCK_ESCAPE_H
#define CPUCLOCK_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel's name of 15 bytes, each as \xHH, with the NUL. */
#define ESCAPED_NAME_SIZE 61

/* Is it a character that a terminal does not show, but obeys, or that hides or
 * reorders others? */
bool is_harmful(uint32_t character);

/*
 * Backslashes are doubled; a newline, tab or carriage return becomes \n, \t or
 * \r; other controls, characters that are not printed or that change the order
 * of those around them, and bytes that are not UTF-8 become \xHH, byte by byte.
 * What does not fit is left out.
 */
void escape_text(const char *text, char *escaped, size_t size);

/*
 * The same for a cell that a spreadsheet may open: it takes what begins with
 * one of = + - @ for a formula, so that one becomes \xHH too.
 */
void escape_cell(const char *text, char *escaped, size_t size);

#endif
