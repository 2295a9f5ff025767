/* SPDX-License-Identifier: MIT */
/* cli/flame/perf_map against a second reading of the lines that it named by. */
#include <stdlib.h>

#include "flame/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t addresses[] = {
	0, 1, 0x1000, 0x1001, UINT64_C(0x7f0000000000), UINT64_MAX,
};

#define N (sizeof(addresses) / sizeof(addresses[0]))

static void check(int ok)
{
	if (!ok)
		abort();
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 16);
}

static void check_name(struct slice text, struct slice name, uint64_t address)
{
	const char *line = name.text, *size;
	char copy[64] = {0};

	check(name.text > text.text &&
	      name.text + name.length <= text.text + text.length);
	check(!memchr(name.text, '\n', name.length));
	while (line > text.text && line[-1] != '\n')
		line--;
	/* Long ones have zeros in front. */
	if ((size_t)(name.text - line) >= sizeof(copy))
		return;
	memcpy(copy, line, (size_t)(name.text - line));
	size = strchr(copy, ' ');
	check(size != NULL);
	check(address - number(copy) < number(size + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = {(const char *)data, size};
	struct slice names[N];

	perf_map_resolve(text, addresses, N, names);
	for (size_t i = 0; i < N; i++) {
		if (names[i].length > 0)
			check_name(text, names[i], addresses[i]);
	}
	return 0;
}
