/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "escape.h"
#include "json.h"
#include "utf8.h"

/* JSON names UTF-16 units: two of them above U+FFFF. */
static void write_escaped(FILE *stream, uint32_t character)
{
	if (character > 0xffff) {
		character -= 0x10000;
		fprintf(stream, "\\u%04x", 0xd800 | (character >> 10));
		character = 0xdc00 | (character & 0x3ff);
	}
	fprintf(stream, "\\u%04x", character);
}

static void write_text(FILE *stream, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	const unsigned char *end = p + strlen(text);

	fputc('"', stream);
	while (p < end) {
		size_t length = utf8_length(p, (size_t)(end - p));
		uint32_t character =
			length ? utf8_character(p, length) : 0xfffd;

		if (*p == '"' || *p == '\\')
			fprintf(stream, "\\%c", *p);
		else if (!length || is_harmful(character) || strchr("<>&", *p))
			write_escaped(stream, character);
		else
			fwrite(p, 1, length, stream);
		p += length ? length : 1;
	}
	fputc('"', stream);
}

static void begin_value(struct json *json, const char *key)
{
	if (json->need_comma)
		fputc(',', json->stream);
	if (json->depth > 0 && !json->compact)
		fprintf(json->stream, "\n%*s", 2 * json->depth, "");
	if (key) {
		write_text(json->stream, key);
		fputs(json->compact ? ":" : ": ", json->stream);
	}
	json->need_comma = true;
}

static void begin_nested(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	fputc(bracket, json->stream);
	json->depth++;
	json->need_comma = false;
}

static void end_nested(struct json *json, char bracket)
{
	json->depth--;
	if (json->need_comma && !json->compact)
		fprintf(json->stream, "\n%*s", 2 * json->depth, "");
	fputc(bracket, json->stream);
	if (json->depth == 0)
		fputc('\n', json->stream);
	json->need_comma = true;
}

void json_begin_object(struct json *json, const char *key)
{
	begin_nested(json, key, '{');
}

void json_end_object(struct json *json)
{
	end_nested(json, '}');
}

void json_begin_array(struct json *json, const char *key)
{
	begin_nested(json, key, '[');
}

void json_end_array(struct json *json)
{
	end_nested(json, ']');
}

void json_string(struct json *json, const char *key, const char *text)
{
	begin_value(json, key);
	if (text)
		write_text(json->stream, text);
	else
		fputs("null", json->stream);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	fprintf(json->stream, "%" PRId64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->stream);
}

void json_null(struct json *json, const char *key)
{
	begin_value(json, key);
	fputs("null", json->stream);
}

void json_number(struct json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	begin_value(json, key);
	fprintf(json->stream, "%.9g", value);
}
