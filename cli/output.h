/* SPDX-License-Identifier: MIT */
/*
 * Rows of figures: columns that are described once, printed as a table for
 * people, as JSON, or as CSV (RFC 4180).
 */
#ifndef CPUCLOCK_OUTPUT_H
#define CPUCLOCK_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "json.h"
#include "table.h"

enum output_format { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV };

enum output_kind {
	OUTPUT_NAME,	/* bytes that someone else chose: escaped */
	OUTPUT_WORD,	/* ours; NULL if there is none, as for OUTPUT_NAME */
	OUTPUT_COUNT,	/* as all numbers, can be one of those below */
	OUTPUT_TIME,	/* in ns; in text in the unit of the table */
	OUTPUT_PERCENT, /* in thousandths */
};

/* Text: "-" and nothing. JSON: null. CSV: nothing. */
#define OUTPUT_UNKNOWN	(-1)
#define OUTPUT_NO_VALUE (-2)

struct output_column {
	const char *title; /* in text; NULL: not there */
	const char *key;   /* in JSON and CSV; NULL: not there */
	enum output_kind kind;
	int spare;     /* text without room: 1 is left out first; 0 is not */
	bool flexible; /* one column of text can be cut */
};

#define OUTPUT_MAX_COLUMNS 24

struct output {
	enum output_format format;
	const struct output_column *columns;
	size_t n_columns;
	FILE *stream;
	bool in_seconds;   /* text: with 3 decimals; else ms, with 1 */
	struct json *json; /* with an array open, which gets an object a row */
	/* Its own: */
	struct table *table;
	struct table_column titles[OUTPUT_MAX_COLUMNS];
};

union output_value {
	const char *text;
	int64_t number;
};

/* Of CSV, prints the line with the keys if that is wanted. */
void output_begin(struct output *output, bool with_keys);

/* A value for each column. */
void output_row(struct output *output, const union output_value *values);

/* Text: an empty line. */
void output_gap(struct output *output);

/* Text: prints the table, not wider than @width if that is not 0. False if
 * memory was short. */
bool output_end(struct output *output, int width);

/* What this stream's terminal has; 0 if it is none. */
int output_width(FILE *stream);

#endif
