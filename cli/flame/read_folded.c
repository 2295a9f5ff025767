/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, as FlameGraph's stackcollapse scripts, inferno, bcc's profile
 * and async-profiler write them: "root;caller;leaf COUNT". Frames may hold
 * blanks; the count is behind the last one.
 */
#include <errno.h>
#include <string.h>

#include "stack.h"

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static void trim_end(struct slice *line)
{
	while (line->size > 0 && is_blank(line->at[line->size - 1]))
		line->size--;
}

/* A number, perhaps with decimals, which are rounded: some tools scale. */
static bool parse_count(struct slice text, uint64_t *ret_count)
{
	uint64_t count = 0;
	size_t i = 0;

	for (; i < text.size && is_digit(text.at[i]); i++) {
		uint64_t digit = (uint64_t)(text.at[i] - '0');

		if (count > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		count = 10 * count + digit;
	}
	if (i == 0)
		return false;
	if (i < text.size && text.at[i] == '.') {
		if (i + 1 < text.size && text.at[i + 1] >= '5')
			count++;
		for (i++; i < text.size && is_digit(text.at[i]); i++)
			;
	}
	*ret_count = count;
	return i == text.size;
}

static bool split_line(struct slice line, struct slice *ret_stack,
		       uint64_t *ret_count)
{
	size_t at;

	trim_end(&line);
	at = line.size;
	while (at > 0 && !is_blank(line.at[at - 1]))
		at--;
	*ret_stack = (struct slice){line.at, at};
	trim_end(ret_stack);
	return ret_stack->size > 0 &&
	       parse_count((struct slice){line.at + at, line.size - at},
			   ret_count);
}

/* Takes the suffix off; what stands in brackets is no code. */
static enum frame_kind take_kind(struct slice *name, bool is_first)
{
	const char *end = name->at + name->size;

	if (name->size > 4 && memcmp(end - 4, "_[", 2) == 0 && end[-1] == ']') {
		name->size -= 4;
		switch (end[-2]) {
		case 'k':
		case 'w': /* of the thread that woke this one */
			return FRAME_KERNEL;
		case 'i':
			return FRAME_INLINED;
		case 'j':
		case '0': /* async-profiler: interpreted, */
		case '1': /* and by the first compiler */
			return FRAME_JIT;
		default:
			name->size += 4;
		}
	}
	if (name->size > 2 && name->at[0] == '[' && end[-1] == ']')
		return FRAME_LABEL;
	return is_first ? FRAME_ROOT : FRAME_NATIVE;
}

/* bcc's delimiter between the user's and the kernel's frames. */
static bool is_delimiter(struct slice name)
{
	return (name.size == 1 && name.at[0] == '-') ||
	       (name.size == 2 && memcmp(name.at, "--", 2) == 0);
}

static int push_frames(struct stack *stack, struct slice text)
{
	static const struct slice unknown = {"[unknown]", 9};
	bool in_kernel = false, is_first = true, is_last = false;

	while (!is_last) {
		const char *end = memchr(text.at, ';', text.size);
		struct slice name = {text.at,
				     end ? (size_t)(end - text.at) : text.size};
		enum frame_kind kind;
		int err;

		is_last = !end;
		text.at += name.size + !is_last;
		text.size -= name.size + !is_last;
		if (!is_first && is_delimiter(name)) {
			in_kernel = true;
			continue;
		}
		if (name.size == 0)
			name = unknown;
		kind = take_kind(&name, is_first);
		err = stack_push(stack, name, in_kernel ? FRAME_KERNEL : kind);
		if (err)
			return err;
		is_first = false;
	}
	return 0;
}

int64_t read_folded(const char *text, size_t size,
		    const struct read_filter *filter, struct profile *profile)
{
	struct slice rest = {text, size}, line, frames;
	unsigned long line_number = 0, n_bad = 0, first_bad = 0;
	struct stack stack = {0};
	int64_t n_stacks = 0;
	int err = 0;

	while (!err && next_line(&rest, &line)) {
		uint64_t count;

		line_number++;
		if (split_line(line, &frames, &count)) {
			n_stacks++;
			err = push_frames(&stack, frames);
			if (!err)
				err = stack_add(&stack, filter, count, profile);
		} else if (line.size > 0 && n_bad++ == 0) {
			first_bad = line_number;
		}
	}
	stack_free(&stack);
	if (!err && n_bad > 0)
		err = profile_note(
			profile,
			"left out: %lu line%s without a count at the end, "
			"the first is line %lu",
			n_bad, n_bad == 1 ? "" : "s", first_bad);
	return err ? err : n_stacks;
}
