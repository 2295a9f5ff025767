/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct table {
	const struct table_column *columns;
	size_t n_columns;
	char **cells;
	size_t n_cells;
	size_t capacity;
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

/* Characters, not bytes: cells hold signs such as the micro sign. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

static int column_width(const struct table *table, size_t column)
{
	int width = 0;

	for (size_t i = column; i < table->n_cells; i += table->n_columns) {
		int cell = width_of(table->cells[i]);

		if (cell > width)
			width = cell;
	}
	return width;
}

static void print_row(const struct table *table, const int *widths,
		      char *const *cells, FILE *stream)
{
	int owed = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		int blanks = widths[i] - width_of(cells[i]);

		if (table->columns[i].right)
			owed += blanks;
		if (*cells[i]) {
			fprintf(stream, "%*s%s", owed, "", cells[i]);
			owed = 0;
		}
		if (!table->columns[i].right)
			owed += blanks;
		owed += 2;
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
