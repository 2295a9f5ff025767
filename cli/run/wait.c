/* SPDX-License-Identifier: MIT */
/* Runs a command and outlives it. */
#include "../child.h"
#include "run.h"

int run_and_wait(char **command, int *ret_status)
{
	struct child child = {0};
	int err;

	child_watch_signals(&child, true);
	err = child_start(&child, command);
	if (!err)
		err = child_release(&child);
	if (err)
		return err;
	while (child_reap(&child)) {
		siginfo_t info;

		if (sigwaitinfo(&child.watched, &info) > 0 &&
		    !child_pass_on(&child, info.si_signo, info.si_code))
			break;
	}
	*ret_status = child.status;
	return 0;
}
