/* SPDX-License-Identifier: MIT */
/*
 * A table of text cells for people: columns as wide as their widest cell, two
 * blanks between them, no blanks at the end of a line.
 */
#ifndef CPUCLOCK_TABLE_H
#define CPUCLOCK_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct table_column {
	const char *title;
	bool right; /* numbers */
};

struct table;

/* NULL when memory is short. The columns must outlive the table. */
struct table *table_new(const struct table_column *columns, size_t n_columns);
void table_free(struct table *table);

/* Adds the next cell, row by row. Memory running short is kept for print. */
void table_cell(struct table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Makes the table fit into so many columns of a terminal, if it can: leaves the
 * columns of @spare out, one by one, as long as it is needed and as cutting the
 * cells of @flexible down to 14 does not do. What is cut ends in an ellipsis.
 */
void table_fit(struct table *table, int width, size_t flexible,
	       const size_t *spare, size_t n_spare);

/* Prints titles and rows. Returns false if memory was short. */
bool table_print(const struct table *table, FILE *stream);

#endif
