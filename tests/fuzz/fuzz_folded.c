/* SPDX-License-Identifier: MIT */
/* The reader of folded stacks: whatever the bytes, what it adds adds up. */
#include "fuzz_flame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_reader(read_folded, (const char *)data, size);
	return 0;
}
