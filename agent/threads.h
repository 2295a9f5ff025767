/* SPDX-License-Identifier: MIT */
/*
 * The platform threads of the JVM by their Java id, and their CPU time by the
 * kernel's clock ids. Everything here is lock-free; an id that is not found
 * says nothing of the thread.
 */
#ifndef AGENT_THREADS_H
#define AGENT_THREADS_H

#include <stdint.h>
#include <sys/types.h>

/* What a read did not find out: the JVM is to be asked. */
#define THREADS_MISS (-1)

/* A thread that begins, called by itself. */
void threads_add(int64_t id, pid_t tid);

/* One that was there before the agent; its user time goes on from user_ns. */
void threads_add_older(int64_t id, pid_t tid, int64_t user_ns);

/* Something told its user time by the side. */
void threads_raise_user(int64_t id, int64_t user_ns);

/* A thread that is about to end. */
void threads_remove(int64_t id);

/*
 * After a restore from a checkpoint TIDs can be others': in a JVM that can be
 * restored (CRaC), the check, before a read, forgets all threads then.
 * Elsewhere it costs nothing.
 */
void threads_expect_restore(void);
void threads_check_restore(void);

/*
 * What the calling thread reads by its own clock, which can be ahead of its
 * clock ids and splits on its own, and what others read by those ids: neither
 * is told less than the other was. A user time goes with a total, and what is
 * to be told of it is returned.
 */
void threads_own_total(int64_t total_ns);
int64_t threads_own_user(int64_t user_ns, int64_t total_ns);

/*
 * In nanoseconds, or THREADS_MISS. User time is the kernel's estimate out of
 * its samples, scaled to the exact total; it never decreases. Ticks are those
 * samples as they are.
 */
int64_t threads_total(int64_t id);
int64_t threads_user(int64_t id);
int64_t threads_ticks(int64_t id);

/*
 * The Java id of the calling thread: since it has added itself and until it
 * removes itself, or as set; 0 if it is not known yet.
 */
int64_t threads_caller(void);
void threads_set_caller(int64_t id);

#endif
