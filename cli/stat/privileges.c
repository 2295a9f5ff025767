/* SPDX-License-Identifier: MIT */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stat.h"

/* What is asked for and not there is no error: less is fine. */
void stat_drop_privileges(bool has_child, bool reads_proc, bool writes_file)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	uint32_t keep = 0;

	if (has_child)
		keep |= 1U << CAP_KILL;
	if (reads_proc)
		keep |= 1U << CAP_SYS_PTRACE;
	if (writes_file)
		keep |= 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER;
	if (syscall(SYS_capget, &header, data) != 0)
		return;
	for (int i = 0; i < 2; i++) {
		uint32_t kept = i == 0 ? keep & data[i].permitted : 0;

		data[i].permitted = kept;
		data[i].effective &= kept;
		data[i].inheritable = 0;
	}
	syscall(SYS_capset, &header, data);
}
