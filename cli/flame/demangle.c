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
#include <setjmp.h>

/*
 * A short name can stand for gigabytes, as its parts refer to each other: what
 * does not fit is shown as it is. Neither function can be told to stop, nor
 * holds anything that would be lost, but for some bytes of Rust's.
 */
struct text {
	jmp_buf full;
	size_t length;
	char bytes[65536];
};

static void append(const char *part, size_t length, void *opaque)
{
	struct text *text = opaque;

	if (length >= sizeof(text->bytes) - text->length)
		longjmp(text->full, 1);
	memcpy(text->bytes + text->length, part, length);
	text->length += length;
}

char *demangle(const char *name)
{
	static struct text text;

	if (!is_mangled(name) || setjmp(text.full))
		return NULL;
	text.length = 0;
	/* Without parameters, as profilers show names. */
	if (!rust_demangle_callback(name, DMGL_NO_OPTS, append, &text)) {
		text.length = 0;
		if (!cplus_demangle_v3_callback(name, DMGL_NO_OPTS, append,
						&text))
			return NULL;
	}
	return strndup(text.bytes, text.length);
}

const char *demangle_engine(void)
{
	return "C++ and Rust, by libiberty";
}

#else

#include <dlfcn.h>
#include <stdbool.h>

#define MAX_REFERENCES 16

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

/*
 * A short name can stand for gigabytes, as its parts refer to each other, and
 * the library's function cannot be stopped. Each reference can but multiply:
 * of a few the product is small. Packs ("Dp", "sp" in an expression) multiply
 * by their length.
 */
static bool may_explode(const char *name)
{
	size_t references = 0;

	if (strstr(name, "Dp") || (strstr(name, "sp") && strpbrk(name, "ADX")))
		return true;
	for (; *name; name++)
		references +=
			(*name == 'S' || *name == 'T') &&
			(name[1] == '_' || (name[1] >= '0' && name[1] <= '9') ||
			 (name[1] >= 'A' && name[1] <= 'Z'));
	return references > MAX_REFERENCES;
}

char *demangle(const char *name)
{
	bool usable = is_mangled(name) && !may_explode(name);
	demangle_function *function = usable ? find() : NULL;
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
