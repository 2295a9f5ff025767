/* SPDX-License-Identifier: MIT */
/*
 * The JVM's way in: as the JVM starts (Agent_OnLoad), or later by attach
 * (Agent_OnAttach). Both may come more than once; the last options hold. It is
 * never unloaded: `off` makes it answer nothing.
 */
#include <jvmti.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "current.h"
#include "install.h"
#include "natives.h"
#include "older.h"
#include "options.h"
#include "report.h"
#include "sys.h"
#include "threads.h"
#include "vmstructs.h"

/* NULL until there is something to do in this JVM. */
static jvmtiEnv *jvmti;

static bool verbose, stats;

/* One line on stderr, in one piece. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "cpuclock agent: %s\n", line);
}

#define SAY_VERBOSE(...)                  \
	do {                              \
		if (verbose)              \
			say(__VA_ARGS__); \
	} while (0)

static void get_property(const char *name, char *ret_value, size_t size)
{
	char *value;

	snprintf(ret_value, size, "?");
	if ((*jvmti)->GetSystemProperty(jvmti, name, &value) !=
	    JVMTI_ERROR_NONE)
		return;
	snprintf(ret_value, size, "%s", value);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)value);
}

static void describe(void)
{
	char name[128], version[64], jdk[16];

	if (!verbose)
		return;
	get_property("java.vm.name", name, sizeof(name));
	get_property("java.vm.version", version, sizeof(version));
	get_property("java.vm.specification.version", jdk, sizeof(jdk));
	say("%s in JDK %s, %s %s", CPUCLOCK_VERSION, jdk, name, version);
	say("the calling thread: total by %s, user by %s",
	    current_total_source(), current_user_source());
	/* What this JVM would read on each call. */
	if (vmstructs_hold_text("/proc/self/task/%d/stat"))
		say("this JVM itself reads user time from /proc");
	else
		say("this JVM itself reads user time as JDK 26 does: by one "
		    "system call, and unscaled");
}

/* ---- Events ----------------------------------------------------------------
 */

static void JNICALL on_thread_start(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	jlong id = java_thread_id(jni, thread);

	(void)env;
	if (id)
		threads_add(id, (pid_t)syscall(SYS_gettid));
}

static void JNICALL on_thread_end(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	jlong id = java_thread_id(jni, thread);

	(void)env;
	if (id)
		threads_remove(id);
}

static bool is_natives_class(JNIEnv *jni, jmethodID method)
{
	char *signature;
	jclass class;
	bool is;

	if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &class) !=
		    JVMTI_ERROR_NONE ||
	    (*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) !=
		    JVMTI_ERROR_NONE)
		return false;
	is = strcmp(signature, "L" NATIVES_CLASS ";") == 0;
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
	if (is && !natives_are_of(jni, class)) {
		SAY_VERBOSE("this JVM's " NATIVES_CLASS " is not the known "
			    "one: nothing is changed");
		is = false;
	}
	return is;
}

static enum native find_native(jmethodID method)
{
	char *name, *signature;
	enum native native;

	/* Fails in the phase when the first natives are bound. */
	if ((*jvmti)->GetMethodName(jvmti, method, &name, &signature, NULL) !=
	    JVMTI_ERROR_NONE)
		return N_NATIVES;
	native = native_find(name, signature);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)name);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
	return native;
}

static void JNICALL on_native_bind(jvmtiEnv *env, JNIEnv *jni, jthread thread,
				   jmethodID method, void *address,
				   void **ret_address)
{
	enum native native = find_native(method);

	(void)env, (void)thread;
	if (native == N_NATIVES || address == natives[native].replacement ||
	    !is_natives_class(jni, method))
		return;
	native_keep_original(native, address);
	/* The others too: what is told of a time can need them. */
	install_find_originals();
	*ret_address = natives[native].replacement;
	SAY_VERBOSE("answers %s", natives[native].name);
}

/* What has to be known of java.lang.Thread before the agent answers. */
static bool find_threads(JNIEnv *jni)
{
	if (vmstructs_symbol("JVM_Checkpoint"))
		threads_expect_restore();
	if (java_thread_find(jvmti, jni))
		return true;
	SAY_VERBOSE("other threads are left to the JVM: java.lang.Thread is "
		    "not the known one");
	return false;
}

static void add_older_threads(JNIEnv *jni, bool reported)
{
	int older = older_threads_add(jni, reported);

	if (older < 0)
		SAY_VERBOSE("threads older than the agent are left to the JVM: "
			    "it does not say where it keeps their ids");
	else
		SAY_VERBOSE("%d threads are older than the agent", older);
}

static void JNICALL on_vm_init(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	(void)env, (void)thread;
	describe();
	if (find_threads(jni))
		add_older_threads(jni, false);
}

static void JNICALL on_vm_death(jvmtiEnv *env, JNIEnv *jni)
{
	struct native_counts counts;

	(void)env, (void)jni;
	if (!stats)
		return;
	natives_counts(&counts);
	say("current thread: %lu total, %lu user; other threads: %lu by clock "
	    "id; passed on to the JVM: %lu",
	    counts.current_total, counts.current_user, counts.others,
	    counts.passed_on);
}

/* ---- Start ------------------------------------------------------------------
 */

static bool enable_events(jvmtiEnv *env, bool at_load)
{
	static const jvmtiEvent events[] = {
		JVMTI_EVENT_VM_INIT, JVMTI_EVENT_NATIVE_METHOD_BIND,
		JVMTI_EVENT_THREAD_START, JVMTI_EVENT_THREAD_END,
		JVMTI_EVENT_VM_DEATH};
	const jvmtiEventCallbacks callbacks = {
		.VMInit = on_vm_init,
		.VMDeath = on_vm_death,
		.ThreadStart = on_thread_start,
		.ThreadEnd = on_thread_end,
		.NativeMethodBind = on_native_bind,
	};
	const jvmtiCapabilities capabilities = {
		.can_generate_native_method_bind_events = 1};

	if ((*env)->AddCapabilities(env, &capabilities) != JVMTI_ERROR_NONE ||
	    (*env)->SetEventCallbacks(env, &callbacks, sizeof(callbacks)) !=
		    JVMTI_ERROR_NONE)
		return false;
	for (size_t i = at_load ? 0 : 1; i < sizeof(events) / sizeof(events[0]);
	     i++) {
		if ((*env)->SetEventNotificationMode(env, JVMTI_ENABLE,
						     events[i],
						     NULL) != JVMTI_ERROR_NONE)
			return false;
	}
	return true;
}

/* Takes the options over; says what is wrong with them. */
static bool configure(const char *text)
{
	struct options options;
	char why[256];

	if (!options_parse(text, &options, why, sizeof(why)) ||
	    !current_choose(&options, why, sizeof(why))) {
		say("%s; nothing is changed", why);
		return false;
	}
	verbose = options.verbose;
	stats = stats || options.stats;
	if (stats)
		natives_count();
	natives_configure(options.raw_user, !options.off);
	return true;
}

/* False if nothing is to be done in this JVM. */
static bool start(JavaVM *vm, bool at_load)
{
	jvmtiEnv *env;
	char name[128];

	if ((*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2) != JNI_OK) {
		SAY_VERBOSE("this JVM has no JVMTI: nothing is changed");
		return false;
	}
	jvmti = env;
	report_open();
	get_property("java.vm.name", name, sizeof(name));
	if (strstr(name, "OpenJ9")) {
		SAY_VERBOSE("%s has other natives: nothing is changed", name);
		return false;
	}
	if (!enable_events(env, at_load)) {
		SAY_VERBOSE("%s lets no agent replace natives: nothing is "
			    "changed",
			    name);
		return false;
	}
	return true;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	if (configure(options) && !jvmti)
		start(vm, true);
	return JNI_OK;
}

/* Threads first, so that what each is told from then on is kept. */
static enum install_result install(JNIEnv *jni)
{
	/* Long enough for calls that the JVM was about to answer. */
	const struct timespec a_while = {0, 50000000};
	enum install_result result = install_find_originals();
	bool is_found = find_threads(jni);

	natives_settle(true);
	if (is_found)
		add_older_threads(jni, result == INSTALL_DONE);
	if (result == INSTALL_DONE) {
		result = install_natives(jni);
		cpuclock__syscall(SYS_nanosleep, (long)&a_while, 0, 0);
		older_threads_catch_up(jni);
	}
	natives_settle(false);
	return result;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	static const char *const results[] = {
		[INSTALL_DONE] = "answers in the place of the JVM's natives",
		[INSTALL_LATER] = "will answer when the JVM loads its natives",
		[INSTALL_UNKNOWN] = "changes nothing: this JVM's " NATIVES_CLASS
				    " is not the known one",
		[INSTALL_FAILED] = "changes nothing: natives were not replaced",
	};
	enum install_result result;
	JNIEnv *jni;

	(void)reserved;
	if (!configure(options))
		return JNI_ERR;
	if (jvmti) {
		describe();
		return JNI_OK;
	}
	if ((*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_1_6) != JNI_OK ||
	    !start(vm, false))
		return JNI_OK;
	describe();
	result = install(jni);
	SAY_VERBOSE("%s", results[result]);
	return JNI_OK;
}
