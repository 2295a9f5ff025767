/* SPDX-License-Identifier: MIT */
/* The sampler by CPU timers, preloaded into a command (preload/sampler.c). */
#ifndef CPUCLOCK_FLAME_SAMPLE_TIMERS_H
#define CPUCLOCK_FLAME_SAMPLE_TIMERS_H

#include "control.h"
#include "session.h"

/* CMD_OK, or says what is wrong. */
int sample_timers_command(struct session *session, struct control *control);

#endif
