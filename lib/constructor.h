/* SPDX-License-Identifier: MIT */
/*
 * The library's constructors run before those of what it is linked into as a
 * static library, which may ask for a clock; after priority 101, which is left
 * for what the library itself calls.
 */
#ifndef CPUCLOCK_CONSTRUCTOR_H
#define CPUCLOCK_CONSTRUCTOR_H

#define CPUCLOCK__CONSTRUCTOR __attribute__((constructor(102)))

#endif
