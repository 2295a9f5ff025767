/* SPDX-License-Identifier: MIT */
/*
 * The processes that samples come from: what they have mapped as code, kept up
 * by the kernel's records, so that those that have ended are known as well.
 */
#ifndef CPUCLOCK_FLAME_PROCESSES_H
#define CPUCLOCK_FLAME_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "object.h"
#include "root.h"

#define COMM_SIZE 16

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	struct object *object; /* NULL: memory without a file */
};

struct process {
	pid_t pid;
	char comm[COMM_SIZE];	  /* of its first thread */
	struct mapping *mappings; /* sorted, and apart */
	size_t n_mappings;
	bool followed;	 /* of a command: a child of it */
	bool has_looked; /* for what follows, since it last began a program */
	bool has_owner;
	uid_t owner;	 /* its effective user */
	pid_t inner_pid; /* its PID in its own container */
	struct root *root;
	int map_fd; /* of a perf map that may vanish; -1: none */
	int64_t map_tried_ns;
	int64_t maps_read_ns; /* where no records tell of new ones */
	struct process *next;
};

struct thread {
	pid_t tid;
	char comm[COMM_SIZE];
	struct thread *next;
};

struct processes {
	struct process *by_pid[4096];
	struct process *ended; /* their PID has been given to another */
	struct thread *by_tid[4096];
	struct objects objects;
	struct root *roots;
};

void processes_free(struct processes *processes);

/* NULL if there is none. */
struct process *processes_find(struct processes *processes, pid_t pid);

/* The same, or a new one of which /proc tells: there before the sampling. NULL
 * if memory is short. */
struct process *processes_get(struct processes *processes, pid_t pid);

/* A process began, as a copy of another. */
struct process *processes_fork(struct processes *processes, pid_t pid,
			       pid_t parent);
/* Another program runs in it. */
void processes_exec(struct process *process);

/* Code is mapped; a NULL path, or one that names no file, is memory. */
void processes_map(struct processes *processes, struct process *process,
		   const struct mapping *mapping, const char *path,
		   const struct build_id *build_id);
void processes_read_maps(struct processes *processes, struct process *process);

/* The process of a thread; -1: there is none. */
pid_t processes_owner(pid_t tid);

/* What only /proc tells, while the process is there. */
void processes_look(struct processes *processes, struct process *process);

/* NULL if nothing is known to be mapped there. */
const struct mapping *processes_find_mapping(const struct process *process,
					     uint64_t address);

/* The names of threads; one that is not known is asked for in /proc. */
void processes_name_thread(struct processes *processes, pid_t pid, pid_t tid,
			   const char *comm);
const char *processes_thread_name(struct processes *processes, pid_t pid,
				  pid_t tid);

#endif
