/* SPDX-License-Identifier: MIT */
/* The threads that began before the agent did. */
#ifndef AGENT_OLDER_H
#define AGENT_OLDER_H

#include <jvmti.h>
#include <stdbool.h>

/*
 * Adds them. What cannot be found out is left to the JVM. @reported: the JVM
 * may have told their user time already, which goes on from there. Returns how
 * many were added, or -1 if this JVM does not say where it keeps TIDs.
 */
int older_threads_add(JNIEnv *env, bool reported);

/* Thread.tid, or 0 of a virtual thread, which has no CPU time. */
jlong java_thread_id(JNIEnv *env, jthread thread);

/* Of the calling thread; 0 too if it cannot be found out. */
jlong java_caller_id(JNIEnv *env);

/* Looks up the fields of java.lang.Thread; false if they are not there. */
bool java_thread_find(jvmtiEnv *jvmti, JNIEnv *env);

#endif
