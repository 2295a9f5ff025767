/* SPDX-License-Identifier: MIT */
/* Unwind tables of objects: .eh_frame and .debug_frame, read by libdw. */
#ifndef CPUCLOCK_FLAME_CFI_H
#define CPUCLOCK_FLAME_CFI_H

#include "object.h"
#include "registers.h"
#include "unwind.h"

enum cfi_result {
	CFI_NONE, /* no table tells of this address */
	CFI_STEP, /* the registers are the caller's now */
	CFI_END,  /* there is no caller */
	CFI_CUT,  /* what the table asks for is not in the copy */
};

/* Can this build read them at all? */
bool cfi_is_supported(void);

enum cfi_result cfi_step(struct object *object, uint64_t address,
			 struct registers *registers,
			 const struct stack_copy *stack);

/* Is this code where threads begin? */
bool cfi_is_outermost(struct object *object, uint64_t address);

void cfi_close(struct cfi *cfi);

#endif
