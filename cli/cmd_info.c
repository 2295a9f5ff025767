/* SPDX-License-Identifier: MIT */
#include "cmd.h"
#include <stdio.h>
static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return cmd_fail(&cmd_info, "x");
}
const struct cmd cmd_info = {
	.name = "info", .summary = "x", .usage = "", .run = run};
