/* SPDX-License-Identifier: MIT */
/* cli/flame/kallsyms against a second, slower reading of the same bytes. */
#include <stdlib.h>

#include "flame/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t addresses[] = {
	1,
	0x1000,
	0x1001,
	UINT64_C(0xffffffff81000000),
	UINT64_C(0xffffffff81000fff),
	UINT64_MAX,
};

#define N (sizeof(addresses) / sizeof(addresses[0]))

static void check(int ok)
{
	if (!ok)
		abort();
}

/* Is the name's line there, and its function not above the address? */
static void check_name(struct slice text, struct slice name, uint64_t address)
{
	const char *line = name.text;
	struct slice rest;
	uint64_t start;

	check(name.text > text.text &&
	      name.text + name.length <= text.text + text.length);
	check(!memchr(name.text, '\n', name.length) &&
	      !memchr(name.text, '\t', name.length));
	while (line > text.text && line[-1] != '\n')
		line--;
	rest = (struct slice){line, (size_t)(name.text - line)};
	check(slice_take_hex(&rest, ' ', &start));
	check(start > 0 && start <= address);
	check(rest.length == 2 && strchr("tTwW", rest.text[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = {(const char *)data, size};
	struct slice names[N];
	bool shown = kallsyms_resolve(text, addresses, N, names);

	for (size_t i = 0; i < N; i++) {
		if (names[i].length == 0)
			continue;
		check(shown);
		check_name(text, names[i], addresses[i]);
		check(i + 1 == N || names[i + 1].length > 0);
	}
	return 0;
}
