/* SPDX-License-Identifier: MIT */
/* For builds without libdw. */
#include "inlines.h"

size_t inlines_find(struct object *object, uint64_t address,
		    const char *ret_names[INLINES_MAX])
{
	(void)object;
	(void)address;
	(void)ret_names;
	return 0;
}

void inlines_close(struct inlines *inlines)
{
	(void)inlines;
}

bool inlines_gave_up(void)
{
	return false;
}
