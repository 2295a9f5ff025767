/* SPDX-License-Identifier: MIT */
#include <sys/syscall.h>
#include <unistd.h>

#include "natives.h"
#include "older.h"
#include "threads.h"
#include "vmstructs.h"

static jvmtiEnv *jvmti;
static jfieldID id_field, eetop_field;

/* What virtual threads extend, since JDK 19. */
static jclass virtual_class;

bool java_thread_find(jvmtiEnv *jvmti_env, JNIEnv *env)
{
	jclass thread = (*env)->FindClass(env, "java/lang/Thread");
	jfieldID id = NULL, eetop = NULL;
	jclass found;

	if (thread)
		id = (*env)->GetFieldID(env, thread, "tid", "J");
	if (id)
		eetop = (*env)->GetFieldID(env, thread, "eetop", "J");
	if (!eetop) {
		(*env)->ExceptionClear(env);
		return false;
	}
	found = (*env)->FindClass(env, "java/lang/BaseVirtualThread");
	if (found)
		virtual_class = (*env)->NewGlobalRef(env, found);
	else
		(*env)->ExceptionClear(env);
	jvmti = jvmti_env;
	eetop_field = eetop;
	id_field = id;
	return true;
}

jlong java_thread_id(JNIEnv *env, jthread thread)
{
	if (!id_field || !thread ||
	    (virtual_class && (*env)->IsInstanceOf(env, thread, virtual_class)))
		return 0;
	return (*env)->GetLongField(env, thread, id_field);
}

jlong java_caller_id(JNIEnv *env)
{
	jthread caller;
	jlong id;

	if (!jvmti ||
	    (*jvmti)->GetCurrentThread(jvmti, &caller) != JVMTI_ERROR_NONE)
		return 0;
	id = java_thread_id(env, caller);
	(*env)->DeleteLocalRef(env, caller);
	return id;
}

static jlong eetop_of(JNIEnv *env, jthread thread)
{
	return (*env)->GetLongField(env, thread, eetop_field);
}

/* It has to be the thread's own while HotSpot's structure was read. */
static pid_t find_tid(JNIEnv *env, jthread thread)
{
	jlong eetop = eetop_of(env, thread);
	pid_t tid = vmstructs_tid((uint64_t)eetop);

	return eetop_of(env, thread) == eetop ? tid : 0;
}

/* What the JVM says, or 0 if it has nothing to say it with yet. */
static jlong ask_jvm(JNIEnv *env, enum native native, jlong id)
{
	jlong(JNICALL * original)(JNIEnv *, jclass, jlong) = (jlong(JNICALL *)(
		JNIEnv *, jclass, jlong))native_original(native);

	return original ? original(env, NULL, id) : 0;
}

static bool add(JNIEnv *env, jthread thread, bool reported)
{
	jlong id = java_thread_id(env, thread);
	pid_t tid = id ? find_tid(env, thread) : 0;
	jlong user_ns = 0, total_ns = 0;

	if (!tid)
		return false;
	if (reported) {
		user_ns = ask_jvm(env, USER_ONE, id);
		total_ns = ask_jvm(env, TOTAL_ONE, id);
	}
	if (user_ns < 0 || total_ns < 0)
		return false;
	threads_add_older(id, tid, user_ns < total_ns ? user_ns : total_ns);
	/* If it ended since, its end may have been told before. */
	if (eetop_of(env, thread) == 0 ||
	    (reported && ask_jvm(env, TOTAL_ONE, id) < 0)) {
		threads_remove(id);
		return false;
	}
	return true;
}

/* Calls that the JVM was about to answer can have told more by now. */
static void catch_up(JNIEnv *env, jthread thread)
{
	jlong id = java_thread_id(env, thread);
	jlong user_ns = ask_jvm(env, USER_ONE, id);
	jlong total_ns = ask_jvm(env, TOTAL_ONE, id);

	if (id && user_ns >= 0 && total_ns >= 0)
		threads_raise_user(id, user_ns < total_ns ? user_ns : total_ns);
}

/* Do the structures say of this thread what is known of it? */
static bool find_self(JNIEnv *env)
{
	jthread self;

	return vmstructs_find() &&
	       (*jvmti)->GetCurrentThread(jvmti, &self) == JVMTI_ERROR_NONE &&
	       find_tid(env, self) == (pid_t)syscall(SYS_gettid);
}

int older_threads_add(JNIEnv *env, bool reported)
{
	jthread *threads;
	jint n = 0;
	int added = 0;

	if (!id_field || !find_self(env) ||
	    (*jvmti)->GetAllThreads(jvmti, &n, &threads) != JVMTI_ERROR_NONE)
		return -1;
	for (jint i = 0; i < n; i++)
		added += add(env, threads[i], reported);
	for (jint i = 0; i < n; i++) {
		if (reported)
			catch_up(env, threads[i]);
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
	return added;
}
