/* SPDX-License-Identifier: MIT */
/* From the places of samples to the names of frames, once they are all there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cmd.h"
#include "demangle.h"
#include "inlines.h"
#include "jit.h"
#include "kallsyms.h"
#include "session.h"
#include "slurp.h"

#define MAX_KALLSYMS ((size_t)1 << 28)

/* A place's frames, the outermost first: one, and what was inlined in it. */
struct named {
	struct frame *frames;
	size_t n;
};

struct resolver {
	struct session *session;
	struct named *named; /* by place */
	char *kallsyms;
	struct slice *kernel_names; /* of the sorted addresses */
	uint64_t *kernel_addresses;
	size_t n_kernel;
	bool kernel_hidden;
	struct jit jit;
	bool failed;
};

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void read_kernel(struct resolver *resolver)
{
	const struct stacks *stacks = &resolver->session->stacks;
	size_t n = 0, length = 0;
	struct slice text;

	resolver->kernel_addresses =
		calloc(stacks->n_places + 1, sizeof(uint64_t));
	resolver->kernel_names =
		calloc(stacks->n_places + 1, sizeof(struct slice));
	if (!resolver->kernel_addresses || !resolver->kernel_names) {
		resolver->failed = true;
		return;
	}
	for (uint32_t i = 1; i < stacks->n_places; i++) {
		if (stacks->places[i].kind == PLACE_KERNEL)
			resolver->kernel_addresses[n++] =
				stacks->places[i].address;
	}
	if (n == 0)
		return;
	qsort(resolver->kernel_addresses, n, sizeof(uint64_t), compare);
	resolver->n_kernel = n;
	resolver->kallsyms = slurp("/proc/kallsyms", MAX_KALLSYMS, &length);
	text = (struct slice){resolver->kallsyms, length};
	resolver->kernel_hidden = !kallsyms_resolve(
		text, resolver->kernel_addresses, n, resolver->kernel_names);
	if (resolver->kernel_hidden)
		profile_note(resolver->session->profile,
			     "kernel functions have no names: /proc/kallsyms "
			     "hides their addresses (kernel.kptr_restrict)");
}

/* Takes the name over. */
static void add_frame(struct resolver *resolver, struct named *named,
		      enum frame_kind kind, char *name)
{
	struct frame *frames =
		realloc(named->frames, (named->n + 1) * sizeof(*frames));

	if (frames)
		named->frames = frames;
	if (!frames || !name) {
		resolver->failed = true;
		free(name);
		return;
	}
	frames[named->n++] = (struct frame){name, kind};
}

static char *readable(const char *name)
{
	char *demangled = demangle(name);

	return demangled ? demangled : strdup(name);
}

static char *bracketed(const char *name)
{
	char *text;

	if (*name == '[')
		return strdup(name);
	return asprintf(&text, "[%s]", name) < 0 ? NULL : text;
}

static void name_object(struct resolver *resolver, struct named *named,
			const struct place *place)
{
	struct object *object = place->object;
	const char *inlined[INLINES_MAX];
	const char *name = NULL;
	size_t n;

	if (object->is_elf)
		name = symbols_find(object_symbols(object), place->address);
	add_frame(resolver, named, FRAME_NATIVE,
		  name ? readable(name) : bracketed(object->name));
	n = inlines_find(object, place->address, inlined);
	for (size_t i = 0; i < n; i++)
		add_frame(resolver, named, FRAME_INLINED, readable(inlined[i]));
	if (object->replaced)
		profile_note(resolver->session->profile,
			     "%s was replaced since it was loaded: its frames "
			     "have no names",
			     object->path);
}

static void name_kernel(struct resolver *resolver, struct named *named,
			const struct place *place)
{
	size_t i = slice_count_below(resolver->kernel_addresses,
				     resolver->n_kernel, place->address);
	struct slice name = resolver->kernel_names[i];

	add_frame(resolver, named, FRAME_KERNEL,
		  name.length ? strndup(name.text, name.length)
			      : strdup("[kernel]"));
}

static void name_memory(struct resolver *resolver, struct named *named,
			const struct place *place)
{
	struct slice name = jit_find(&resolver->jit, place);

	if (name.length > 0)
		add_frame(resolver, named, FRAME_JIT,
			  strndup(name.text, name.length));
	else
		add_frame(resolver, named, FRAME_LABEL, strdup("[unknown]"));
}

static void name_place(struct resolver *resolver, uint32_t number)
{
	const struct place *place = &resolver->session->stacks.places[number];
	struct named *named = &resolver->named[number];

	switch (place->kind) {
	case PLACE_ROOT:
		add_frame(resolver, named, FRAME_ROOT, strdup(place->text));
		break;
	case PLACE_LABEL:
		add_frame(resolver, named, FRAME_LABEL, strdup(place->text));
		break;
	case PLACE_OBJECT:
		name_object(resolver, named, place);
		break;
	case PLACE_MEMORY:
		name_memory(resolver, named, place);
		break;
	case PLACE_KERNEL:
		name_kernel(resolver, named, place);
		break;
	}
}

/* The frames from the root up to a node, filled from behind. */
static size_t count_frames(const struct resolver *resolver, uint32_t node)
{
	const struct stacks *stacks = &resolver->session->stacks;
	size_t n = 0;

	for (; node; node = stacks->nodes[node].parent)
		n += resolver->named[stacks->nodes[node].place].n;
	return n;
}

static void add_stack(struct resolver *resolver, uint32_t node)
{
	const struct stacks *stacks = &resolver->session->stacks;
	uint64_t samples = stacks->nodes[node].samples;
	size_t n = count_frames(resolver, node), i = n;
	struct frame *frames = calloc(n + 1, sizeof(*frames));
	bool in_kernel = false;

	for (; frames && node; node = stacks->nodes[node].parent) {
		uint32_t place = stacks->nodes[node].place;
		const struct named *named = &resolver->named[place];
		bool kernel = stacks->places[place].kind == PLACE_KERNEL;

		/* Hidden, the kernel's part is one frame. */
		if (!(kernel && in_kernel && resolver->kernel_hidden)) {
			i -= named->n;
			memcpy(frames + i, named->frames,
			       named->n * sizeof(*frames));
		}
		in_kernel = kernel;
	}
	if (!frames || profile_add(resolver->session->profile, frames + i,
				   n - i, samples) != 0)
		resolver->failed = true;
	free(frames);
}

static void free_resolver(struct resolver *resolver)
{
	uint32_t n = resolver->session->stacks.n_places;

	for (uint32_t i = 0; resolver->named && i < n; i++) {
		for (size_t j = 0; j < resolver->named[i].n; j++)
			free((char *)(uintptr_t)resolver->named[i]
				     .frames[j]
				     .name);
		free(resolver->named[i].frames);
	}
	free(resolver->named);
	free(resolver->kernel_addresses);
	free(resolver->kernel_names);
	free(resolver->kallsyms);
	jit_close(&resolver->jit);
}

int session_resolve(struct session *session)
{
	struct stacks *stacks = &session->stacks;
	struct resolver resolver = {.session = session};

	resolver.named = calloc(stacks->n_places + 1, sizeof(struct named));
	resolver.failed = !resolver.named || stacks->out_of_memory;
	if (!resolver.failed)
		read_kernel(&resolver);
	if (!resolver.failed)
		resolver.failed =
			!jit_open(&resolver.jit, stacks, session->profile);
	for (uint32_t i = 1; i < stacks->n_places && !resolver.failed; i++)
		name_place(&resolver, i);
	for (uint32_t i = 1; i < stacks->n_nodes && !resolver.failed; i++) {
		if (stacks->nodes[i].samples > 0)
			add_stack(&resolver, i);
	}
	if (inlines_gave_up())
		profile_note(session->profile,
			     "there is so much debug information that not all "
			     "inlined functions were looked up");
	free_resolver(&resolver);
	return resolver.failed ? cmd_fail(&cmd_flame, "out of memory") : CMD_OK;
}
