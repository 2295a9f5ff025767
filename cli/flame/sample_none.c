/* SPDX-License-Identifier: MIT */
#include "../cmd.h"
#include "flame.h"

int flame_sample(const struct flame_options *options,
		 struct profile **ret_profile)
{
	(void)options;
	(void)ret_profile;
	return cmd_fail(&cmd_flame, "this build has no sampler; use --from to "
				    "draw what perf script wrote");
}
