/* SPDX-License-Identifier: MIT */
/* processes COUNT MS: so many, one after the other, which each burn. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

__attribute__((noinline)) void in_child(long ms);

void in_child(long ms)
{
	burn_ms(ms);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	for (int i = argc == 3 ? atoi(argv[1]) : 0; i > 0; i--) {
		pid_t pid = fork();

		if (pid == 0) {
			in_child(atol(argv[2]));
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}
