/* SPDX-License-Identifier: MIT */
/* cli/flame/procmaps: what comes out is in the text, whole, and in order. */
#include <stdlib.h>

#include "flame/procmaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = {(const char *)data, size};
	const char *end = text.text + size;
	struct procmap map;
	char path[32];

	while (procmaps_next(&text, &map)) {
		check(map.start < map.end);
		check(text.text <= end &&
		      text.length == (size_t)(end - text.text));
		check(map.path.text + map.path.length <= text.text);
		check(!memchr(map.path.text, '\n', map.path.length));
		procmaps_path(map.path, path, sizeof(path));
		check(strnlen(path, sizeof(path)) <= map.path.length);
		check(memchr(path, '\0', sizeof(path)) != NULL);
	}
	return 0;
}
