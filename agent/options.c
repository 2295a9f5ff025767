/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

static bool set_user(const char *value, struct options *options)
{
	options->raw_user = strcmp(value, "jdk26") == 0;
	return options->raw_user || strcmp(value, "scaled") == 0;
}

/* Whether there is such a source is found out later. */
static void set_source(const char *value, struct options *options)
{
	options->is_source_named = strcmp(value, "best") != 0;
	snprintf(options->source, sizeof(options->source), "%.31s", value);
}

static bool set_option(const char *word, struct options *options)
{
	if (strncmp(word, "user=", 5) == 0)
		return set_user(word + 5, options);
	if (strncmp(word, "source=", 7) == 0)
		set_source(word + 7, options);
	else if (strcmp(word, "verbose") == 0)
		options->verbose = true;
	else if (strcmp(word, "stats") == 0)
		options->stats = true;
	else if (strcmp(word, "off") == 0)
		options->off = true;
	else
		return false;
	return true;
}

bool options_parse(const char *text, struct options *ret_options, char *ret_why,
		   int why_size)
{
	const char *source = secure_getenv("CPUCLOCK_SOURCE");
	struct options options = {0};
	char word[64];

	if (source && *source)
		set_source(source, &options);
	while (text && *text) {
		size_t length = strcspn(text, ",");

		if (length == 0) {
			text++;
			continue;
		}
		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		if (length >= sizeof(word) || !set_option(word, &options)) {
			snprintf(ret_why, (size_t)why_size,
				 "no option '%s': there are user=scaled, "
				 "user=jdk26, source=NAME, verbose, stats, off",
				 word);
			return false;
		}
		text += length;
	}
	*ret_options = options;
	return true;
}
