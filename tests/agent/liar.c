/* SPDX-License-Identifier: MIT */
/*
 * An agent that lies: -agentpath:PATH=LIE, by attach too, and there also off.
 * It asks the JVM's own natives and spoils what they say, in one of the ways
 * below. The tests of the agent must find out.
 */
#include <dlfcn.h>
#include <jvmti.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define PLACES (1 << 16)

enum lie {
	HONEST,	    /* none */
	TICKS,	    /* user is raw ticks, as in JDK 26 */
	FINE,	    /* user is in ns for the thread itself, 10 ms for others */
	BACK,	    /* now and then 2 ms less */
	ZERO,	    /* user is 0 */
	AWAKE,	    /* sleep counts */
	NEIGHBOUR,  /* another thread's times are the caller's */
	UNDEAD,	    /* 0 for -1 */
	REMEMBERED, /* an ended thread keeps its time */
	PLACE,	    /* of ids with equal lower 16 bits, the first */
	BUFFER,	    /* of an array, the first 256 */
	LENIENT,    /* lengths need not match */
	OFF,
};

static const char *const lies[] = {
	"honest", "ticks",     "fine",	 "back",       "zero",
	"awake",  "neighbour", "undead", "remembered", "place",
	"buffer", "lenient",   "off",
};

static enum lie lie;
static jlong places[PLACES];
static volatile jlong last[PLACES];

typedef jlong one_fn(JNIEnv *env, jclass class, jlong id);
typedef void array_fn(JNIEnv *env, jclass class, jlongArray ids,
		      jlongArray times);

static one_fn *total0, *user0;
static array_fn *total1, *user1;

static jlong now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static jlong own_user(void)
{
	struct rusage usage;

	now(CLOCK_THREAD_CPUTIME_ID);
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_utime.tv_sec * INT64_C(1000000000) +
	       usage.ru_utime.tv_usec * INT64_C(1000);
}

static jlong own(bool user, jlong true_ns)
{
	static volatile unsigned int count;

	/* CPUCLOCK_VIRT of the calling thread */
	if (lie == TICKS && user)
		return now(~0U << 3 | 4 | 1);
	if (lie == FINE && user)
		return own_user();
	if (lie == BACK && !user && ++count % 4096 == 0)
		return true_ns - 2000000;
	if (lie == ZERO && user)
		return 0;
	if (lie == AWAKE && !user)
		return now(CLOCK_MONOTONIC);
	return true_ns;
}

static jlong other(JNIEnv *env, jclass class, jlong id, bool user)
{
	one_fn *ask = user ? user0 : total0;
	jlong time;

	if (lie == PLACE) {
		jlong *place = &places[id % PLACES];

		if (!*place)
			*place = id;
		id = *place;
	}
	time = ask(env, class, lie == NEIGHBOUR ? 0 : id);
	if (lie == UNDEAD && time == -1)
		return 0;
	if (lie == REMEMBERED && !user) {
		if (time == -1)
			return last[id % PLACES] ? last[id % PLACES] : -1;
		last[id % PLACES] = time;
	}
	if (lie == ZERO && user && time > 0)
		return 0;
	return time;
}

static jlong one(JNIEnv *env, jclass class, jlong id, bool user)
{
	one_fn *ask = user ? user0 : total0;

	if (id < 0)
		return ask(env, class, id);
	return id ? other(env, class, id, user) : own(user, ask(env, class, 0));
}

static JNICALL jlong total_of(JNIEnv *env, jclass class, jlong id)
{
	return one(env, class, id, false);
}

static JNICALL jlong user_of(JNIEnv *env, jclass class, jlong id)
{
	return one(env, class, id, true);
}

static void array(JNIEnv *env, jclass class, jlongArray ids, jlongArray times,
		  bool user)
{
	jsize length, room;

	if (lie != BUFFER && lie != LENIENT && lie != NEIGHBOUR &&
	    lie != UNDEAD && lie != PLACE) {
		(user ? user1 : total1)(env, class, ids, times);
		return;
	}
	if (!ids || !times) {
		(user ? user1 : total1)(env, class, ids, times);
		return;
	}
	length = (*env)->GetArrayLength(env, ids);
	room = (*env)->GetArrayLength(env, times);
	if (lie != LENIENT && length != room) {
		(user ? user1 : total1)(env, class, ids, times);
		return;
	}
	if (lie == BUFFER && length > 256)
		length = 256;
	for (jsize i = 0; i < length && i < room; i++) {
		jlong id, time;

		(*env)->GetLongArrayRegion(env, ids, i, 1, &id);
		time = one(env, class, id, user);
		if ((*env)->ExceptionCheck(env))
			return;
		if (time != -1)
			(*env)->SetLongArrayRegion(env, times, i, 1, &time);
	}
}

static JNICALL void totals_of(JNIEnv *env, jclass class, jlongArray ids,
			      jlongArray times)
{
	array(env, class, ids, times, false);
}

static JNICALL void users_of(JNIEnv *env, jclass class, jlongArray ids,
			     jlongArray times)
{
	array(env, class, ids, times, true);
}

static struct {
	const char *name;
	const char *signature;
	void *liar;
	void **original;
} natives[] = {
	{"getThreadTotalCpuTime0", "(J)J", (void *)total_of, (void **)&total0},
	{"getThreadUserCpuTime0", "(J)J", (void *)user_of, (void **)&user0},
	{"getThreadTotalCpuTime1", "([J[J)V", (void *)totals_of,
	 (void **)&total1},
	{"getThreadUserCpuTime1", "([J[J)V", (void *)users_of, (void **)&user1},
};

#define NATIVES (sizeof(natives) / sizeof(natives[0]))

static int find_library(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libmanagement.so"))
		return 0;
	*(void **)found = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
	return 1;
}

static bool find_originals(void)
{
	void *library = NULL;
	char symbol[100];

	dl_iterate_phdr(find_library, &library);
	for (size_t i = 0; library && i < NATIVES; i++) {
		snprintf(symbol, sizeof(symbol),
			 "Java_sun_management_ThreadImpl_%s", natives[i].name);
		*natives[i].original = dlsym(library, symbol);
	}
	return library && total0 && user0 && total1 && user1;
}

static bool parse(const char *options)
{
	if (!options || !*options) {
		lie = HONEST;
		return true;
	}
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		if (strcmp(options, lies[i]) == 0) {
			lie = (enum lie)i;
			return true;
		}
	}
	fprintf(stderr, "liar: no lie '%s'\n", options);
	return false;
}

static bool bind(JNIEnv *env)
{
	jclass class = (*env)->FindClass(env, "sun/management/ThreadImpl");
	JNINativeMethod methods[NATIVES];

	if (!class)
		return false;
	for (size_t i = 0; i < NATIVES; i++) {
		methods[i].name = (char *)natives[i].name;
		methods[i].signature = (char *)natives[i].signature;
		methods[i].fnPtr =
			lie == OFF ? *natives[i].original : natives[i].liar;
	}
	return (*env)->RegisterNatives(env, class, methods, NATIVES) == 0;
}

static JNICALL void loaded(jvmtiEnv *jvmti, JNIEnv *env, jthread thread,
			   jmethodID method, void *address, void **replacement)
{
	char *name;

	(void)address;
	(void)env;
	(void)thread;
	if ((*jvmti)->GetMethodName(jvmti, method, &name, NULL, NULL))
		return;
	for (size_t i = 0; i < NATIVES; i++) {
		if (strcmp(name, natives[i].name) != 0)
			continue;
		/* One native is bound, but another may be asked. */
		if (*natives[i].original || find_originals())
			*replacement = lie == OFF ? *natives[i].original
						  : natives[i].liar;
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)name);
}

static bool watch(JavaVM *vm)
{
	jvmtiEventCallbacks callbacks = {.NativeMethodBind = loaded};
	jvmtiCapabilities wanted = {.can_generate_native_method_bind_events =
					    1};
	jvmtiEnv *jvmti;

	return !(*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) &&
	       !(*jvmti)->AddCapabilities(jvmti, &wanted) &&
	       !(*jvmti)->SetEventCallbacks(jvmti, &callbacks,
					    sizeof(callbacks)) &&
	       !(*jvmti)->SetEventNotificationMode(
		       jvmti, JVMTI_ENABLE, JVMTI_EVENT_NATIVE_METHOD_BIND,
		       NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	return parse(options) && watch(vm) ? JNI_OK : JNI_ERR;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	JNIEnv *env;

	(void)reserved;
	return parse(options) &&
			       !(*vm)->GetEnv(vm, (void **)&env,
					      JNI_VERSION_1_6) &&
			       find_originals() && bind(env)
		       ? JNI_OK
		       : JNI_ERR;
}
