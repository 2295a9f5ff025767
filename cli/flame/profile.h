/* SPDX-License-Identifier: MIT */
/*
 * A profile: where CPU time went, as a tree of frames. Samplers and readers of
 * files add stacks; the summary, the picture and the files are made from it.
 *
 * Names are bytes as they were found, of any value but NUL: each writer escapes
 * them for where they go.
 */
#ifndef CPUCLOCK_FLAME_PROFILE_H
#define CPUCLOCK_FLAME_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
	FRAME_NATIVE,  /* compiled code of a program or library */
	FRAME_KERNEL,  /* folded suffix _[k] */
	FRAME_INLINED, /* compiled into the frame below it; folded suffix _[i]
			*/
	FRAME_JIT,     /* by a run-time's map; folded suffix _[j] */
	FRAME_ROOT,    /* what stands below all code: a thread, a process */
	FRAME_LABEL,   /* no code: [unknown], [truncated], [kernel] ... */
	FRAME_KINDS,
};

struct frame {
	const char *name;
	enum frame_kind kind;
};

/* A place in the tree: a frame under its callers. */
struct profile_node {
	const char *name;
	enum frame_kind kind;
	uint32_t frame;		      /* the same, in the profile's frames */
	struct profile_node *parent;  /* NULL for the root of all */
	struct profile_node *child;   /* the first; by name once sorted */
	struct profile_node *sibling; /* the next */
	uint64_t self;		      /* samples that ended here */
	uint64_t total;		      /* and above, once summed */
	uint64_t before;	      /* self and total of the other profile, */
	uint64_t before_total;	      /* in a difference of two */
};

/* What a profile tells of itself; unknown text is NULL, unknown numbers -1. */
struct profile_about {
	char *title;		/* the command, or what was sampled */
	int64_t wall_ns;	/* from start to end of sampling */
	int64_t rate_hz;	/* that was asked for */
	int64_t sample_ns;	/* CPU time for which a sample stands */
	int64_t cpu_ns;		/* the CPU clock of what was sampled */
	int64_t lost;		/* samples that the kernel dropped */
	int64_t throttled;	/* times that the kernel slowed the sampling */
	int64_t truncated;	/* samples of which the stack was cut */
	char *unit;		/* of what is counted; NULL: samples */
	const char *engine;	/* "perf task-clock", "CPU timers", "a file" */
	const char *resolution; /* what limits it, for people */
	char **notes;		/* "user only: ...", one sentence each */
	size_t n_notes;
};

struct profile {
	struct profile_node root; /* no name; its total is that of all */
	struct profile_about about;
	struct frame *frames; /* each once; 0 is that of the root */
	size_t n_frames;
	size_t n_nodes;	   /* places, the root too */
	uint64_t n_stacks; /* places where samples ended */
	bool is_difference;
	struct profile_store *store;
};

/* An empty one; NULL if memory is short. */
struct profile *profile_new(void);
void profile_free(struct profile *profile);

/*
 * Adds samples of one stack, the outermost frame first. Names are copied.
 * 0, or -ENOMEM and nothing is added; -EOVERFLOW where the sum of all would
 * exceed INT64_MAX.
 */
int profile_add(struct profile *profile, const struct frame *frames,
		size_t n_frames, uint64_t samples);

/* The same for the other profile of a difference. */
int profile_add_before(struct profile *profile, const struct frame *frames,
		       size_t n_frames, uint64_t samples);

/* Adds a note, formatted as by printf(3), unless it is there. 0 or -ENOMEM. */
int profile_note(struct profile *profile, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Sums up, sorts, and takes out places without samples; to be called once all
 * is added, before it is written. 0 or -ENOMEM.
 */
int profile_finish(struct profile *profile);

/* The next place, callers before what they call; NULL behind the last. */
const struct profile_node *profile_next(const struct profile_node *node);

/* CPU time of so many samples in ns; -1 if a sample's is not known. */
double profile_ns(const struct profile *profile, uint64_t samples);

#endif
