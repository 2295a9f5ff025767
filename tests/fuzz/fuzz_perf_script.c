/* SPDX-License-Identifier: MIT */
/* The reader of perf-script(1): whatever the bytes, what it adds adds up. */
#include "fuzz_flame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	is_perf_script((const char *)data, size);
	check_reader(read_perf_script, (const char *)data, size);
	return 0;
}
