/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cfi.h"
#include "debug_file.h"
#include "inlines.h"
#include "living.h"
#include "object.h"
#include "procmaps.h"

#define DELETED " (deleted)"
#define VDSO	"[vdso]"

static size_t hash(const char *path, const struct root *root)
{
	size_t value = (size_t)root / 16;

	while (*path)
		value = value * 31 + (unsigned char)*path++;
	return value % 1024;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static struct object *new_object(const char *path, const struct root *root,
				 const struct build_id *build_id)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->path = strdup(path);
	if (!object->path) {
		free(object);
		return NULL;
	}
	object->name = last_part(object->path);
	object->root = root;
	object->build_id = *build_id;
	object->file.bytes.fd = object->debug.bytes.fd = -1;
	return object;
}

/* Where an id is unknown, as it is in /proc/PID/maps, the path tells. */
static bool is_same(const struct object *object, const char *path,
		    const struct root *root, const struct build_id *build_id)
{
	return object->root == root && strcmp(object->path, path) == 0 &&
	       (object->build_id.size == 0 || build_id->size == 0 ||
		build_id_equal(&object->build_id, build_id));
}

struct object *objects_get(struct objects *objects, const char *path,
			   const struct root *root,
			   const struct build_id *build_id)
{
	struct object **bucket = &objects->buckets[hash(path, root)];
	struct object *object;

	for (object = *bucket; object; object = object->next) {
		if (is_same(object, path, root, build_id))
			return object;
	}
	object = new_object(path, root, build_id);
	if (object) {
		object->next = *bucket;
		*bucket = object;
	}
	return object;
}

static void close_file(struct elf_file *file)
{
	elf_file_close(file);
	if (file->bytes.fd >= 0)
		close(file->bytes.fd);
}

static void object_free(struct object *object)
{
	cfi_close(object->cfi);
	inlines_close(object->inlines);
	symbols_free(&object->symbols);
	close_file(&object->debug);
	close_file(&object->file);
	free(object->path);
	free(object);
}

void objects_free(struct objects *objects)
{
	for (size_t i = 0; i < 1024; i++) {
		while (objects->buckets[i]) {
			struct object *object = objects->buckets[i];

			objects->buckets[i] = object->next;
			object_free(object);
		}
	}
}

/* Takes the descriptor over; false, and closed, if it is not the file. */
static bool try_file(struct object *object, int fd)
{
	struct bytes bytes = {.fd = fd};
	struct stat stat;

	if (fd < 0)
		return false;
	if (fstat(fd, &stat) == 0) {
		bytes.size = (uint64_t)stat.st_size;
		if (elf_file_open(&object->file, &bytes) == 0) {
			if (object->build_id.size == 0 ||
			    build_id_equal(&object->build_id,
					   &object->file.build_id))
				return true;
			object->replaced = true;
			elf_file_close(&object->file);
		}
	}
	object->file.bytes.fd = -1;
	close(fd);
	return false;
}

/* The file itself, whatever has become of its name. */
static bool try_mapped(struct object *object, const struct object_place *place)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx",
		 (int)living_thread(place->pid),
		 (unsigned long long)place->start,
		 (unsigned long long)place->end);
	return try_file(object, root_open(NULL, path, true));
}

/* The program's own file: who may not read map_files may read this. */
static bool try_program(struct object *object, const struct object_place *place)
{
	char path[64], target[4096];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe",
		 (int)living_thread(place->pid));
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	if (strcmp(target, object->path) != 0)
		return false;
	return try_file(object, root_open(NULL, path, true));
}

/* The kernel's own piece of code, the same in all processes of this kind. */
static bool open_vdso(struct object *object)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	struct bytes bytes = {.fd = -1, .memory = (const uint8_t *)start};
	char line[512];
	FILE *maps;

	if (!start)
		return false;
	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return false;
	while (fgets(line, sizeof(line), maps)) {
		struct slice text = {line, strlen(line)};
		struct procmap map;

		if (procmaps_next(&text, &map) && map.start == start)
			bytes.size = map.end - map.start;
	}
	fclose(maps);
	return bytes.size > 0 && elf_file_open(&object->file, &bytes) == 0;
}

static bool ends_in_deleted(const char *path)
{
	size_t length = strlen(path), suffix = sizeof(DELETED) - 1;

	return length > suffix && strcmp(path + length - suffix, DELETED) == 0;
}

void object_open(struct object *object, const struct object_place *place)
{
	if (object->opened)
		return;
	object->opened = true;
	if (strcmp(object->path, VDSO) == 0) {
		object->is_elf = open_vdso(object);
		return;
	}
	if (*object->path != '/')
		return;
	object->is_elf =
		(!ends_in_deleted(object->path) &&
		 try_file(object,
			  root_open(object->root, object->path, true))) ||
		try_mapped(object, place) || try_program(object, place);
	if (object->is_elf)
		object->replaced = false;
}

const struct symbols *object_symbols(struct object *object)
{
	struct symbols more;

	if (object->has_symbols || !object->is_elf)
		return &object->symbols;
	object->has_symbols = true;
	object->has_debug = debug_file_open(object, &object->debug);
	if (symbols_read(&object->symbols, &object->file))
		return &object->symbols;
	/* Only what it exports: what was stripped knows it all. */
	if (!object->has_debug)
		return &object->symbols;
	if (symbols_read(&more, &object->debug)) {
		struct symbols fewer = object->symbols;

		object->symbols = more;
		more = fewer;
	}
	symbols_free(&more);
	return &object->symbols;
}
