/* SPDX-License-Identifier: MIT */
/* recursion DEPTH MS: burns at the end of so many calls of itself. */
#include <stdlib.h>

#include "burn.h"

__attribute__((noinline)) int down(int depth, long ms);

int down(int depth, long ms)
{
	if (depth == 0)
		burn_ms(ms);
	else
		depth += down(depth - 1, ms);
	__asm__ volatile("" : "+r"(depth)); /* no loop in place of calls */
	return depth;
}

int main(int argc, char **argv)
{
	return argc == 3 ? down(atoi(argv[1]), atol(argv[2])) & 0 : 2;
}
