/* SPDX-License-Identifier: MIT */
/* For builds without libdw: frame pointers only. */
#include <string.h>

#include "cfi.h"

bool cfi_is_supported(void)
{
	return false;
}

enum cfi_result cfi_step(struct object *object, uint64_t address,
			 struct registers *registers,
			 const struct stack_copy *stack)
{
	(void)object;
	(void)address;
	(void)registers;
	(void)stack;
	return CFI_NONE;
}

bool cfi_is_outermost(struct object *object, uint64_t address)
{
	static const char *const names[] = {
		"_start",
		"clone",
		"__clone",
		"clone3",
		"__clone3",
		"start_thread",
		"__libc_start_main",
		"__libc_start_call_main",
	};
	const char *name = symbols_find(object_symbols(object), address);

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

void cfi_close(struct cfi *cfi)
{
	(void)cfi;
}
