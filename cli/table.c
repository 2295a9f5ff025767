/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "utf8.h"

#define GAP 2

struct table {
	const struct table_column *columns;
	size_t n_columns;
	char **cells;
	size_t n_cells;
	size_t capacity;
	uint64_t left_out; /* a bit for each column */
	size_t flexible;   /* this column is cut to the width of ... */
	int limit;	   /* ... unless 0 */
	bool failed;
};

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

static bool make_room(struct table *table)
{
	size_t capacity = table->capacity ? 2 * table->capacity : 64;
	char **cells;

	if (table->n_cells < table->capacity)
		return true;
	cells = reallocarray(table->cells, capacity, sizeof(*cells));
	if (!cells)
		return false;
	table->cells = cells;
	table->capacity = capacity;
	return true;
}

void table_cell(struct table *table, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0 || !make_room(table)) {
		if (length >= 0)
			free(text);
		table->failed = true;
		return;
	}
	table->cells[table->n_cells++] = text;
}

struct table *table_new(const struct table_column *columns, size_t n_columns)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->columns = columns;
	table->n_columns = n_columns;
	for (size_t i = 0; i < n_columns; i++)
		table_cell(table, "%s", columns[i].title);
	return table;
}

/*
 * Columns on a terminal, not bytes: cells hold signs such as the micro sign. Of
 * at most @limit columns; *ret_bytes is how many bytes they are.
 */
static int width_within(const char *text, int limit, size_t *ret_bytes)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t rest = strlen(text), size = rest, length;
	int width = 0;

	for (; rest > 0; p += length, rest -= length) {
		int columns;

		length = utf8_length(p, rest);
		if (length == 0)
			length = 1;
		columns = utf8_columns(p, length);
		if (width + columns > limit)
			break;
		width += columns;
	}
	*ret_bytes = size - rest;
	return width;
}

static int width_of(const char *text)
{
	size_t bytes;

	return width_within(text, INT_MAX, &bytes);
}

static bool is_left_out(const struct table *table, size_t column)
{
	return column < 64 && table->left_out & UINT64_C(1) << column;
}

static int column_width(const struct table *table, size_t column)
{
	int width = 0;

	for (size_t i = column; i < table->n_cells; i += table->n_columns) {
		int cell = width_of(table->cells[i]);

		if (cell > width)
			width = cell;
	}
	if (table->limit && column == table->flexible && width > table->limit)
		width = table->limit;
	return width;
}

static int table_width(const struct table *table)
{
	int width = -GAP;

	for (size_t i = 0; i < table->n_columns; i++) {
		if (!is_left_out(table, i))
			width += column_width(table, i) + GAP;
	}
	return width;
}

void table_fit(struct table *table, int width, size_t flexible,
	       const size_t *spare, size_t n_spare)
{
	const int least = 14;
	int room = column_width(table, flexible) - least;
	int excess = table_width(table) - width;

	for (size_t i = 0; i < n_spare && excess > 0 && excess > room; i++) {
		table->left_out |= UINT64_C(1) << spare[i];
		excess = table_width(table) - width;
	}
	if (excess <= 0 || room <= 0)
		return;
	table->flexible = flexible;
	table->limit = least + (excess < room ? room - excess : 0);
}

/* How wide it was. */
static int print_cell(const char *cell, int width, FILE *stream)
{
	size_t bytes;

	if (width_of(cell) <= width) {
		fputs(cell, stream);
		return width_of(cell);
	}
	width = width_within(cell, width - 1, &bytes);
	fwrite(cell, 1, bytes, stream);
	fputs("\xe2\x80\xa6", stream);
	return width + 1;
}

static void print_row(const struct table *table, const int *widths,
		      char *const *cells, FILE *stream)
{
	int owed = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		int width = width_of(cells[i]);
		int blanks = width < widths[i] ? widths[i] - width : 0;

		if (is_left_out(table, i))
			continue;
		if (table->columns[i].right)
			owed += blanks;
		if (*cells[i]) {
			fprintf(stream, "%*s", owed, "");
			owed = 0;
			width = print_cell(cells[i], widths[i], stream);
			blanks = widths[i] - width;
		}
		if (!table->columns[i].right)
			owed += blanks;
		owed += GAP;
	}
	fputc('\n', stream);
}

bool table_print(const struct table *table, FILE *stream)
{
	int *widths = calloc(table->n_columns, sizeof(*widths));

	if (table->failed || !widths) {
		free(widths);
		return false;
	}
	for (size_t i = 0; i < table->n_columns; i++)
		widths[i] = column_width(table, i);
	for (size_t i = 0; i + table->n_columns <= table->n_cells;
	     i += table->n_columns)
		print_row(table, widths, &table->cells[i], stream);
	free(widths);
	return true;
}
