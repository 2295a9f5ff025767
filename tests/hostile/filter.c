/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a unit test program: of its tests, those run whose name
 * matches the pattern TEST_FILTER. A program that is no test is left alone.
 */
#include <stdlib.h>

extern void cmocka_set_test_filter(const char *pattern) __attribute__((weak));

__attribute__((constructor)) static void filter(void)
{
	const char *pattern = getenv("TEST_FILTER");

	if (pattern && cmocka_set_test_filter)
		cmocka_set_test_filter(pattern);
}
