/* SPDX-License-Identifier: MIT */
#include <linux/capability.h>

#include "capability.h"
#include "sys.h"

bool cpuclock__capable(unsigned int capability)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (cpuclock__syscall(SYS_capget, (long)&header, (long)data, 0) != 0)
		return false;
	return data[CAP_TO_INDEX(capability)].effective &
	       CAP_TO_MASK(capability);
}
