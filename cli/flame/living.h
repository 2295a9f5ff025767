/* SPDX-License-Identifier: MIT */
/*
 * A process whose main thread has ended (pthread_exit) is a zombie in /proc,
 * which shows neither its memory nor its root, while other threads run on.
 */
#ifndef CPUCLOCK_FLAME_LIVING_H
#define CPUCLOCK_FLAME_LIVING_H

#include <stdbool.h>
#include <sys/types.h>

/* A thread of the process by which /proc shows these; itself if none is. */
pid_t living_thread(pid_t pid);

/* Does it run on: this thread, or any of the process? */
bool is_living(pid_t id, bool of_process);

#endif
