/* SPDX-License-Identifier: MIT */
/* A whole file of which the size is not known before, as those of /proc. */
#ifndef CPUCLOCK_FLAME_SLURP_H
#define CPUCLOCK_FLAME_SLURP_H

#include <stddef.h>

/*
 * At most @max bytes, with a NUL behind them, to be freed; NULL if it cannot be
 * read or memory is short. Closes the descriptor.
 */
char *slurp_fd(int fd, size_t max, size_t *ret_length);
char *slurp(const char *path, size_t max, size_t *ret_length);

#endif
