/* SPDX-License-Identifier: MIT */
/* The natives of the JVM: which they are, and where. */
#include <stdatomic.h>
#include <string.h>

#include "natives.h"

static void *_Atomic originals[N_NATIVES];

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
	void *none = NULL;

	if (function != natives[native].replacement)
		atomic_compare_exchange_strong(&originals[native], &none,
					       function);
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
