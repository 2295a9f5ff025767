/* SPDX-License-Identifier: MIT */
/*
 * What stands in for the four CPU-time natives of sun.management.ThreadImpl.
 * JDK 8 and later have them with the same names and signatures. Each answers
 * what it knows, and passes the rest to the native that it replaces.
 */
#ifndef AGENT_NATIVES_H
#define AGENT_NATIVES_H

#include <jni.h>
#include <stdbool.h>

#define NATIVES_CLASS "sun/management/ThreadImpl"

typedef jlong(JNICALL *native_one_fn)(JNIEnv *, jclass, jlong id);
typedef void(JNICALL *native_many_fn)(JNIEnv *, jclass, jlongArray ids,
				      jlongArray ret_times);

enum native {
	TOTAL_ONE, /* of one thread */
	USER_ONE,
	TOTAL_MANY, /* of the threads of an array */
	USER_MANY,
	N_NATIVES,
};

struct native_info {
	const char *name;
	const char *signature;
	const char *symbol; /* of the JDK's own, in libmanagement.so */
	void *replacement;
};

extern const struct native_info natives[N_NATIVES];

/* The one of that name and signature, or N_NATIVES. */
enum native native_find(const char *name, const char *signature);

/*
 * Remembers the native that was bound; to be called before its replacement can
 * be. Nothing changes if one is kept already: what comes later can be another
 * agent's, which passes on to this one.
 */
void native_keep_original(enum native native, void *function);
void *native_original(enum native native);

/* Does the JVM's class have all four? An exception is cleared. */
bool natives_are_of(JNIEnv *env, jclass class);

/* user=jdk26, of other threads; and whether to answer at all. */
void natives_configure(bool raw_user, bool on);

/*
 * While calls that began before an attach may still be answered by the JVM, to
 * the threads that made them: others are told no less than the JVM tells.
 */
void natives_settle(bool settling);

/* Counts from now on. */
void natives_count(void);

/* Since then: calls for one thread, and ids of calls for many. */
struct native_counts {
	unsigned long current_total, current_user; /* the calling thread's */
	unsigned long others;			   /* by a clock id */
	unsigned long passed_on;		   /* to the JVM's natives */
};

void natives_counts(struct native_counts *ret_counts);

#endif
