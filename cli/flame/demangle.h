/* SPDX-License-Identifier: MIT */
/* Names of C++ and Rust as their authors wrote them. */
#ifndef CPUCLOCK_FLAME_DEMANGLE_H
#define CPUCLOCK_FLAME_DEMANGLE_H

/* The readable name, to be freed; NULL if it is readable already. */
char *demangle(const char *name);

/* Which languages, and by what: for `cpuclock info`. */
const char *demangle_engine(void);

#endif
