/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "escape.h"
#include "output.h"

static bool is_number(enum output_kind kind)
{
	return kind != OUTPUT_NAME && kind != OUTPUT_WORD;
}

static bool is_known(enum output_kind kind, union output_value value)
{
	return is_number(kind) ? value.number >= 0 : value.text != NULL;
}

/* ---- Text */

static void begin_table(struct output *output)
{
	size_t n = 0;

	for (size_t i = 0; i < output->n_columns; i++) {
		const struct output_column *column = &output->columns[i];

		if (column->title)
			output->titles[n++] = (struct table_column){
				column->title, is_number(column->kind)};
	}
	output->table = table_new(output->titles, n);
}

static void table_name(struct table *table, const char *name)
{
	char escaped[256];

	escape_text(name, escaped, sizeof(escaped));
	/* An empty cell would look like a missing one. */
	table_cell(table, "%s", *escaped ? escaped : "\"\"");
}

static void add_to_table(const struct output *output, enum output_kind kind,
			 union output_value value)
{
	struct table *table = output->table;

	if (!is_known(kind, value)) {
		table_cell(table, "%s",
			   is_number(kind) && value.number == OUTPUT_UNKNOWN
				   ? "-"
				   : "");
		return;
	}
	switch (kind) {
	case OUTPUT_NAME:
		table_name(table, value.text);
		break;
	case OUTPUT_WORD:
		table_cell(table, "%s", value.text);
		break;
	case OUTPUT_COUNT:
		table_cell(table, "%" PRId64, value.number);
		break;
	case OUTPUT_TIME:
		table_cell(table, "%.*f", output->in_seconds ? 3 : 1,
			   (double)value.number /
				   (output->in_seconds ? 1e9 : 1e6));
		break;
	case OUTPUT_PERCENT:
		table_cell(table, "%.1f", (double)value.number / 1e3);
		break;
	}
}

/* ---- JSON */

static void add_to_json(struct json *json, const struct output_column *column,
			union output_value value)
{
	if (!is_known(column->kind, value))
		json_null(json, column->key);
	else if (!is_number(column->kind))
		json_string(json, column->key, value.text);
	else if (column->kind == OUTPUT_PERCENT)
		json_number(json, column->key, (double)value.number / 1e3);
	else
		json_integer(json, column->key, value.number);
}

/* ---- CSV */

static void write_quoted(FILE *stream, const char *text)
{
	char escaped[256];

	escape_cell(text, escaped, sizeof(escaped));
	fputc('"', stream);
	for (const char *p = escaped; *p; p++) {
		if (*p == '"')
			fputc('"', stream);
		fputc(*p, stream);
	}
	fputc('"', stream);
}

/* What is not known is an empty cell. */
static void add_to_csv(FILE *stream, enum output_kind kind,
		       union output_value value)
{
	if (!is_known(kind, value))
		return;
	if (kind == OUTPUT_NAME)
		write_quoted(stream, value.text);
	else if (kind == OUTPUT_WORD)
		fputs(value.text, stream);
	else if (kind == OUTPUT_PERCENT)
		fprintf(stream, "%.3f", (double)value.number / 1e3);
	else
		fprintf(stream, "%" PRId64, value.number);
}

static void write_keys(const struct output *output)
{
	const char *comma = "";

	for (size_t i = 0; i < output->n_columns; i++) {
		if (!output->columns[i].key)
			continue;
		fprintf(output->stream, "%s%s", comma, output->columns[i].key);
		comma = ",";
	}
	fputs("\r\n", output->stream);
}

/* ---- All of them */

void output_begin(struct output *output, bool with_keys)
{
	if (output->format == OUTPUT_TEXT)
		begin_table(output);
	if (output->format == OUTPUT_CSV && with_keys)
		write_keys(output);
}

static void add_row(struct output *output, const union output_value *values)
{
	const char *comma = "";

	for (size_t i = 0; i < output->n_columns; i++) {
		const struct output_column *column = &output->columns[i];

		if (output->format == OUTPUT_TEXT) {
			if (column->title)
				add_to_table(output, column->kind, values[i]);
		} else if (!column->key) {
			continue;
		} else if (output->format == OUTPUT_JSON) {
			add_to_json(output->json, column, values[i]);
		} else {
			fputs(comma, output->stream);
			add_to_csv(output->stream, column->kind, values[i]);
			comma = ",";
		}
	}
}

void output_row(struct output *output, const union output_value *values)
{
	struct json *json = output->json;
	bool compact;

	if (output->format == OUTPUT_TEXT && !output->table)
		return;
	if (output->format != OUTPUT_JSON) {
		add_row(output, values);
		if (output->format == OUTPUT_CSV)
			fputs("\r\n", output->stream);
		return;
	}
	json_begin_object(json, NULL);
	compact = json->compact;
	json->compact = true;
	add_row(output, values);
	json_end_object(json);
	json->compact = compact;
}

void output_gap(struct output *output)
{
	if (output->format != OUTPUT_TEXT || !output->table)
		return;
	for (size_t i = 0; i < output->n_columns; i++) {
		if (output->columns[i].title)
			table_cell(output->table, "%s", "");
	}
}

/* The columns of the table which can be left out, first the first. */
static size_t list_spare(const struct output *output, size_t *spare,
			 size_t *ret_flexible)
{
	size_t n = 0;

	*ret_flexible = 0;
	for (int rank = 0; rank < OUTPUT_MAX_COLUMNS; rank++) {
		size_t shown = 0;

		for (size_t i = 0; i < output->n_columns; i++) {
			const struct output_column *column =
				&output->columns[i];

			if (!column->title)
				continue;
			if (column->flexible)
				*ret_flexible = shown;
			if (rank > 0 && column->spare == rank)
				spare[n++] = shown;
			shown++;
		}
	}
	return n;
}

bool output_end(struct output *output, int width)
{
	size_t spare[OUTPUT_MAX_COLUMNS], flexible, n;
	bool ok;

	if (output->format != OUTPUT_TEXT)
		return true;
	if (!output->table)
		return false;
	n = list_spare(output, spare, &flexible);
	if (width > 0)
		table_fit(output->table, width, flexible, spare, n);
	ok = table_print(output->table, output->stream);
	table_free(output->table);
	output->table = NULL;
	return ok;
}

int output_width(FILE *stream)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	int width;

	if (!isatty(fileno(stream)))
		return 0;
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	width = columns ? (int)strtol(columns, NULL, 10) : 0;
	return width > 0 ? width : 80;
}
