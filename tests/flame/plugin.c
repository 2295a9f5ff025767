/* SPDX-License-Identifier: MIT */
#include "burn.h"

__attribute__((noinline)) void plugin_inner(long ms);
void plugin_work(long ms);

void plugin_inner(long ms)
{
	burn_ms(ms);
	__asm__ volatile("");
}

void plugin_work(long ms)
{
	plugin_inner(ms);
	__asm__ volatile("");
}
