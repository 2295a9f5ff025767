/* SPDX-License-Identifier: MIT */
#ifndef CPUCLOCK_FILE_LIMIT_H
#define CPUCLOCK_FILE_LIMIT_H

#include <stdbool.h>

/* As many open files as this user may have; false if it has that already. A
 * command that is started later would have it too. */
bool file_limit_raise(void);

#endif
