/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "current.h"
#include "natives.h"
#include "older.h"
#include "report.h"
#include "threads.h"

typedef jlong(JNICALL *one_fn)(JNIEnv *, jclass, jlong);
typedef void(JNICALL *many_fn)(JNIEnv *, jclass, jlongArray, jlongArray);

static void *_Atomic originals[N_NATIVES];
static atomic_bool is_on, is_raw, is_counting;

static struct {
	atomic_ulong current_total, current_user, others, passed_on;
} counts;

/* For `stats`, and for `cpuclock run --report`. */
static void count(atomic_ulong *counter, unsigned long by,
		  enum report_path path)
{
	if (atomic_load_explicit(&is_counting, memory_order_relaxed))
		atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
	if (report)
		report_count_many(path, by);
}

static bool answers(void)
{
	return atomic_load_explicit(&is_on, memory_order_relaxed);
}

static jlong ask_jvm(JNIEnv *env, jclass class, jlong id, enum native native)
{
	one_fn original = (one_fn)native_original(native);

	count(&counts.passed_on, 1, REPORT_JAVA_ORIGINAL);
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

	if (ns >= 0)
		count(way->n_caller, 1, REPORT_JAVA_CURRENT);
	return ns;
}

static int64_t read_other(const struct way *way, int64_t id)
{
	int64_t ns = way->of_other(id);

	if (ns >= 0)
		count(&counts.others, 1, REPORT_JAVA_OTHER);
	return ns;
}

/* The Java id of the calling thread; -1 if that is not known. */
static int64_t caller_id(JNIEnv *env)
{
	int64_t id = threads_caller();

	if (id == 0) {
		id = java_caller_id(env);
		threads_set_caller(id ? id : -1);
	}
	return id;
}

/* Of the calling thread if the id is 0. */
static jlong one(JNIEnv *env, jclass class, jlong id, const struct way *way)
{
	int64_t ns = -1;

	if (answers()) {
		int64_t caller = caller_id(env);

		if (id == 0 || id == caller) {
			ns = read_caller(way);
		} else {
			threads_check_restore();
			ns = read_other(way, id);
		}
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
	jsize n, n_missed;
	jlong ids[CHUNK];
	jlong times[CHUNK];
	jsize missed[CHUNK]; /* places of those that the JVM is asked for */
};

static void pass_on(JNIEnv *env, jclass class, jlongArray ids, jlongArray times,
		    const struct way *way)
{
	many_fn original = (many_fn)native_original(way->many);

	original(env, class, ids, times);
}

/* What the JVM does not know either it leaves as it was. False: it has thrown.
 */
static bool ask_jvm_for_missed(JNIEnv *env, jclass class, struct chunk *chunk,
			       const struct way *way)
{
	jsize i, n = chunk->n_missed;
	jlongArray ids = (*env)->NewLongArray(env, n);
	jlongArray times = ids ? (*env)->NewLongArray(env, n) : NULL;
	jlong *place;

	if (!times)
		return false;
	for (i = 0; i < n; i++) {
		place = &chunk->ids[chunk->missed[i]];
		(*env)->SetLongArrayRegion(env, ids, i, 1, place);
		place = &chunk->times[chunk->missed[i]];
		(*env)->SetLongArrayRegion(env, times, i, 1, place);
	}
	pass_on(env, class, ids, times, way);
	count(&counts.passed_on, (unsigned long)n, REPORT_JAVA_ORIGINAL);
	if ((*env)->ExceptionCheck(env))
		return false;
	for (i = 0; i < n; i++) {
		place = &chunk->times[chunk->missed[i]];
		(*env)->GetLongArrayRegion(env, times, i, 1, place);
	}
	(*env)->DeleteLocalRef(env, ids);
	(*env)->DeleteLocalRef(env, times);
	return true;
}

static void read_chunk(struct chunk *chunk, int64_t caller,
		       const struct way *way)
{
	chunk->n_missed = 0;
	for (jsize i = 0; i < chunk->n; i++) {
		jlong id = chunk->ids[i];
		int64_t ns =
			id == caller ? read_caller(way) : read_other(way, id);

		if (ns >= 0)
			chunk->times[i] = ns;
		else
			chunk->missed[chunk->n_missed++] = i;
	}
}

/* The ids from there on, as many as there is place for. */
static void get_ids(JNIEnv *env, jlongArray ids, jsize from, jsize length,
		    struct chunk *ret_chunk)
{
	jsize n = length - from < CHUNK ? length - from : CHUNK;

	ret_chunk->n = n;
	(*env)->GetLongArrayRegion(env, ids, from, n, ret_chunk->ids);
}

/* For a mistake the JVM throws, and has written nothing then. */
static bool are_valid(JNIEnv *env, jlongArray ids, jlongArray times,
		      struct chunk *chunk)
{
	jsize length;

	if (!ids || !times)
		return false;
	length = (*env)->GetArrayLength(env, ids);
	for (jsize from = 0; from < length; from += chunk->n) {
		get_ids(env, ids, from, length, chunk);
		for (jsize i = 0; i < chunk->n; i++) {
			if (chunk->ids[i] <= 0)
				return false;
		}
	}
	return length == (*env)->GetArrayLength(env, times);
}

static void many(JNIEnv *env, jclass class, jlongArray ids, jlongArray times,
		 const struct way *way)
{
	struct chunk chunk;
	int64_t caller;
	jsize length;

	if (!answers() || !are_valid(env, ids, times, &chunk)) {
		pass_on(env, class, ids, times, way);
		return;
	}
	threads_check_restore();
	caller = caller_id(env);
	length = (*env)->GetArrayLength(env, ids);
	for (jsize from = 0; from < length; from += chunk.n) {
		get_ids(env, ids, from, length, &chunk);
		(*env)->GetLongArrayRegion(env, times, from, chunk.n,
					   chunk.times);
		read_chunk(&chunk, caller, way);
		if (chunk.n_missed &&
		    !ask_jvm_for_missed(env, class, &chunk, way))
			return;
		(*env)->SetLongArrayRegion(env, times, from, chunk.n,
					   chunk.times);
	}
}

static void JNICALL total_many(JNIEnv *env, jclass class, jlongArray ids,
			       jlongArray times)
{
	many(env, class, ids, times, &total_way);
}

static void JNICALL user_many(JNIEnv *env, jclass class, jlongArray ids,
			      jlongArray times)
{
	many(env, class, ids, times, &user_way);
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
