/* SPDX-License-Identifier: MIT */
/* Facts of the machine that `info` and the reports of `bench` share. */
#ifndef CPUCLOCK_MACHINE_H
#define CPUCLOCK_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

struct machine {
	char kernel[256];     /* "Linux 6.12.3 x86_64" */
	char cpu[128];	      /* model name, or "unknown" */
	int cpus;	      /* that this process may use */
	char clocksource[64]; /* "tsc", or "unknown" */
	char hypervisor[16];  /* "KVM"; empty on bare metal or if unknown */
};

void machine_get(struct machine *machine);

/* The first line of a file without its newline; false if it cannot be read. */
bool read_line(const char *path, char *line, size_t size);

#endif
