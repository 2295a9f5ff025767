/* SPDX-License-Identifier: MIT */
/* The replacements, in a JVM that has bound its own natives already. */
#ifndef AGENT_INSTALL_H
#define AGENT_INSTALL_H

#include <jni.h>

enum install_result {
	INSTALL_DONE,
	INSTALL_LATER,	 /* the JVM has yet to load them: they will be bound */
	INSTALL_UNKNOWN, /* they are not what they were in JDK 8 to 26 */
	INSTALL_FAILED,
};

enum install_result install_natives(JNIEnv *env);

#endif
