/* SPDX-License-Identifier: MIT */
/*
 * Readers of what other samplers wrote. They add stacks to a profile and do no
 * I/O themselves.
 */
#ifndef CPUCLOCK_FLAME_READ_H
#define CPUCLOCK_FLAME_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "profile.h"

/* What of a file is taken. */
struct read_filter {
	bool user_only;	  /* samples that ended in user code */
	bool kernel_only; /* samples that ended in the kernel */
	bool by_thread;	  /* "NAME (TID)" for a root; of perf script alone */
	bool before;	  /* for the other profile of a difference */
};

/*
 * Both return how many stacks were in the text, of those too that the filter
 * keeps out; -ENOMEM; or -EOVERFLOW where the counts are too many to be added.
 * What was not understood is told in a note.
 */

/* Lines of frames with ';' between them, the outermost first, and a count. */
int64_t read_folded(const char *text, size_t size,
		    const struct read_filter *filter, struct profile *profile);

/* What perf-script(1) prints, by default or with more of its fields. */
int64_t read_perf_script(const char *text, size_t size,
			 const struct read_filter *filter,
			 struct profile *profile);

/* Which of the two it is. */
bool is_perf_script(const char *text, size_t size);

/*
 * Reads a file, or standard input ("-"), of either kind. 0 or -errno; -EBADMSG
 * if there is no stack in it, -EMEDIUMTYPE if it is what perf-record(1) wrote,
 * -ENODATA if threads are asked for and it names none.
 */
int read_file(const char *path, const struct read_filter *filter,
	      struct profile *profile);

#endif
