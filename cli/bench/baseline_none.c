/* SPDX-License-Identifier: MIT */
/* In place of baseline.c in a build without jansson. */
#include "bench.h"

struct baseline *baseline_open(const char *path, char *message, size_t size)
{
	snprintf(message, size,
		 "cannot read %s: this cpuclock was built without jansson",
		 path);
	return NULL;
}

void baseline_close(struct baseline *baseline)
{
	(void)baseline;
}

bool baseline_report(const struct baseline *baseline, const struct bench *bench,
		     FILE *stream)
{
	(void)baseline;
	(void)bench;
	(void)stream;
	return false;
}
