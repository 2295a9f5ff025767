/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "living.h"
#include "processes.h"
#include "procmaps.h"
#include "slurp.h"

#define MAX_MAPS ((size_t)64 * 1024 * 1024)

static struct process **bucket_of(struct processes *processes, pid_t pid)
{
	return &processes->by_pid[(size_t)pid % 4096];
}

struct process *processes_find(struct processes *processes, pid_t pid)
{
	struct process *process = *bucket_of(processes, pid);

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

static struct process *add(struct processes *processes, pid_t pid)
{
	struct process **bucket = bucket_of(processes, pid);
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = process->inner_pid = pid;
	process->map_fd = -1;
	strcpy(process->comm, "unknown");
	process->next = *bucket;
	*bucket = process;
	return process;
}

/* Its samples may still name it. */
static void retire(struct processes *processes, pid_t pid)
{
	struct process **link = bucket_of(processes, pid);

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	if (*link) {
		struct process *process = *link;

		*link = process->next;
		process->next = processes->ended;
		processes->ended = process;
	}
}

static void read_comm(pid_t pid, pid_t tid, char *comm)
{
	char path[64];
	size_t length;
	char *text;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid,
		 (int)tid);
	text = slurp(path, COMM_SIZE, &length);
	if (text && length > 1)
		snprintf(comm, COMM_SIZE, "%.*s", (int)length - 1, text);
	free(text);
}

struct process *processes_get(struct processes *processes, pid_t pid)
{
	struct process *process = processes_find(processes, pid);

	if (process)
		return process;
	process = add(processes, pid);
	if (!process)
		return NULL;
	read_comm(pid, pid, process->comm);
	processes_look(processes, process);
	processes_read_maps(processes, process);
	return process;
}

struct process *processes_fork(struct processes *processes, pid_t pid,
			       pid_t parent)
{
	const struct process *from = processes_find(processes, parent);
	struct process *process;

	retire(processes, pid);
	process = add(processes, pid);
	if (!process || !from)
		return process;
	memcpy(process->comm, from->comm, COMM_SIZE);
	process->followed = from->followed;
	process->root = from->root;
	process->has_owner = from->has_owner;
	process->owner = from->owner;
	if (from->n_mappings == 0)
		return process;
	process->mappings =
		malloc(from->n_mappings * sizeof(*process->mappings));
	if (process->mappings) {
		memcpy(process->mappings, from->mappings,
		       from->n_mappings * sizeof(*process->mappings));
		process->n_mappings = from->n_mappings;
	}
	return process;
}

void processes_exec(struct process *process)
{
	process->n_mappings = 0;
	process->has_looked = false;
	if (process->map_fd >= 0)
		close(process->map_fd);
	process->map_fd = -1;
	process->map_tried_ns = 0;
}

/* The index of the first that ends above an address. */
static size_t first_above(const struct process *process, uint64_t address)
{
	size_t low = 0, high = process->n_mappings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mapping *processes_find_mapping(const struct process *process,
					     uint64_t address)
{
	size_t i = first_above(process, address);

	if (i == process->n_mappings || process->mappings[i].start > address)
		return NULL;
	return &process->mappings[i];
}

/* Puts it in, and leaves of those in its place what stands out on both sides.
 */
static void insert(struct process *process, const struct mapping *mapping)
{
	size_t first = first_above(process, mapping->start);
	size_t last = first, n = 0, rest;
	struct mapping pieces[3];
	struct mapping *list;

	while (last < process->n_mappings &&
	       process->mappings[last].start < mapping->end)
		last++;
	list = realloc(process->mappings,
		       (process->n_mappings + 2) * sizeof(*list));
	if (!list)
		return;
	if (first < last && list[first].start < mapping->start) {
		pieces[n] = list[first];
		pieces[n++].end = mapping->start;
	}
	pieces[n++] = *mapping;
	if (first < last && list[last - 1].end > mapping->end) {
		pieces[n] = list[last - 1];
		pieces[n].offset += mapping->end - pieces[n].start;
		pieces[n++].start = mapping->end;
	}
	rest = process->n_mappings - last;
	memmove(list + first + n, list + last, rest * sizeof(*list));
	memcpy(list + first, pieces, n * sizeof(*list));
	process->mappings = list;
	process->n_mappings = first + n + rest;
}

/* Files in memory, such as of memfd_create(2), hold what run-times make. */
static bool is_file(const char *path)
{
	if (!path)
		return false;
	return strcmp(path, "[vdso]") == 0 ||
	       (path[0] == '/' && path[1] != '/' &&
		strncmp(path, "/memfd:", 7) != 0 &&
		strncmp(path, "/dev/zero", 9) != 0 &&
		strncmp(path, "/SYSV", 5) != 0 &&
		strncmp(path, "/anon_hugepage", 14) != 0);
}

void processes_map(struct processes *processes, struct process *process,
		   const struct mapping *mapping, const char *path,
		   const struct build_id *build_id)
{
	struct mapping with_object = *mapping;

	if (mapping->start >= mapping->end)
		return;
	with_object.object = NULL;
	if (is_file(path))
		with_object.object = objects_get(
			&processes->objects, path,
			strcmp(path, "[vdso]") ? process->root : NULL,
			build_id);
	insert(process, &with_object);
}

void processes_read_maps(struct processes *processes, struct process *process)
{
	const struct build_id unknown = {0};
	char name[64], path[PATH_MAX];
	struct procmap map;
	struct slice text;
	size_t length;
	char *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps",
		 (int)living_thread(process->pid));
	maps = slurp(name, MAX_MAPS, &length);
	if (!maps)
		return;
	text = (struct slice){maps, length};
	while (procmaps_next(&text, &map)) {
		struct mapping mapping = {map.start, map.end, map.offset, NULL};

		if (!map.executable)
			continue;
		procmaps_path(map.path, path, sizeof(path));
		processes_map(processes, process, &mapping, path, &unknown);
	}
	free(maps);
}

/* The last number in the line of /proc/PID/status that begins so; -1: none. */
static long status_number(const char *status, const char *key, int which)
{
	const char *line = strstr(status, key);
	const char *end = line ? strchr(line + 1, '\n') : NULL;
	const char *p;
	long value = -1;

	if (!end)
		return -1;
	p = line + strlen(key);
	for (int i = 0; p < end && i != which; i++) {
		char *after;
		long number = strtol(p, &after, 10);

		if (after == p || after > end)
			break;
		value = number;
		p = after;
	}
	return value;
}

static char *read_status(pid_t id)
{
	char path[64];
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)id);
	return slurp(path, 65536, &length);
}

pid_t processes_owner(pid_t tid)
{
	char *status = read_status(tid);
	long pid = status ? status_number(status, "\nTgid:", 1) : -1;

	free(status);
	return (pid_t)pid;
}

void processes_look(struct processes *processes, struct process *process)
{
	struct root *root;
	char *status;
	long number;

	if (process->has_looked)
		return;
	process->has_looked = true;
	root = root_of(&processes->roots, living_thread(process->pid));
	if (root)
		process->root = root;
	status = read_status(process->pid);
	if (!status)
		return;
	/* "Uid: real effective ..."; the name above has its newlines escaped.
	 */
	number = status_number(status, "\nUid:", 2);
	if (number >= 0) {
		process->owner = (uid_t)number;
		process->has_owner = true;
	}
	number = status_number(status, "\nNSpid:", -1);
	if (number > 0)
		process->inner_pid = (pid_t)number;
	free(status);
}

static struct thread *find_thread(struct processes *processes, pid_t tid)
{
	struct thread *thread = processes->by_tid[(size_t)tid % 4096];

	while (thread && thread->tid != tid)
		thread = thread->next;
	return thread;
}

static struct thread *get_thread(struct processes *processes, pid_t tid)
{
	struct thread **bucket = &processes->by_tid[(size_t)tid % 4096];
	struct thread *thread = find_thread(processes, tid);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->next = *bucket;
	*bucket = thread;
	return thread;
}

void processes_name_thread(struct processes *processes, pid_t pid, pid_t tid,
			   const char *comm)
{
	struct thread *thread = get_thread(processes, tid);
	struct process *process = processes_find(processes, pid);

	if (thread)
		snprintf(thread->comm, COMM_SIZE, "%s", comm);
	if (process && pid == tid)
		snprintf(process->comm, COMM_SIZE, "%s", comm);
}

const char *processes_thread_name(struct processes *processes, pid_t pid,
				  pid_t tid)
{
	struct thread *thread = get_thread(processes, tid);

	if (!thread)
		return "unknown";
	if (!*thread->comm) {
		strcpy(thread->comm, "unknown");
		read_comm(pid, tid, thread->comm);
	}
	return thread->comm;
}

static void free_list(struct process *process)
{
	while (process) {
		struct process *next = process->next;

		if (process->map_fd >= 0)
			close(process->map_fd);
		free(process->mappings);
		free(process);
		process = next;
	}
}

void processes_free(struct processes *processes)
{
	for (size_t i = 0; i < 4096; i++) {
		free_list(processes->by_pid[i]);
		while (processes->by_tid[i]) {
			struct thread *thread = processes->by_tid[i];

			processes->by_tid[i] = thread->next;
			free(thread);
		}
	}
	free_list(processes->ended);
	objects_free(&processes->objects);
	root_free_all(&processes->roots);
}
