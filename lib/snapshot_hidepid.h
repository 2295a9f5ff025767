/* SPDX-License-Identifier: MIT */
/*
 * The policy of /proc's mount option hidepid (proc(5)), for a source that does
 * not look into /proc and could see more.
 */
#ifndef CPUCLOCK_SNAPSHOT_HIDEPID_H
#define CPUCLOCK_SNAPSHOT_HIDEPID_H

#include <stdbool.h>
#include <sys/types.h>

/* Is there such an option that holds for this process? */
bool cpuclock__hidepid_restricts(void);

/* Where it does: may this process look at that one? */
bool cpuclock__hidepid_shows(pid_t pid);

#endif
