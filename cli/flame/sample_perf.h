/* SPDX-License-Identifier: MIT */
/* The sampler by perf events. */
#ifndef CPUCLOCK_FLAME_SAMPLE_PERF_H
#define CPUCLOCK_FLAME_SAMPLE_PERF_H

#include "control.h"
#include "session.h"

/* Both return CMD_OK, or say what is wrong. *ret_denied: perf events are denied
 * to this process, and nothing was said. */
int sample_perf_command(struct session *session, struct control *control,
			bool *ret_denied);
int sample_perf_attach(struct session *session, struct control *control);

#endif
