/* SPDX-License-Identifier: MIT */
/* The file format of speedscope: one profile of weighted stacks. Whole numbers
 * alone: it takes no others. */
#include <errno.h>

#include "../json.h"
#include "facts.h"
#include "names.h"
#include "write.h"

/* Nanoseconds, if each count's are known and the sum is exact in JavaScript. */
static int64_t scale_of(const struct profile *profile)
{
	double ns = profile_ns(profile, profile->root.total);

	return ns >= 0 && ns < 0x1p53 ? profile->about.sample_ns : 0;
}

static int write_samples(const struct profile *profile, struct json *json)
{
	const struct profile_node *node = &profile->root;
	struct path path = {0};
	int err = 0;

	json_begin_array(json, "samples");
	for (; node && !err; node = profile_next(node)) {
		if (node->self == 0)
			continue;
		err = path_of(node, &path);
		json_begin_array(json, NULL);
		for (size_t i = 0; !err && i < path.n_nodes; i++)
			json_integer(json, NULL, path.nodes[i]->frame);
		json_end_array(json);
	}
	json_end_array(json);
	path_free(&path);
	return err;
}

static void write_weights(const struct profile *profile, struct json *json,
			  int64_t scale)
{
	const struct profile_node *node = &profile->root;

	json_begin_array(json, "weights");
	for (; node; node = profile_next(node)) {
		if (node->self > 0)
			json_integer(json, NULL, (int64_t)node->self * scale);
	}
	json_end_array(json);
}

int write_speedscope(const struct profile *profile, FILE *stream)
{
	struct json json = {.stream = stream, .compact = true};
	char **names = names_new(profile, SIZE_MAX);
	int64_t scale = scale_of(profile);
	struct facts facts;
	int err;

	if (!names)
		return -ENOMEM;
	facts_of(profile, &facts);
	json_begin_object(&json, NULL);
	json_string(&json, "$schema",
		    "https://www.speedscope.app/file-format-schema.json");
	json_string(&json, "exporter", "cpuclock " CPUCLOCK_VERSION);
	json_string(&json, "name", facts.title);
	json_integer(&json, "activeProfileIndex", 0);
	json_begin_object(&json, "shared");
	json_begin_array(&json, "frames");
	for (size_t i = 0; i < profile->n_frames; i++) {
		json_begin_object(&json, NULL);
		json_string(&json, "name", names[i]);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	json_begin_array(&json, "profiles");
	json_begin_object(&json, NULL);
	json_string(&json, "type", "sampled");
	json_string(&json, "name", facts.title);
	json_string(&json, "unit", scale ? "nanoseconds" : "none");
	json_integer(&json, "startValue", 0);
	json_integer(&json, "endValue",
		     (int64_t)profile->root.total * (scale ? scale : 1));
	err = write_samples(profile, &json);
	write_weights(profile, &json, scale ? scale : 1);
	json_end_object(&json);
	json_end_array(&json);
	json_end_object(&json);
	names_free(profile, names);
	return err;
}
