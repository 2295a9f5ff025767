/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug_file.h"

#define FOLDER "/usr/lib/debug"

static bool try_path(const struct object *object, const char *path,
		     const struct build_id *id, struct elf_file *ret_file)
{
	struct bytes bytes = {.fd = root_open(object->root, path, true)};
	struct stat stat;

	if (bytes.fd < 0)
		return false;
	if (fstat(bytes.fd, &stat) == 0) {
		bytes.size = (uint64_t)stat.st_size;
		if (elf_file_open(ret_file, &bytes) == 0) {
			if (build_id_equal(id, &ret_file->build_id))
				return true;
			elf_file_close(ret_file);
		}
	}
	close(bytes.fd);
	ret_file->bytes.fd = -1;
	return false;
}

static bool try_build_id(const struct object *object, const struct build_id *id,
			 struct elf_file *ret_file)
{
	char path[sizeof(FOLDER) + 64];
	int length = snprintf(path, sizeof(path), FOLDER "/.build-id/%02x/",
			      id->bytes[0]);

	for (size_t i = 1; i < id->size; i++)
		length += snprintf(path + length, sizeof(path) - (size_t)length,
				   "%02x", id->bytes[i]);
	snprintf(path + length, sizeof(path) - (size_t)length, ".debug");
	return try_path(object, path, id, ret_file);
}

static bool try_folder(const struct object *object, const char *before,
		       const char *between, const char *name,
		       struct elf_file *ret_file)
{
	int folder = (int)(object->name - object->path);
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%.*s%s%s", before, folder,
			     object->path, between, name) >= sizeof(path))
		return false;
	return try_path(object, path, &object->file.build_id, ret_file);
}

static bool try_link(const struct object *object, struct elf_file *ret_file)
{
	const Elf64_Shdr *section =
		elf_file_section(&object->file, ".gnu_debuglink");
	char *name = section ? elf_file_copy(&object->file, section) : NULL;
	bool found = false;

	/* A name, not a path that leads elsewhere. */
	if (name && *name && !strchr(name, '/'))
		found = try_folder(object, "", "", name, ret_file) ||
			try_folder(object, "", ".debug/", name, ret_file) ||
			try_folder(object, FOLDER, "", name, ret_file);
	free(name);
	return found;
}

bool debug_file_open(const struct object *object, struct elf_file *ret_file)
{
	if (object->file.build_id.size == 0 || *object->path != '/')
		return false;
	return try_build_id(object, &object->file.build_id, ret_file) ||
	       try_link(object, ret_file);
}

bool debug_file_open_shared(const struct object *object, const char *path,
			    const struct build_id *id,
			    struct elf_file *ret_file)
{
	return id->size > 0 &&
	       (try_build_id(object, id, ret_file) ||
		(*path == '/' && try_path(object, path, id, ret_file)));
}
