/* SPDX-License-Identifier: MIT */
#include "write.h"

#include <string.h>

const struct writer *find_writer(const char *path)
{
	static struct writer writers[] = {
		{".html", write_html, true, NULL},
		{".svg", write_svg, true, NULL},
		{".folded", write_folded, true, NULL},
		{".json", write_speedscope, false, NULL},
		{".pb.gz", write_pprof, false, NULL},
	};

	for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++) {
		size_t length = strlen(writers[i].ending);
		size_t size = strlen(path);

		if (size < length ||
		    strcmp(path + size - length, writers[i].ending) != 0)
			continue;
		if (writers[i].write == write_pprof)
			writers[i].missing = gzip_missing;
		return &writers[i];
	}
	return NULL;
}
