/* SPDX-License-Identifier: MIT */
/*
 * JSON, written as it is said: the commas and the escapes are done here. A key
 * is NULL in an array, and for the outermost value. Bytes that are not UTF-8
 * are written as U+FFFD; '<', '>' and '&' as escapes, so that the text can
 * stand in a script element of HTML, and so is what is_harmful (escape.h): it
 * can be shown on a terminal, and old JavaScript ends no string in it.
 */
#ifndef CPUCLOCK_JSON_H
#define CPUCLOCK_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *stream;
	int depth;
	bool need_comma;
	bool compact; /* no line breaks from here on */
};

void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);

/* NULL text is written as null. */
void json_string(struct json *json, const char *key, const char *text);
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* Nine significant digits; what is not finite is written as null. */
void json_number(struct json *json, const char *key, double value);

#endif
