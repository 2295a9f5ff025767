/* SPDX-License-Identifier: MIT */
#include "stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool next_line(struct slice *text, struct slice *ret_line)
{
	const char *end;

	if (text->size == 0)
		return false;
	end = memchr(text->at, '\n', text->size);
	*ret_line = (struct slice){text->at,
				   end ? (size_t)(end - text->at) : text->size};
	text->at += ret_line->size + (end != NULL);
	text->size -= ret_line->size + (end != NULL);
	if (ret_line->size > 0 && ret_line->at[ret_line->size - 1] == '\r')
		ret_line->size--;
	return true;
}

static int make_room(struct stack *stack, size_t more)
{
	if (stack->n_frames == stack->capacity) {
		size_t capacity = 2 * stack->capacity + 64;
		struct frame *frames =
			reallocarray(stack->frames, capacity, sizeof(*frames));
		size_t *starts;

		if (!frames)
			return -ENOMEM;
		stack->frames = frames;
		starts = reallocarray(stack->starts, capacity, sizeof(*starts));
		if (!starts)
			return -ENOMEM;
		stack->starts = starts;
		stack->capacity = capacity;
	}
	if (stack->names_capacity - stack->n_names < more) {
		size_t capacity = 2 * stack->names_capacity + more;
		char *names = realloc(stack->names, capacity);

		if (!names)
			return -ENOMEM;
		stack->names = names;
		stack->names_capacity = capacity;
	}
	return 0;
}

int stack_push(struct stack *stack, struct slice name, enum frame_kind kind)
{
	int err = make_room(stack, name.size + 1);
	char *kept, *nul;

	if (err)
		return err;
	kept = stack->names + stack->n_names;
	memcpy(kept, name.at, name.size);
	kept[name.size] = '\0';
	while ((nul = memchr(kept, '\0', name.size)))
		*nul = '?';
	stack->starts[stack->n_frames] = stack->n_names;
	stack->frames[stack->n_frames++].kind = kind;
	stack->n_names += name.size + 1;
	return 0;
}

void stack_reverse(struct stack *stack)
{
	for (size_t i = 0, j = stack->n_frames; i + 1 < j; i++) {
		enum frame_kind kind = stack->frames[i].kind;
		size_t start = stack->starts[i];

		j--;
		stack->frames[i].kind = stack->frames[j].kind;
		stack->starts[i] = stack->starts[j];
		stack->frames[j].kind = kind;
		stack->starts[j] = start;
	}
}

/* An inlined function is where the function is that it was compiled into. */
static bool ends_in_kernel(const struct stack *stack)
{
	size_t i = stack->n_frames;

	while (i > 0 && stack->frames[i - 1].kind == FRAME_INLINED)
		i--;
	return i > 0 && stack->frames[i - 1].kind == FRAME_KERNEL;
}

int stack_add(struct stack *stack, const struct read_filter *filter,
	      uint64_t samples, struct profile *profile)
{
	bool in_kernel = ends_in_kernel(stack);
	int err = 0;

	for (size_t i = 0; i < stack->n_frames; i++)
		stack->frames[i].name = stack->names + stack->starts[i];
	if (!(in_kernel ? filter->user_only : filter->kernel_only))
		err = (filter->before ? profile_add_before : profile_add)(
			profile, stack->frames, stack->n_frames, samples);
	stack_clear(stack);
	return err;
}

void stack_clear(struct stack *stack)
{
	stack->n_frames = stack->n_names = 0;
}

void stack_free(struct stack *stack)
{
	free(stack->frames);
	free(stack->starts);
	free(stack->names);
}
