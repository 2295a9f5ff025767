/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "current.h"
#include "natives.h"
#include "threads.h"

typedef jlong(JNICALL *one_fn)(JNIEnv *, jclass, jlong);
typedef void(JNICALL *many_fn)(JNIEnv *, jclass, jlongArray, jlongArray);

static void *_Atomic originals[N_NATIVES];
static atomic_bool is_on, is_raw, is_counting;

static struct {
	atomic_ulong current_total, current_user, others, passed_on;
} counts;

static void count(atomic_ulong *counter, unsigned long by)
{
	if (atomic_load_explicit(&is_counting, memory_order_relaxed) && by)
		atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static bool answers(void)
{
	return atomic_load_explicit(&is_on, memory_order_relaxed);
}

static jlong ask_jvm(JNIEnv *env, jclass class, jlong id, enum native native)
{
	one_fn original = (one_fn)native_original(native);

	count(&counts.passed_on, 1);
	return original(env, class, id);
}

static int64_t user_of_other(int64_t id)
{
	return atomic_load_explicit(&is_raw, memory_order_relaxed)
		       ? threads_ticks(id)
		       : threads_user(id);
}

/* How one of the two times is found. */
struct way {
	int64_t (*of_caller)(void);
	int64_t (*of_other)(int64_t id);
	atomic_ulong *n_caller;
	enum native one, many;
};

static const struct way total_way = {current_total, threads_total,
				     &counts.current_total, TOTAL_ONE,
				     TOTAL_MANY},
			user_way = {current_user, user_of_other,
				    &counts.current_user, USER_ONE, USER_MANY};

/* Nanoseconds, or less than 0. */
static int64_t read_caller(const struct way *way)
{
	int64_t ns = way->of_caller();

	count(way->n_caller, ns >= 0);
	return ns;
}

static int64_t read_other(const struct way *way, int64_t id)
{
	int64_t ns = way->of_other(id);

	count(&counts.others, ns >= 0);
	return ns;
}

/* Of the calling thread if the id is 0. */
static jlong one(JNIEnv *env, jclass class, jlong id, const struct way *way)
{
	int64_t ns = -1;

	if (answers() && id == 0) {
		ns = read_caller(way);
	} else if (answers()) {
		threads_check_restore();
		ns = read_other(way, id);
	}
	return ns >= 0 ? ns : ask_jvm(env, class, id, way->one);
}

static jlong JNICALL total_one(JNIEnv *env, jclass class, jlong id)
{
	return one(env, class, id, &total_way);
}

static jlong JNICALL user_one(JNIEnv *env, jclass class, jlong id)
{
	return one(env, class, id, &user_way);
}

/* So many ids are read at a time, on the stack. */
#define CHUNK 256

struct chunk {
	jsize n;
	jlong ids[CHUNK];
	jlong times[CHUNK];
};

static void pass_on(JNIEnv *env, jclass class, jlongArray ids, jlongArray times,
		    const struct way *way)
{
	many_fn original = (many_fn)native_original(way->many);

	original(env, class, ids, times);
}

/* Fills in, of the chunk, what is less than 0. False: an exception is thrown.
 */
static bool ask_jvm_for_rest(JNIEnv *env, jclass class, struct chunk *chunk,
			     jsize n, const struct way *way)
{
	jlongArray ids = (*env)->NewLongArray(env, n);
	jlongArray times = ids ? (*env)->NewLongArray(env, n) : NULL;
	struct chunk rest = {.n = 0};
	jsize i;

	if (!times)
		return false;
	for (i = 0; i < chunk->n; i++) {
		if (chunk->times[i] < 0) {
			rest.times[rest.n] = -1;
			rest.ids[rest.n++] = chunk->ids[i];
		}
	}
	(*env)->SetLongArrayRegion(env, ids, 0, n, rest.ids);
	(*env)->SetLongArrayRegion(env, times, 0, n, rest.times);
	pass_on(env, class, ids, times, way);
	count(&counts.passed_on, (unsigned long)n);
	if ((*env)->ExceptionCheck(env))
		return false;
	(*env)->GetLongArrayRegion(env, times, 0, n, rest.times);
	for (i = rest.n = 0; i < chunk->n; i++) {
		if (chunk->times[i] < 0)
			chunk->times[i] = rest.times[rest.n++];
	}
	(*env)->DeleteLocalRef(env, ids);
	(*env)->DeleteLocalRef(env, times);
	return true;
}

/* The number of those that the JVM is to be asked for; -1 if an id is none. */
static jsize read_chunk(struct chunk *chunk, pid_t caller,
			const struct way *way)
{
	jsize missed = 0;

	for (jsize i = 0; i < chunk->n; i++) {
		jlong id = chunk->ids[i];

		if (id <= 0)
			return -1;
		chunk->times[i] = threads_tid(id) == caller
					  ? read_caller(way)
					  : read_other(way, id);
		missed += chunk->times[i] < 0;
	}
	return missed;
}

/* False if the JVM is to answer it all: for a mistake it throws. */
static bool read_many(JNIEnv *env, jclass class, jlongArray ids,
		      jlongArray times, const struct way *way)
{
	jsize length, missed;
	struct chunk chunk;
	pid_t caller;

	if (!answers() || !ids || !times)
		return false;
	length = (*env)->GetArrayLength(env, ids);
	if (length != (*env)->GetArrayLength(env, times))
		return false;
	threads_check_restore();
	caller = (pid_t)syscall(SYS_gettid);
	for (jsize done = 0; done < length; done += chunk.n) {
		chunk.n = length - done < CHUNK ? length - done : CHUNK;
		(*env)->GetLongArrayRegion(env, ids, done, chunk.n, chunk.ids);
		missed = read_chunk(&chunk, caller, way);
		if (missed < 0)
			return false;
		if (missed > 0 &&
		    !ask_jvm_for_rest(env, class, &chunk, missed, way))
			return true;
		(*env)->SetLongArrayRegion(env, times, done, chunk.n,
					   chunk.times);
	}
	return true;
}

static void JNICALL total_many(JNIEnv *env, jclass class, jlongArray ids,
			       jlongArray times)
{
	if (!read_many(env, class, ids, times, &total_way))
		pass_on(env, class, ids, times, &total_way);
}

static void JNICALL user_many(JNIEnv *env, jclass class, jlongArray ids,
			      jlongArray times)
{
	if (!read_many(env, class, ids, times, &user_way))
		pass_on(env, class, ids, times, &user_way);
}

#define SYMBOL(name) "Java_sun_management_ThreadImpl_" name

#define ONE(name, function)                                    \
	{                                                      \
		name, "(J)J", SYMBOL(name), (void *)(function) \
	}
#define MANY(name, function)                                      \
	{                                                         \
		name, "([J[J)V", SYMBOL(name), (void *)(function) \
	}

const struct native_info natives[N_NATIVES] = {
	[TOTAL_ONE] = ONE("getThreadTotalCpuTime0", total_one),
	[USER_ONE] = ONE("getThreadUserCpuTime0", user_one),
	[TOTAL_MANY] = MANY("getThreadTotalCpuTime1", total_many),
	[USER_MANY] = MANY("getThreadUserCpuTime1", user_many),
};

enum native native_find(const char *name, const char *signature)
{
	int native;

	for (native = 0; native < N_NATIVES; native++) {
		if (strcmp(name, natives[native].name) == 0 &&
		    strcmp(signature, natives[native].signature) == 0)
			break;
	}
	return native;
}

void native_keep_original(enum native native, void *function)
{
	if (function != natives[native].replacement)
		atomic_store(&originals[native], function);
}

void *native_original(enum native native)
{
	return atomic_load_explicit(&originals[native], memory_order_acquire);
}

bool natives_are_of(JNIEnv *env, jclass class)
{
	for (int i = 0; i < N_NATIVES; i++) {
		if (!(*env)->GetStaticMethodID(env, class, natives[i].name,
					       natives[i].signature)) {
			(*env)->ExceptionClear(env);
			return false;
		}
	}
	return true;
}

void natives_configure(bool raw_user, bool on)
{
	atomic_store(&is_raw, raw_user);
	atomic_store(&is_on, on);
}

void natives_count(void)
{
	atomic_store(&is_counting, true);
}

void natives_counts(struct native_counts *ret_counts)
{
	*ret_counts = (struct native_counts){
		.current_total = counts.current_total,
		.current_user = counts.current_user,
		.others = counts.others,
		.passed_on = counts.passed_on,
	};
}
