/* SPDX-License-Identifier: MIT */
/*
 * /tmp/perf-PID.map, where the process sees /tmp and has that PID: in its
 * container. They are read at the end, when what was compiled is in them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../monotonic.h"
#include "jit.h"
#include "perf_map.h"
#include "slurp.h"

#define MAX_SIZE ((size_t)256 << 20)
#define MAX_NAME 4096
#define TRY_NS	 INT64_C(1000000000)

struct entry {
	struct process *process;
	uint64_t address;
};

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->process != b->process)
		return (uintptr_t)a->process < (uintptr_t)b->process ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static int open_map(const struct process *process, char *path, size_t size)
{
	snprintf(path, size, "/tmp/perf-%d.map", (int)process->inner_pid);
	return root_open(process->root, path, false);
}

void jit_hold(struct process *process)
{
	int64_t now_ns;
	char path[64];

	if (process->map_fd >= 0)
		return;
	now_ns = monotonic_now();
	if (process->map_tried_ns && now_ns - process->map_tried_ns < TRY_NS)
		return;
	process->map_tried_ns = now_ns;
	process->map_fd = open_map(process, path, sizeof(path));
	if (process->map_fd < 0)
		process->map_fd = -1;
}

/*
 * /tmp is anybody's: what is no file, a link, or another user's is not the
 * run-time's own.
 */
static char *read_map(struct profile *profile, struct process *process,
		      size_t *ret_length)
{
	struct stat stat;
	char path[64];
	int fd = open_map(process, path, sizeof(path));

	if (fd == -ELOOP)
		profile_note(profile, "%s was not read: it is a symbolic link",
			     path);
	if (fd < 0 && fd != -ELOOP) {
		fd = process->map_fd;
		process->map_fd = -1;
	}
	if (fd < 0)
		return NULL;
	if (fstat(fd, &stat) != 0 || !process->has_owner ||
	    stat.st_uid != process->owner) {
		profile_note(profile,
			     "%s was not read: it belongs to another user than "
			     "its process",
			     path);
		close(fd);
		return NULL;
	}
	if (stat.st_size > (off_t)MAX_SIZE)
		profile_note(profile, "only the first %zu MiB of %s were read",
			     MAX_SIZE >> 20, path);
	return slurp_fd(fd, MAX_SIZE, ret_length);
}

/*
 * The text goes at once: each of many processes may have one. Neighbours in one
 * function share its name.
 */
static bool keep_names(struct jit_map *map)
{
	struct slice last = {NULL, 0};
	char *kept = NULL;

	for (size_t i = 0; i < map->n; i++) {
		struct slice *name = &map->names[i];

		if (name->length == 0)
			continue;
		if (name->text != last.text) {
			last = *name;
			if (last.length > MAX_NAME)
				last.length = MAX_NAME;
			kept = malloc(last.length);
			if (!kept)
				return false;
			memcpy(kept, last.text, last.length);
			map->kept[map->n_kept++] = kept;
		}
		*name = (struct slice){kept, last.length};
	}
	return true;
}

static bool add_map(struct jit *jit, struct profile *profile,
		    const struct entry *entries, size_t n)
{
	struct jit_map *map = &jit->maps[jit->n_maps++];
	struct slice text = {NULL, 0};
	char *content;
	bool ok = true;

	map->process = entries->process;
	map->addresses = calloc(n, sizeof(*map->addresses));
	map->names = calloc(n, sizeof(*map->names));
	map->kept = calloc(n, sizeof(*map->kept));
	if (!map->addresses || !map->names || !map->kept)
		return false;
	map->n = n;
	for (size_t i = 0; i < n; i++)
		map->addresses[i] = entries[i].address;
	content = read_map(profile, entries->process, &text.length);
	if (content) {
		text.text = content;
		perf_map_resolve(text, map->addresses, n, map->names);
		ok = keep_names(map);
	}
	free(content);
	return ok;
}

static size_t list_entries(const struct stacks *stacks, struct entry *entries)
{
	size_t n = 0;

	for (uint32_t i = 1; i < stacks->n_places; i++) {
		if (stacks->places[i].kind == PLACE_MEMORY)
			entries[n++] =
				(struct entry){stacks->places[i].process,
					       stacks->places[i].address};
	}
	if (n > 0)
		qsort(entries, n, sizeof(*entries), compare);
	return n;
}

bool jit_open(struct jit *jit, const struct stacks *stacks,
	      struct profile *profile)
{
	struct entry *entries = calloc(stacks->n_places + 1, sizeof(*entries));
	size_t n = entries ? list_entries(stacks, entries) : 0;
	bool ok;

	jit->maps = calloc(n + 1, sizeof(*jit->maps));
	ok = entries && jit->maps;
	for (size_t i = 0, end; ok && i < n; i = end) {
		end = i + 1;
		while (end < n && entries[end].process == entries[i].process)
			end++;
		ok = add_map(jit, profile, entries + i, end - i);
	}
	free(entries);
	return ok;
}

void jit_close(struct jit *jit)
{
	for (size_t i = 0; i < jit->n_maps; i++) {
		for (size_t j = 0; j < jit->maps[i].n_kept; j++)
			free(jit->maps[i].kept[j]);
		free(jit->maps[i].kept);
		free(jit->maps[i].addresses);
		free(jit->maps[i].names);
	}
	free(jit->maps);
}

struct slice jit_find(const struct jit *jit, const struct place *place)
{
	for (size_t i = 0; i < jit->n_maps; i++) {
		const struct jit_map *map = &jit->maps[i];
		size_t at;

		if (map->process != place->process)
			continue;
		at = slice_count_below(map->addresses, map->n, place->address);
		return map->names[at];
	}
	return (struct slice){NULL, 0};
}
