/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_FLAME_OPTIONS_H
#define CPUCLOCK_FLAME_OPTIONS_H

#include "flame.h"
#include "write.h"

struct flame_command {
	struct flame_options flame;
	const char *from;   /* a file in place of a sampler */
	const char *before; /* and the one that it is compared with */
	const char *title;
	const char *output;
	const struct writer *writer; /* NULL: text on standard output */
};

/* CMD_OK; an exit status, and what is wrong is said; -1 if help was asked for.
 * To be freed in each case. */
int flame_parse(int argc, char **argv, struct flame_command *command);
void flame_command_free(struct flame_command *command);

#endif
