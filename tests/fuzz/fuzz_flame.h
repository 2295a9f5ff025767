/* SPDX-License-Identifier: MIT */
/* What must hold of a profile that was read, shared by the readers' fuzzers. */
#ifndef CPUCLOCK_TESTS_FUZZ_FLAME_H
#define CPUCLOCK_TESTS_FUZZ_FLAME_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flame/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
	if (!ok)
		abort();
}

static void check_node(const struct profile_node *node)
{
	const struct profile_node *child = node->child;
	uint64_t sum = node->self;

	for (; child; child = child->sibling) {
		check(child->parent == node && child->total > 0);
		check(!child->sibling ||
		      strcmp(child->name, child->sibling->name) <= 0);
		sum += child->total;
	}
	check(sum == node->total);
}

static void check_reader(int64_t (*reader)(const char *, size_t,
					   const struct read_filter *,
					   struct profile *),
			 const char *text, size_t size)
{
	/* The first byte chooses what is taken. */
	const struct read_filter filter = {
		.user_only = size > 0 && *text == 'U',
		.kernel_only = size > 0 && *text == 'K',
		.by_thread = size > 0 && *text == 'T',
	};
	struct profile *profile = profile_new();
	const struct profile_node *node;
	int64_t n_stacks;

	check(profile != NULL);
	n_stacks = reader(text, size, &filter, profile);
	check(n_stacks >= 0 || n_stacks == -EOVERFLOW);
	check(profile_finish(profile) == 0);
	for (node = &profile->root; node; node = profile_next(node))
		check_node(node);
	check(profile->root.total <= INT64_MAX);
	profile_free(profile);
}

#endif
