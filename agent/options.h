/* SPDX-License-Identifier: MIT */
/* The text after the "=" of -agentpath, and what it asks for. */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H

#include <stdbool.h>

struct options {
	bool raw_user; /* user=jdk26 */
	bool verbose;
	bool stats;
	bool off;
	bool is_source_named; /* or the best one is to be found */
	char source[32];
};

/*
 * Reads the text, which may be NULL. False, and a sentence on what is wrong, if
 * it is not understood.
 */
bool options_parse(const char *text, struct options *ret_options, char *ret_why,
		   int why_size);

#endif
