/* SPDX-License-Identifier: MIT */
/*
 * cli/json, held against what jansson makes of it, and cli/utf8 against the
 * table of RFC 3629.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#ifdef HAVE_JANSSON
/* Names that are also those of functions of cli/json. */
#define json_string  jansson_string
#define json_integer jansson_integer
#define json_null    jansson_null
#include <jansson.h>
#undef json_string
#undef json_integer
#undef json_null
#endif

#include "json.h"
#include "support.h"
#include "utf8.h"

/* A document in the making; finish() gives its text. */
struct document {
	struct json json;
	char *text;
	size_t size;
};

static struct json *begin(struct document *document)
{
	memset(document, 0, sizeof(*document));
	document->json.stream =
		open_memstream(&document->text, &document->size);
	assert_non_null(document->json.stream);
	return &document->json;
}

static const char *finish(struct document *document)
{
	assert_int_equal(document->json.depth, 0);
	assert_false(ferror(document->json.stream));
	fclose(document->json.stream);
	assert_int_equal(strlen(document->text), document->size);
	return document->text;
}

/* Without what only people need. */
static char *squeeze(char *text)
{
	char *from, *to = text;
	int in_string = 0;

	for (from = text; *from; from++) {
		if (*from == '"' && (from == text || from[-1] != '\\'))
			in_string = !in_string;
		if (in_string || !strchr(" \n", *from))
			*to++ = *from;
	}
	*to = '\0';
	return text;
}

static void assert_says(struct document *document, const char *expected)
{
	finish(document);
	assert_string_equal(squeeze(document->text), expected);
	free(document->text);
}

static void assert_string_is(const char *text, const char *expected)
{
	struct document document;

	json_string(begin(&document), NULL, text);
	assert_says(&document, expected);
}

static void commas_stand_between_and_nowhere_else(void **state)
{
	struct document document;
	struct json *json = begin(&document);

	(void)state;
	json_begin_object(json, NULL);
	json_begin_array(json, "a");
	json_integer(json, NULL, 1);
	json_integer(json, NULL, 2);
	json_begin_object(json, NULL);
	json_end_object(json);
	json_begin_array(json, NULL);
	json_end_array(json);
	json_end_array(json);
	json_begin_object(json, "b");
	json_begin_object(json, "c");
	json_string(json, "d", "e");
	json_end_object(json);
	json_null(json, "f");
	json_end_object(json);
	json_bool(json, "g", true);
	json_bool(json, "h", false);
	json_end_object(json);
	assert_says(&document, "{\"a\":[1,2,{},[]],\"b\":{\"c\":{\"d\":\"e\"},"
			       "\"f\":null},\"g\":true,\"h\":false}");
}

static void outermost_value_may_be_of_any_kind(void **state)
{
	struct document document;

	(void)state;
	json_integer(begin(&document), NULL, 0);
	assert_says(&document, "0");
	json_null(begin(&document), NULL);
	assert_says(&document, "null");
	json_bool(begin(&document), NULL, true);
	assert_says(&document, "true");
	json_string(begin(&document), NULL, "x");
	assert_says(&document, "\"x\"");
	json_string(begin(&document), NULL, NULL);
	assert_says(&document, "null");
	json_begin_array(begin(&document), NULL);
	json_end_array(&document.json);
	assert_says(&document, "[]");
}

static void compact_part_is_one_line(void **state)
{
	struct document document;
	struct json *json = begin(&document);
	const char *text, *compact, *end;

	(void)state;
	json_begin_object(json, NULL);
	json_integer(json, "before", 1);
	json_begin_array(json, "compact");
	json->compact = true;
	json_begin_object(json, NULL);
	json_integer(json, "x", 1);
	json_integer(json, "y", 2);
	json_end_object(json);
	json_integer(json, NULL, 3);
	json_end_array(json);
	json->compact = false;
	json_integer(json, "after", 1);
	json_end_object(json);

	text = finish(&document);
	compact = strstr(text, "\"x\"");
	end = strchr(text, ']');
	assert_non_null(compact);
	assert_null(memchr(compact, '\n', (size_t)(end - compact)));
	/* And the rest is not. */
	assert_non_null(memchr(text, '\n', (size_t)(compact - text)));
	assert_non_null(strchr(end, '\n'));
	assert_string_equal(squeeze(document.text),
			    "{\"before\":1,\"compact\":[{\"x\":1,\"y\":2},3],"
			    "\"after\":1}");
	free(document.text);
}

static void integers_are_exact(void **state)
{
	struct document document;
	struct json *json = begin(&document);

	(void)state;
	json_begin_array(json, NULL);
	json_integer(json, NULL, INT64_MIN);
	json_integer(json, NULL, -1);
	json_integer(json, NULL, 0);
	json_integer(json, NULL, INT64_MAX);
	json_end_array(json);
	assert_says(&document,
		    "[-9223372036854775808,-1,0,9223372036854775807]");
}

static void what_is_not_finite_is_null(void **state)
{
	struct document document;
	struct json *json = begin(&document);

	(void)state;
	json_begin_array(json, NULL);
	json_number(json, NULL, NAN);
	json_number(json, NULL, -NAN);
	json_number(json, NULL, INFINITY);
	json_number(json, NULL, -INFINITY);
	json_end_array(json);
	assert_says(&document, "[null,null,null,null]");
}

static void numbers_have_nine_significant_digits(void **state)
{
	static const double numbers[] = {
		0.0,	   1.0,	    -1.5,    0.1,	 1.0 / 3,
		123456789, 1e9,	    1e-9,    123456.789, 6.02214076e23,
		DBL_MAX,   DBL_MIN, -1e-300, 5e-324,	 999999999.6,
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct document document;
		double back;
		char *end;

		json_number(begin(&document), NULL, numbers[i]);
		back = strtod(finish(&document), &end);
		assert_string_equal(squeeze(end), "");
		/* 5e-324 is the smallest there is: it has fewer. */
		assert_true(fabs(back - numbers[i]) <=
			    fabs(numbers[i]) * 5.1e-9);
		free(document.text);
	}
}

static void what_html_or_scripts_could_read_is_escaped(void **state)
{
	(void)state;
	assert_string_is("</script>", "\"\\u003c/script\\u003e\"");
	assert_string_is("<!--", "\"\\u003c!--\"");
	assert_string_is("&lt;", "\"\\u0026lt;\"");
	assert_string_is("\u2028\u2029", "\"\\u2028\\u2029\"");
}

static void what_a_terminal_obeys_or_does_not_show_is_escaped(void **state)
{
	(void)state;
	assert_string_is("\x1f\x7f", "\"\\u001f\\u007f\"");
	assert_string_is("\xc2\x80\xc2\x9b\xc2\xa0",
			 "\"\\u0080\\u009b\xc2\xa0\"");
	assert_string_is("\u202egnp\u202c", "\"\\u202egnp\\u202c\"");
	assert_string_is("\u200b\u2066\ufeff", "\"\\u200b\\u2066\\ufeff\"");
	assert_string_is("\U000e0001\U000e0fff",
			 "\"\\udb40\\udc01\\udb43\\udfff\"");
}

static void keys_are_escaped_as_strings_are(void **state)
{
	struct document document;
	struct json *json = begin(&document);

	(void)state;
	json_begin_object(json, NULL);
	json_integer(json, "a\"<\\\n\xff", 1);
	json_end_object(json);
	finish(&document);
	assert_non_null(strstr(document.text, "a\\\"\\u003c\\\\\\"));
	assert_null(strchr(document.text, '<'));
	assert_null(strchr(document.text, '\xff'));
	free(document.text);
}

static void quotes_and_backslashes_are_escaped(void **state)
{
	(void)state;
	assert_string_is("\"", "\"\\\"\"");
	assert_string_is("\\", "\"\\\\\"");
	assert_string_is("a\\\"b", "\"a\\\\\\\"b\"");
	assert_string_is("", "\"\"");
	assert_string_is("/'", "\"/'\"");
}

static void well_formed_characters_are_kept(void **state)
{
	static const char *const texts[] = {
		"\xc2\xa0",	    "\xc3\xa9",		"\xdf\xbf",
		"\xe0\xa0\x80",	    "\xe2\x82\xac",	"\xed\x9f\xbf",
		"\xee\x80\x80",	    "\xef\xbf\xbf",	"\xf0\x90\x80\x80",
		"\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf",
	};
	char expected[16];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		snprintf(expected, sizeof(expected), "\"%s\"", texts[i]);
		assert_string_is(texts[i], expected);
	}
}

/* Some end where the text does: what follows must not be looked at. */
static const char *const ill_formed[] = {
	"\x80",
	"\xbf",
	"\xc0\x80",
	"\xc0\xaf",
	"\xc1\xbf",
	"\xe0\x80\x80",
	"\xe0\x9f\xbf",
	"\xed\xa0\x80",
	"\xed\xbf\xbf",
	"\xf0\x80\x80\x80",
	"\xf0\x8f\xbf\xbf",
	"\xf4\x90\x80\x80",
	"\xf5\x80\x80\x80",
	"\xf8\x88\x80\x80",
	"\xfe",
	"\xff",
	"\xc2",
	"\xe2\x82",
	"\xf0\x9f\x98",
	"\xe2\x28\xa1",
	"\xf0\x28\x8c\xbc",
};

static void ill_formed_bytes_are_replaced(void **state)
{
	size_t i;

	(void)state;
	assert_string_is("a\xff"
			 "b",
			 "\"a\\ufffdb\"");
	for (i = 0; i < ARRAY_SIZE(ill_formed); i++) {
		struct document document;
		const char *c;

		json_string(begin(&document), NULL, ill_formed[i]);
		for (c = finish(&document); *c; c++)
			assert_true((unsigned char)*c < 0x80);
		assert_non_null(strstr(document.text, "\\ufffd"));
		free(document.text);
	}
}

#ifdef HAVE_JANSSON

static json_t *load(struct document *document)
{
	json_error_t error;
	json_t *root;

	finish(document);
	root = json_loads(document->text, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("%s: %s", error.text, document->text);
	free(document->text);
	return root;
}

static void every_byte_is_read_back(void **state)
{
	int byte;

	(void)state;
	for (byte = 1; byte < 256; byte++) {
		const char text[] = {'a', (char)byte, 'z', '\0'};
		struct document document;
		struct json *json = begin(&document);
		const char *back;
		json_t *root;

		json_begin_object(json, NULL);
		json_string(json, text, text);
		json_end_object(json);
		root = load(&document);
		back = byte < 0x80 ? text : "a\xef\xbf\xbdz";
		assert_string_equal(
			json_string_value(json_object_get(root, back)), back);
		json_decref(root);
	}
}

static void pairs_of_bytes_are_valid_json(void **state)
{
	struct document document;
	struct json *json = begin(&document);
	json_t *root;
	int first, second;

	(void)state;
	json_begin_array(json, NULL);
	for (first = 1; first < 256; first++) {
		for (second = 1; second < 256; second += 3) {
			const char text[] = {(char)first, (char)second, '\0'};

			json_string(json, NULL, text);
		}
	}
	json_end_array(json);
	root = load(&document);
	assert_int_equal(json_array_size(root), 255 * 85);
	json_decref(root);
}

static void nesting_is_read_back(void **state)
{
	struct document document;
	struct json *json = begin(&document);
	json_t *root, *inner;
	int depth;

	(void)state;
	json_begin_array(json, NULL);
	for (depth = 0; depth < 200; depth++) {
		json_begin_object(json, NULL);
		json_begin_array(json, "in");
	}
	json_number(json, NULL, 1.5);
	for (depth = 0; depth < 200; depth++) {
		json_end_array(json);
		json_integer(json, "depth", depth);
		json_end_object(json);
	}
	json_end_array(json);
	root = load(&document);
	inner = root;
	for (depth = 0; depth < 200; depth++) {
		json_t *object = json_array_get(inner, 0);

		assert_int_equal(
			json_integer_value(json_object_get(object, "depth")),
			199 - depth);
		inner = json_object_get(object, "in");
	}
	assert_true(json_real_value(json_array_get(inner, 0)) == 1.5);
	json_decref(root);
}

#else

static void every_byte_is_read_back(void **state)
{
	(void)state;
	skip_because("jansson was not found when this was built");
}

#define pairs_of_bytes_are_valid_json every_byte_is_read_back
#define nesting_is_read_back	      every_byte_is_read_back

#endif

/* ---- utf8_length --------------------------------------------------------- */

static size_t length_of(const char *bytes, size_t size)
{
	/* Of its exact size, for a sanitizer to see a byte read too many. */
	unsigned char *block = malloc(size ? size : 1);
	size_t length;

	assert_non_null(block);
	memcpy(block, bytes, size);
	length = utf8_length(block, size);
	free(block);
	return length;
}

/* As RFC 3629 section 3 puts it; 0 for what is no scalar value. */
static size_t encode(unsigned long c, char ret_bytes[4])
{
	if (c < 0x80) {
		ret_bytes[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		ret_bytes[0] = (char)(0xc0 | c >> 6);
		ret_bytes[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		ret_bytes[0] = (char)(0xe0 | c >> 12);
		ret_bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		ret_bytes[2] = (char)(0x80 | (c & 0x3f));
		return c >= 0xd800 && c < 0xe000 ? 0 : 3;
	}
	ret_bytes[0] = (char)(0xf0 | c >> 18);
	ret_bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
	ret_bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
	ret_bytes[3] = (char)(0x80 | (c & 0x3f));
	return c > 0x10ffff ? 0 : 4;
}

static void every_character_has_its_length(void **state)
{
	unsigned long c;

	(void)state;
	for (c = 0; c < 0x200000; c++) {
		char bytes[4];
		size_t length = encode(c, bytes);

		if (utf8_length((unsigned char *)bytes, length ? length : 4) !=
		    length)
			fail_msg("U+%04lX is not of %zu bytes", c, length);
	}
}

static void surrogates_have_none(void **state)
{
	(void)state;
	assert_int_equal(length_of("\xed\xa0\x80", 3), 0);
	assert_int_equal(length_of("\xed\xaf\xbf", 3), 0);
	assert_int_equal(length_of("\xed\xb0\x80", 3), 0);
	assert_int_equal(length_of("\xed\xbf\xbf", 3), 0);
	assert_int_equal(length_of("\xed\xa0\x80\xed\xb0\x80", 6), 0);
}

static void ill_formed_sequences_have_none(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ill_formed); i++) {
		if (length_of(ill_formed[i], strlen(ill_formed[i])))
			fail_msg("number %zu is taken", i);
	}
}

static void what_is_cut_short_has_none(void **state)
{
	static const char *const texts[] = {"\xc3\xa9", "\xe2\x82\xac",
					    "\xf0\x9f\x98\x80"};
	size_t i, size;

	(void)state;
	assert_int_equal(length_of("", 0), 0);
	assert_int_equal(length_of("a", 0), 0);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size = 0; size < strlen(texts[i]); size++)
			assert_int_equal(length_of(texts[i], size), 0);
		assert_int_equal(length_of(texts[i], size), size);
	}
}

static void what_follows_is_not_looked_at(void **state)
{
	(void)state;
	assert_int_equal(length_of("a\xff", 2), 1);
	assert_int_equal(length_of("\xc3\xa9\x80", 3), 2);
	assert_int_equal(length_of("\0", 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_and_nowhere_else),
		cmocka_unit_test(outermost_value_may_be_of_any_kind),
		cmocka_unit_test(compact_part_is_one_line),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(what_is_not_finite_is_null),
		cmocka_unit_test(numbers_have_nine_significant_digits),
		cmocka_unit_test(what_html_or_scripts_could_read_is_escaped),
		cmocka_unit_test(
			what_a_terminal_obeys_or_does_not_show_is_escaped),
		cmocka_unit_test(keys_are_escaped_as_strings_are),
		cmocka_unit_test(quotes_and_backslashes_are_escaped),
		cmocka_unit_test(well_formed_characters_are_kept),
		cmocka_unit_test(ill_formed_bytes_are_replaced),
		cmocka_unit_test(every_byte_is_read_back),
		cmocka_unit_test(pairs_of_bytes_are_valid_json),
		cmocka_unit_test(nesting_is_read_back),
		cmocka_unit_test(every_character_has_its_length),
		cmocka_unit_test(surrogates_have_none),
		cmocka_unit_test(ill_formed_sequences_have_none),
		cmocka_unit_test(what_is_cut_short_has_none),
		cmocka_unit_test(what_follows_is_not_looked_at),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
