/* SPDX-License-Identifier: MIT */
/* The expressions of unwind tables: those of signal frames and of PLTs. */
#ifndef CPUCLOCK_FLAME_CFI_EXPRESSION_H
#define CPUCLOCK_FLAME_CFI_EXPRESSION_H

#include <elfutils/libdw.h>

#include "registers.h"
#include "unwind.h"

/*
 * *ret_value is an address, or with *ret_is_value what is asked for itself.
 * False for operations that no compiler writes there, and for memory that was
 * not copied.
 */
bool cfi_evaluate(const Dwarf_Op *operations, size_t n, uint64_t cfa,
		  const struct registers *registers,
		  const struct stack_copy *stack, bool *ret_is_value,
		  uint64_t *ret_value);

#endif
