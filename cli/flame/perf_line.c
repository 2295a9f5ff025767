/* SPDX-License-Identifier: MIT */
/*
 * Names of threads, symbols and files may hold blanks, brackets and what looks
 * like another field: lines are taken apart from the side where the fields are
 * numbers.
 */
#include "perf_line.h"

#include <string.h>

/* Each costs a look at all that stands before it. */
#define MAX_TIMES 64

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* The value of a digit of base 16, or -1. */
static int hex_value(char byte)
{
	if (is_digit(byte))
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	return -1;
}

static void trim(struct slice *text)
{
	while (text->size > 0 && is_blank(text->at[text->size - 1]))
		text->size--;
	while (text->size > 0 && is_blank(*text->at)) {
		text->at++;
		text->size--;
	}
}

static bool equals(struct slice text, const char *word)
{
	return text.size == strlen(word) &&
	       memcmp(text.at, word, text.size) == 0;
}

static bool begins_with(struct slice text, const char *word)
{
	return text.size >= strlen(word) &&
	       memcmp(text.at, word, strlen(word)) == 0;
}

static bool ends_with(struct slice text, const char *word)
{
	size_t length = strlen(word);

	return text.size >= length &&
	       memcmp(text.at + text.size - length, word, length) == 0;
}

/* Of too many digits the number wraps: it is one of a broken file. */
static bool take_number_off_end(struct slice *text, uint64_t *ret_number)
{
	uint64_t number = 0, scale = 1;
	size_t size = text->size;

	while (size > 0 && is_digit(text->at[size - 1])) {
		number += scale * (uint64_t)(text->at[--size] - '0');
		scale *= 10;
	}
	if (size == text->size)
		return false;
	text->size = size;
	*ret_number = number;
	return true;
}

/* "comm  pid/tid" or "comm  tid", and perhaps " [cpu]". */
static bool parse_thread(struct slice text, struct perf_header *header)
{
	uint64_t ignored;

	trim(&text);
	if (ends_with(text, "]")) {
		text.size--;
		if (!take_number_off_end(&text, &ignored) ||
		    !ends_with(text, "["))
			return false;
		text.size--;
		trim(&text);
	}
	if (!take_number_off_end(&text, &header->tid))
		return false;
	if (ends_with(text, "/")) {
		text.size--;
		if (!take_number_off_end(&text, &ignored))
			return false;
	}
	if (text.size > 0 && !is_blank(text.at[text.size - 1]))
		return false;
	trim(&text);
	header->comm = text;
	return true;
}

static struct slice take_word(struct slice *text)
{
	struct slice word = {text->at, 0};

	while (word.size < text->size && !is_blank(word.at[word.size]))
		word.size++;
	text->at += word.size;
	text->size -= word.size;
	trim(text);
	return word;
}

static void parse_event(struct slice text, struct perf_header *header)
{
	struct slice word;
	uint64_t period;

	trim(&text);
	word = take_word(&text);
	if (take_number_off_end(&word, &period) && word.size == 0) {
		header->period = period;
		word = take_word(&text);
	}
	while (ends_with(word, ":"))
		word.size--;
	header->event = word;
	header->rest = text;
}

/* Whether a time "12.345678:" ends before the end; then where it begins. */
static bool find_time(struct slice line, size_t end, size_t *ret_begin)
{
	struct slice text = {line.at, end};
	uint64_t ignored;

	if (!ends_with(text, ":"))
		return false;
	text.size--;
	if (!take_number_off_end(&text, &ignored) || !ends_with(text, "."))
		return false;
	text.size--;
	if (!take_number_off_end(&text, &ignored) || text.size == 0 ||
	    !is_blank(text.at[text.size - 1]))
		return false;
	*ret_begin = text.size;
	return true;
}

bool perf_parse_header(struct slice line, struct perf_header *ret_header)
{
	struct perf_header header = {.event = {"", 0}, .rest = {"", 0}};
	unsigned int times = 0;

	trim(&line);
	/* The last time is that of the line: a thread may be named like one. */
	for (size_t end = line.size; end > 0 && times < MAX_TIMES; end--) {
		size_t begin;

		if (line.at[end - 1] != ':' || !find_time(line, end, &begin))
			continue;
		times++;
		if (!parse_thread((struct slice){line.at, begin}, &header))
			continue;
		parse_event((struct slice){line.at + end, line.size - end},
			    &header);
		header.has_time = true;
		*ret_header = header;
		return true;
	}
	/* Printed without time and event. */
	if (begins_with(line, "#") || !parse_thread(line, &header))
		return false;
	*ret_header = header;
	return true;
}

/* Addresses of Linux kernels are at the top, but one page is the user's. */
static bool is_kernel(uint64_t address, struct slice file)
{
	if (equals(file, "[vsyscall]"))
		return false;
	return address >> 56 == 0xff || begins_with(file, "[kernel") ||
	       begins_with(file, "[guest.kernel") || ends_with(file, ".ko") ||
	       ends_with(file, ".ko.xz") || ends_with(file, ".ko.gz") ||
	       ends_with(file, ".ko.zst") || ends_with(file, "/vmlinux");
}

/* /tmp/perf-12.map, "[JIT] tid 12", /tmp/jitted-12-3.so */
static bool is_jit(struct slice file)
{
	for (size_t i = 0; i < file.size; i++) {
		struct slice tail = {file.at + i, file.size - i};

		if (i > 0 && file.at[i - 1] != '/')
			continue;
		if (begins_with(tail, "[JIT]") ||
		    (begins_with(tail, "perf-") && ends_with(tail, ".map")) ||
		    (begins_with(tail, "jitted-") && ends_with(tail, ".so")))
			return true;
	}
	return false;
}

/* Takes "+0x12" off the end. */
static bool take_offset(struct slice *name)
{
	size_t size = name->size;

	while (size > 0 && hex_value(name->at[size - 1]) >= 0)
		size--;
	if (size == name->size || size < 4 ||
	    memcmp(name->at + size - 3, "+0x", 3) != 0)
		return false;
	name->size = size - 3;
	return true;
}

/*
 * "symbol+0x12 (file)": cut where an offset stands before the bracket. Without
 * one, at the bracket that belongs to the last: files and symbols have pairs.
 */
static void split_frame(struct slice text, struct slice *ret_name,
			struct slice *ret_file)
{
	size_t pair = 0, depth = 0;

	*ret_name = text;
	*ret_file = (struct slice){text.at + text.size, 0};
	if (!ends_with(text, ")"))
		return;
	for (size_t i = text.size; i-- > 0;) {
		struct slice name = {text.at, i};

		depth += text.at[i] == ')';
		if (text.at[i] != '(')
			continue;
		if (depth > 0 && --depth == 0 && pair == 0)
			pair = i + 1;
		trim(&name);
		if (take_offset(&name)) {
			pair = i + 1;
			break;
		}
	}
	if (pair == 0)
		return;
	ret_name->size = pair - 1;
	*ret_file = (struct slice){text.at + pair, text.size - pair - 1};
}

static struct slice without_folders(struct slice file)
{
	for (size_t i = file.size; i-- > 0;) {
		if (file.at[i] == '/')
			return (struct slice){file.at + i + 1,
					      file.size - i - 1};
	}
	return file;
}

static bool take_address(struct slice *text, uint64_t *ret_address)
{
	uint64_t address = 0;
	size_t i = 0;

	for (; i < text->size && hex_value(text->at[i]) >= 0; i++)
		address = address << 4 | (uint64_t)hex_value(text->at[i]);
	if (i == 0 || i > 16 || (i < text->size && !is_blank(text->at[i])))
		return false;
	text->at += i;
	text->size -= i;
	*ret_address = address;
	return true;
}

bool perf_parse_frame(struct slice line, struct perf_frame *ret_frame)
{
	struct perf_frame frame = {.kind = FRAME_NATIVE};
	struct slice file;
	uint64_t address;

	trim(&line);
	if (!take_address(&line, &address))
		return false;
	trim(&line);
	split_frame(line, &frame.name, &file);
	trim(&frame.name);
	take_offset(&frame.name);
	if (equals(file, "inlined"))
		frame.kind = FRAME_INLINED;
	else if (is_kernel(address, file))
		frame.kind = FRAME_KERNEL;
	else if (is_jit(file))
		frame.kind = FRAME_JIT;
	if (frame.name.size == 0 || equals(frame.name, "[unknown]")) {
		frame.is_module = file.size > 0 && !equals(file, "[unknown]");
		frame.name = frame.is_module ? without_folders(file)
					     : (struct slice){"[unknown]", 9};
		if (frame.kind == FRAME_NATIVE)
			frame.kind = FRAME_LABEL;
	}
	*ret_frame = frame;
	return true;
}
