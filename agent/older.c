/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
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

/* Set after the above. */
static atomic_bool is_found;

#define JNI_19 0x00130000

bool java_thread_find(jvmtiEnv *jvmti_env, JNIEnv *env)
{
	jclass thread = (*env)->FindClass(env, "java/lang/Thread");
	jclass class = NULL;

	if (thread)
		id_field = (*env)->GetFieldID(env, thread, "tid", "J");
	if (id_field)
		eetop_field = (*env)->GetFieldID(env, thread, "eetop", "J");
	if (!eetop_field) {
		(*env)->ExceptionClear(env);
		return false;
	}
	/* Before that JDK it would be looked for on the whole class path. */
	if ((*env)->GetVersion(env) >= JNI_19)
		class = (*env)->FindClass(env, "java/lang/BaseVirtualThread");
	if (class)
		virtual_class = (*env)->NewGlobalRef(env, class);
	else
		(*env)->ExceptionClear(env);
	jvmti = jvmti_env;
	atomic_store(&is_found, true);
	return true;
}

jlong java_thread_id(JNIEnv *env, jthread thread)
{
	if (!atomic_load(&is_found) || !thread ||
	    (virtual_class && (*env)->IsInstanceOf(env, thread, virtual_class)))
		return 0;
	return (*env)->GetLongField(env, thread, id_field);
}

int64_t java_caller_id(JNIEnv *env)
{
	int64_t id = threads_caller();
	jthread caller;

	if (id != 0 || !atomic_load(&is_found))
		return id ? id : -1;
	if ((*jvmti)->GetCurrentThread(jvmti, &caller) == JVMTI_ERROR_NONE) {
		id = java_thread_id(env, caller);
		(*env)->DeleteLocalRef(env, caller);
	}
	if (id == 0)
		id = -1;
	threads_set_caller(id);
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
	native_one_fn original = (native_one_fn)native_original(native);

	return original ? original(env, NULL, id) : 0;
}

/* The user time that the JVM tells, no more than the total; -1 of a thread that
 * has ended. */
static jlong reported_user(JNIEnv *env, jlong id)
{
	jlong user_ns = ask_jvm(env, USER_ONE, id);
	jlong total_ns = ask_jvm(env, TOTAL_ONE, id);

	if (user_ns < 0 || total_ns < 0)
		return -1;
	return user_ns < total_ns ? user_ns : total_ns;
}

static bool add(JNIEnv *env, jthread thread, bool reported)
{
	jlong id = java_thread_id(env, thread);
	pid_t tid = id ? find_tid(env, thread) : 0;
	jlong user_ns;

	if (!tid)
		return false;
	user_ns = reported ? reported_user(env, id) : 0;
	if (user_ns < 0)
		return false;
	threads_add_older(id, tid, user_ns);
	/* If it ended since, its end may have been told before. */
	if (eetop_of(env, thread) == 0 ||
	    (reported && ask_jvm(env, TOTAL_ONE, id) < 0)) {
		threads_remove(id);
		return false;
	}
	return true;
}

static void catch_up(JNIEnv *env, jthread thread)
{
	jlong id = java_thread_id(env, thread);
	jlong user_ns = id ? reported_user(env, id) : -1;

	if (user_ns >= 0)
		threads_raise_user(id, user_ns);
}

/* Do the structures say of this thread what is known of it? */
static bool find_self(JNIEnv *env)
{
	jthread self;

	return vmstructs_find() &&
	       (*jvmti)->GetCurrentThread(jvmti, &self) == JVMTI_ERROR_NONE &&
	       find_tid(env, self) == (pid_t)syscall(SYS_gettid);
}

/* NULL, or the JVM's list of its threads; to be given back by free_threads. */
static jthread *get_threads(JNIEnv *env, jint *ret_n)
{
	jthread *threads;

	if ((*jvmti)->GetAllThreads(jvmti, ret_n, &threads) != JVMTI_ERROR_NONE)
		return NULL;
	/* Of those, and of what the calls below make. */
	if ((*env)->EnsureLocalCapacity(env, *ret_n + 16) != JNI_OK)
		(*env)->ExceptionClear(env);
	return threads;
}

static void free_threads(JNIEnv *env, jthread *threads, jint n)
{
	for (jint i = 0; i < n; i++)
		(*env)->DeleteLocalRef(env, threads[i]);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}

int older_threads_add(JNIEnv *env, bool reported)
{
	jthread *threads;
	int added = 0;
	jint n;

	if (!atomic_load(&is_found) || !find_self(env))
		return -1;
	threads = get_threads(env, &n);
	if (!threads)
		return -1;
	for (jint i = 0; i < n; i++)
		added += add(env, threads[i], reported);
	free_threads(env, threads, n);
	return added;
}

void older_threads_catch_up(JNIEnv *env)
{
	jthread *threads;
	jint n;

	threads = atomic_load(&is_found) ? get_threads(env, &n) : NULL;
	if (!threads)
		return;
	for (jint i = 0; i < n; i++)
		catch_up(env, threads[i]);
	free_threads(env, threads, n);
}
