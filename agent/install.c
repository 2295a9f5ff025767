/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdbool.h>

#include "install.h"
#include "natives.h"

#define INSTALLER "cpuclock/Installer"

#define U2(n) (jbyte)((n) >> 8), (jbyte)((n)&0xff)
#define U4(n) U2((n) >> 16), U2((n)&0xffff)

/*
 * RegisterNatives warns on stdout of anybody who replaces the natives of a
 * class of the JDK, but not of a class that has the same loader. So this one is
 * defined by the boot loader:
 *
 *	package cpuclock;
 *	class Installer {
 *		static void install() { install0(); }
 *		static native void install0();
 *	}
 *
 * The caller that is looked at is install, the one below install0.
 */
static const jbyte installer_class[] = {
	U4(0xcafebabeU),
	U2(0),
	U2(52), /* JDK 8's */
	U2(11), /* constants, from 1 */
	1,
	U2(18),
	'c',
	'p',
	'u',
	'c',
	'l',
	'o',
	'c',
	'k',
	'/', /* 1 */
	'I',
	'n',
	's',
	't',
	'a',
	'l',
	'l',
	'e',
	'r',
	7,
	U2(1), /* 2 */
	1,
	U2(16),
	'j',
	'a',
	'v',
	'a',
	'/',
	'l',
	'a',
	'n',
	'g', /* 3 */
	'/',
	'O',
	'b',
	'j',
	'e',
	'c',
	't',
	7,
	U2(3), /* 4 */
	1,
	U2(7),
	'i',
	'n',
	's',
	't',
	'a',
	'l',
	'l', /* 5 */
	1,
	U2(3),
	'(',
	')',
	'V', /* 6 */
	1,
	U2(8),
	'i',
	'n',
	's',
	't',
	'a',
	'l',
	'l',
	'0', /* 7 */
	1,
	U2(4),
	'C',
	'o',
	'd',
	'e', /* 8 */
	12,
	U2(7),
	U2(6), /* 9: install0()V */
	10,
	U2(2),
	U2(9),	    /* 10: Installer.install0()V */
	U2(0x0030), /* final; super */
	U2(2),
	U2(4), /* Installer, Object */
	U2(0),
	U2(0), /* no interfaces, no fields */
	U2(2), /* methods */
	U2(0x0008),
	U2(5),
	U2(6),
	U2(1), /* static install()V */
	U2(8),
	U4(16),
	U2(0),
	U2(0),
	U4(4), /* Code: no stack, no locals */
	(jbyte)0xb8,
	U2(10),
	(jbyte)0xb1, /* invokestatic #10; return */
	U2(0),
	U2(0), /* no handlers, no attributes */
	U2(0x0108),
	U2(7),
	U2(6),
	U2(0), /* static native install0()V */
	U2(0), /* no attributes */
};

/* Set while install() runs. */
static jclass target_class;
static bool registered;

static void JNICALL install0(JNIEnv *env, jclass class)
{
	JNINativeMethod methods[N_NATIVES];

	(void)class;
	for (int i = 0; i < N_NATIVES; i++)
		methods[i] = (JNINativeMethod){(char *)natives[i].name,
					       (char *)natives[i].signature,
					       natives[i].replacement};
	registered = (*env)->RegisterNatives(env, target_class, methods,
					     N_NATIVES) == JNI_OK;
}

static bool forget_exception(JNIEnv *env)
{
	bool pending = (*env)->ExceptionCheck(env);

	if (pending)
		(*env)->ExceptionClear(env);
	return pending;
}

/* NULL if it cannot be; an exception is cleared. */
static jclass define_installer(JNIEnv *env)
{
	JNINativeMethod method = {(char *)"install0", (char *)"()V",
				  (void *)install0};
	jclass class = (*env)->FindClass(env, INSTALLER);

	if (class)
		return class;
	forget_exception(env);
	class = (*env)->DefineClass(env, INSTALLER, NULL, installer_class,
				    sizeof(installer_class));
	if (forget_exception(env) || !class)
		return NULL;
	if ((*env)->RegisterNatives(env, class, &method, 1) != JNI_OK) {
		forget_exception(env);
		return NULL;
	}
	return class;
}

static bool run_installer(JNIEnv *env, jclass target)
{
	jclass installer = define_installer(env);
	jmethodID install;

	if (!installer)
		return false;
	install = (*env)->GetStaticMethodID(env, installer, "install", "()V");
	if (!install) {
		forget_exception(env);
		return false;
	}
	target_class = target;
	registered = false;
	(*env)->CallStaticVoidMethod(env, installer, install);
	target_class = NULL;
	return !forget_exception(env) && registered;
}

/* The JDK's own natives, if it has loaded its library. */
static enum install_result find_originals(void *found[N_NATIVES])
{
	void *library = dlopen("libmanagement.so", RTLD_LAZY | RTLD_NOLOAD);
	enum install_result result = INSTALL_DONE;

	if (!library)
		return INSTALL_LATER;
	for (int i = 0; i < N_NATIVES; i++) {
		found[i] = dlsym(library, natives[i].symbol);
		if (!found[i])
			result = INSTALL_UNKNOWN;
	}
	dlclose(library);
	return result;
}

enum install_result install_natives(JNIEnv *env)
{
	void *found[N_NATIVES];
	enum install_result result = find_originals(found);
	jclass target;

	if (result != INSTALL_DONE)
		return result;
	target = (*env)->FindClass(env, NATIVES_CLASS);
	if (forget_exception(env) || !target)
		return INSTALL_UNKNOWN;
	if (!natives_are_of(env, target))
		return INSTALL_UNKNOWN;
	/* Unless they were bound since the agent began to look. */
	for (int i = 0; i < N_NATIVES; i++) {
		if (!native_original(i))
			native_keep_original(i, found[i]);
	}
	return run_installer(env, target) ? INSTALL_DONE : INSTALL_FAILED;
}
