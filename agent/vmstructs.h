/* SPDX-License-Identifier: MIT */
/*
 * HotSpot tells debuggers where its structures hold what (vmStructs.cpp, the
 * exported gHotSpotVMStructs). From that comes the TID of a thread which began
 * before the agent did.
 */
#ifndef AGENT_VMSTRUCTS_H
#define AGENT_VMSTRUCTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A symbol that the JVM's library exports, or NULL. */
void *vmstructs_symbol(const char *name);

/* Does the JVM's library hold this text? That takes some ms to find. */
bool vmstructs_hold_text(const char *text);

/* False if this is no HotSpot, or it tells less than is needed. */
bool vmstructs_find(void);

/*
 * The TID of the thread whose Thread.eetop is given: the address of HotSpot's
 * own structure. That may be gone by now, which no fault follows from; the
 * caller looks at eetop once more. 0 if it cannot be read.
 */
pid_t vmstructs_tid(uint64_t eetop);

#endif
