/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdint.h>

#include "current.h"
#include "natives.h"
#include "older.h"
#include "report.h"
#include "threads.h"

static atomic_bool is_on, is_raw, is_counting, is_settling;

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
	int64_t (*last)(int64_t id); /* what was told of it */
	atomic_ulong *n_caller;
	enum native one, many;
};

static const struct way total_way = {
	.of_caller = current_total,
	.of_other = threads_total,
	.last = threads_last_total,
	.n_caller = &counts.current_total,
	.one = TOTAL_ONE,
	.many = TOTAL_MANY,
};

static const struct way user_way = {
	.of_caller = current_user,
	.of_other = user_of_other,
	.last = threads_last_user,
	.n_caller = &counts.current_user,
	.one = USER_ONE,
	.many = USER_MANY,
};

/*
 * The JVM's answer, which is no part of the agent's own: a thread that begins
 * or ends can be known to one of both only. It is made to fit.
 */
static jlong fit(const struct way *way, jlong id, jlong ns)
{
	int64_t last_ns = way->last(id);

	return ns >= 0 && ns < last_ns ? last_ns : ns;
}

/*
 * The same of a user time: no more than a total that was asked for later. If
 * there was none any more, the thread has ended.
 */
static jlong fit_user(jlong id, jlong user_ns, jlong total_ns)
{
	user_ns = fit(&user_way, id, user_ns);
	total_ns = fit(&total_way, id, total_ns);
	return user_ns > total_ns ? total_ns : user_ns;
}

static bool is_scaled(const struct way *way)
{
	return way == &user_way &&
	       !atomic_load_explicit(&is_raw, memory_order_relaxed);
}

static jlong ask_jvm(JNIEnv *env, jclass class, jlong id, const struct way *way)
{
	native_one_fn original = (native_one_fn)native_original(way->one);
	native_one_fn total = (native_one_fn)native_original(TOTAL_ONE);
	jlong ns = original(env, class, id);

	count(&counts.passed_on, 1, REPORT_JAVA_ORIGINAL);
	if (!answers() || ns < 0 || (*env)->ExceptionCheck(env))
		return ns;
	if (is_scaled(way) && total)
		return fit_user(id, ns, total(env, class, id));
	return way == &total_way ? fit(way, id, ns) : ns;
}

/* Nanoseconds, or less than 0. */
static int64_t read_caller(const struct way *way)
{
	int64_t ns = way->of_caller();

	if (ns >= 0)
		count(way->n_caller, 1, REPORT_JAVA_CURRENT);
	return ns;
}

static int64_t read_other(JNIEnv *env, jclass class, const struct way *way,
			  int64_t id)
{
	int64_t ns = way->of_other(id);

	if (ns < 0)
		return ns;
	count(&counts.others, 1, REPORT_JAVA_OTHER);
	if (atomic_load_explicit(&is_settling, memory_order_relaxed) &&
	    is_scaled(way)) {
		threads_raise_user(id, ask_jvm(env, class, id, way));
		ns = way->of_other(id);
	}
	return ns;
}

/* Of the calling thread if the id is 0. */
static jlong one(JNIEnv *env, jclass class, jlong id, const struct way *way)
{
	int64_t ns = -1;

	if (answers()) {
		int64_t caller = java_caller_id(env);

		if (id == 0 || id == caller) {
			ns = read_caller(way);
		} else {
			threads_check_restore();
			ns = read_other(env, class, way, id);
		}
	}
	return ns >= 0 ? ns : ask_jvm(env, class, id, way);
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
	native_many_fn original = (native_many_fn)native_original(way->many);

	original(env, class, ids, times);
}

/* An array with a value of each missed thread, or NULL. */
static jlongArray gather(JNIEnv *env, const struct chunk *chunk,
			 const jlong *values)
{
	jlongArray array = (*env)->NewLongArray(env, chunk->n_missed);
	jlong missed[CHUNK];

	if (!array)
		return NULL;
	for (jsize i = 0; i < chunk->n_missed; i++)
		missed[i] = values[chunk->missed[i]];
	(*env)->SetLongArrayRegion(env, array, 0, chunk->n_missed, missed);
	return array;
}

/* Puts the JVM's answers for the missed threads into the chunk. */
static void fit_missed(JNIEnv *env, struct chunk *chunk, jlongArray times,
		       jlongArray totals, const struct way *way)
{
	jlong ns[CHUNK], total_ns[CHUNK];

	(*env)->GetLongArrayRegion(env, times, 0, chunk->n_missed, ns);
	if (totals)
		(*env)->GetLongArrayRegion(env, totals, 0, chunk->n_missed,
					   total_ns);
	for (jsize i = 0; i < chunk->n_missed; i++) {
		jlong id = chunk->ids[chunk->missed[i]];
		jlong *time = &chunk->times[chunk->missed[i]];

		/* What the JVM does not know either it leaves as it was. */
		if (ns[i] == *time || (totals && total_ns[i] == *time))
			continue;
		if (totals)
			*time = fit_user(id, ns[i], total_ns[i]);
		else if (way == &total_way)
			*time = fit(way, id, ns[i]);
		else
			*time = ns[i];
	}
}

/* False: an exception is thrown. */
static bool ask_jvm_for_missed(JNIEnv *env, jclass class, struct chunk *chunk,
			       const struct way *way)
{
	jlongArray ids = gather(env, chunk, chunk->ids);
	jlongArray times = ids ? gather(env, chunk, chunk->times) : NULL;
	jlongArray totals = NULL;

	if (!times)
		return false;
	pass_on(env, class, ids, times, way);
	count(&counts.passed_on, (unsigned long)chunk->n_missed,
	      REPORT_JAVA_ORIGINAL);
	if ((*env)->ExceptionCheck(env))
		return false;
	if (is_scaled(way) && native_original(TOTAL_MANY)) {
		totals = gather(env, chunk, chunk->times);
		if (!totals)
			return false;
		pass_on(env, class, ids, totals, &total_way);
	}
	fit_missed(env, chunk, times, totals, way);
	(*env)->DeleteLocalRef(env, ids);
	(*env)->DeleteLocalRef(env, times);
	(*env)->DeleteLocalRef(env, totals);
	return true;
}

static void read_chunk(JNIEnv *env, jclass class, struct chunk *chunk,
		       int64_t caller, const struct way *way)
{
	chunk->n_missed = 0;
	for (jsize i = 0; i < chunk->n; i++) {
		jlong id = chunk->ids[i];
		int64_t ns = id == caller ? read_caller(way)
					  : read_other(env, class, way, id);

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
	caller = java_caller_id(env);
	length = (*env)->GetArrayLength(env, ids);
	for (jsize from = 0; from < length; from += chunk.n) {
		get_ids(env, ids, from, length, &chunk);
		(*env)->GetLongArrayRegion(env, times, from, chunk.n,
					   chunk.times);
		read_chunk(env, class, &chunk, caller, way);
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

void natives_configure(bool raw_user, bool on)
{
	atomic_store(&is_raw, raw_user);
	atomic_store(&is_on, on);
}

void natives_settle(bool settling)
{
	atomic_store(&is_settling, settling);
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
