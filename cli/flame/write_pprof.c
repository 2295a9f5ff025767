/* SPDX-License-Identifier: MIT */
/*
 * The format of pprof: a protocol buffer, gzipped. The numbers of fields are
 * those of its profile.proto.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "write.h"

struct buffer {
	unsigned char *bytes;
	size_t size, capacity;
	bool failed;
};

enum {
	/* Of Profile. */
	SAMPLE_TYPE = 1,
	SAMPLE = 2,
	LOCATION = 4,
	FUNCTION = 5,
	STRING_TABLE = 6,
	DURATION_NANOS = 10,
	PERIOD_TYPE = 11,
	PERIOD = 12,
	COMMENT = 13,
};

/* What stands at the head of the table of strings; frames follow. */
static const char *const strings[] = {"", "samples", "count", "cpu",
				      "nanoseconds"};
enum { STRING_SAMPLES = 1, STRING_COUNT, STRING_CPU, STRING_NS, N_STRINGS };

static void put(struct buffer *buffer, const void *bytes, size_t size)
{
	if (buffer->capacity - buffer->size < size) {
		size_t capacity = 2 * buffer->capacity + size + 64;
		unsigned char *larger = realloc(buffer->bytes, capacity);

		if (!larger) {
			buffer->failed = true;
			return;
		}
		buffer->bytes = larger;
		buffer->capacity = capacity;
	}
	if (size > 0)
		memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
}

static void put_varint(struct buffer *buffer, uint64_t value)
{
	unsigned char bytes[10];
	size_t n = 0;

	while (value >= 0x80) {
		bytes[n++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (unsigned char)value;
	put(buffer, bytes, n);
}

static void put_integer(struct buffer *buffer, unsigned int field,
			uint64_t value)
{
	put_varint(buffer, field << 3);
	put_varint(buffer, value);
}

static void put_bytes(struct buffer *buffer, unsigned int field,
		      const void *bytes, size_t size)
{
	put_varint(buffer, field << 3 | 2);
	put_varint(buffer, size);
	put(buffer, bytes, size);
}

/* Puts a message that is in a buffer of its own, and empties that. */
static void put_message(struct buffer *buffer, unsigned int field,
			struct buffer *message)
{
	put_bytes(buffer, field, message->bytes, message->size);
	buffer->failed |= message->failed;
	message->size = 0;
}

static void put_type(struct buffer *buffer, unsigned int field, uint64_t type,
		     uint64_t unit)
{
	struct buffer message = {0};

	put_integer(&message, 1, type);
	put_integer(&message, 2, unit);
	put_message(buffer, field, &message);
	free(message.bytes);
}

/* Each frame is a function, and the one place in it that is known. */
static void put_frames(struct buffer *buffer, const struct profile *profile,
		       char **names)
{
	struct buffer message = {0}, line = {0};

	for (size_t i = 0; i < N_STRINGS; i++)
		put_bytes(buffer, STRING_TABLE, strings[i], strlen(strings[i]));
	for (size_t i = 1; i < profile->n_frames; i++) {
		put_bytes(buffer, STRING_TABLE, names[i], strlen(names[i]));
		put_integer(&message, 1, i);
		put_integer(&message, 2, N_STRINGS + i - 1);
		put_integer(&message, 3, N_STRINGS + i - 1);
		put_message(buffer, FUNCTION, &message);
		put_integer(&line, 1, i);
		put_integer(&message, 1, i);
		put_message(&message, 4, &line);
		put_message(buffer, LOCATION, &message);
	}
	for (size_t i = 0; i < profile->about.n_notes; i++)
		put_integer(buffer, COMMENT,
			    N_STRINGS + profile->n_frames - 1 + i);
	for (size_t i = 0; i < profile->about.n_notes; i++)
		put_bytes(buffer, STRING_TABLE, profile->about.notes[i],
			  strlen(profile->about.notes[i]));
	free(message.bytes);
	free(line.bytes);
}

static int put_samples(struct buffer *buffer, const struct profile *profile)
{
	const struct profile_node *node = &profile->root;
	struct buffer message = {0}, packed = {0};
	struct path path = {0};
	int err = 0;

	for (; node && !err; node = profile_next(node)) {
		if (node->self == 0)
			continue;
		err = path_of(node, &path);
		/* The innermost comes first. */
		for (size_t i = err ? 0 : path.n_nodes; i-- > 0;)
			put_varint(&packed, path.nodes[i]->frame);
		put_message(&message, 1, &packed);
		put_varint(&packed, node->self);
		if (profile->about.sample_ns >= 0)
			put_varint(&packed,
				   node->self *
					   (uint64_t)profile->about.sample_ns);
		put_message(&message, 2, &packed);
		put_message(buffer, SAMPLE, &message);
	}
	path_free(&path);
	free(message.bytes);
	free(packed.bytes);
	return err;
}

int write_pprof(const struct profile *profile, FILE *stream)
{
	char **names = names_new(profile, SIZE_MAX);
	struct buffer buffer = {0};
	int err;

	if (!names)
		return -ENOMEM;
	put_type(&buffer, SAMPLE_TYPE, STRING_SAMPLES, STRING_COUNT);
	if (profile->about.sample_ns >= 0) {
		put_type(&buffer, SAMPLE_TYPE, STRING_CPU, STRING_NS);
		put_type(&buffer, PERIOD_TYPE, STRING_CPU, STRING_NS);
		put_integer(&buffer, PERIOD,
			    (uint64_t)profile->about.sample_ns);
	}
	if (profile->about.wall_ns >= 0)
		put_integer(&buffer, DURATION_NANOS,
			    (uint64_t)profile->about.wall_ns);
	put_frames(&buffer, profile, names);
	err = put_samples(&buffer, profile);
	if (!err && buffer.failed)
		err = -ENOMEM;
	if (!err)
		err = write_gzip(buffer.bytes, buffer.size, stream);
	free(buffer.bytes);
	names_free(profile, names);
	return err;
}
