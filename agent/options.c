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

static bool set_source(const char *value, struct options *options)
{
	size_t length = strlen(value);

	if (length == 0 || length >= sizeof(options->source))
		return false;
	if (strcmp(value, "best") == 0)
		length = 0, value = "";
	memcpy(options->source, value, length + 1);
	return true;
}

static bool set_option(const char *word, struct options *options)
{
	if (strncmp(word, "user=", 5) == 0)
		return set_user(word + 5, options);
	if (strncmp(word, "source=", 7) == 0)
		return set_source(word + 7, options);
	if (strcmp(word, "verbose") == 0)
		options->verbose = true;
	else if (strcmp(word, "stats") == 0)
		options->stats = true;
	else if (strcmp(word, "off") == 0)
		options->off = true;
	else
		return false;
	return true;
}

/* What the process's own environment says of all of cpuclock's programs. */
static bool take_environment(struct options *options, char *ret_why, int size)
{
	const char *name = secure_getenv("CPUCLOCK_SOURCE");

	if (!name || !*name || set_source(name, options))
		return true;
	snprintf(ret_why, (size_t)size, "CPUCLOCK_SOURCE is no source: '%.40s'",
		 name);
	return false;
}

bool options_parse(const char *text, struct options *ret_options, char *ret_why,
		   int why_size)
{
	struct options options = {0};
	char word[64];

	if (!take_environment(&options, ret_why, why_size))
		return false;
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
