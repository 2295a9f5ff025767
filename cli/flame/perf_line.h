/* SPDX-License-Identifier: MIT */
/* Lines that perf-script(1) prints, taken apart. */
#ifndef CPUCLOCK_FLAME_PERF_LINE_H
#define CPUCLOCK_FLAME_PERF_LINE_H

#include "stack.h"

/* "comm  pid/tid [cpu] time:  period event:  what follows" */
struct perf_header {
	struct slice comm;
	uint64_t tid;
	uint64_t period; /* 0: not there */
	struct slice event;
	struct slice rest;
	bool has_time;
};

struct perf_frame {
	struct slice name;
	enum frame_kind kind;
	bool is_module; /* the name is that of a file: of the code no more is
			   known */
};

/* False if the line is none. */
bool perf_parse_header(struct slice line, struct perf_header *ret_header);

/* "   address symbol+0xoffset (file)" */
bool perf_parse_frame(struct slice line, struct perf_frame *ret_frame);

#endif
