/* SPDX-License-Identifier: MIT */
/*
 * By libiberty, which knows C++ and both manners of Rust, or else by the C++
 * library, if the machine has one: it is not linked, so that the command starts
 * without it.
 */
#include <string.h>

#include "demangle.h"

/* Longer ones take memory and time in no relation to what they say. */
#define MAX_LENGTH 16384

static int is_mangled(const char *name)
{
	return (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R')) &&
	       strlen(name) <= MAX_LENGTH;
}

#ifdef HAVE_LIBIBERTY

#include <libiberty/demangle.h>

char *demangle(const char *name)
{
	/* Without parameters, as profilers show names. */
	return is_mangled(name) ? cplus_demangle(name, DMGL_NO_OPTS) : NULL;
}

const char *demangle_engine(void)
{
	return "C++ and Rust, by libiberty";
}

#else

#include <dlfcn.h>

typedef char *demangle_function(const char *, char *, size_t *, int *);

static demangle_function *find(void)
{
	static demangle_function *function;
	static int tried;
	void *library;

	if (!tried) {
		tried = 1;
		library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		if (library)
			function = (demangle_function *)dlsym(library,
							      "__cxa_demangle");
	}
	return function;
}

/* The old manner of Rust ends names in "::h" and 16 digits. */
static void cut_hash(char *name)
{
	size_t length = strlen(name);

	if (length > 19 && memcmp(name + length - 19, "::h", 3) == 0 &&
	    strspn(name + length - 16, "0123456789abcdef") == 16)
		name[length - 19] = '\0';
}

char *demangle(const char *name)
{
	demangle_function *function = is_mangled(name) ? find() : NULL;
	int status;
	char *readable = function ? function(name, NULL, NULL, &status) : NULL;

	if (readable)
		cut_hash(readable);
	return readable;
}

const char *demangle_engine(void)
{
	return find() ? "C++, by libstdc++" : "C alone";
}

#endif
