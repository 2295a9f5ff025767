/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "machine.h"

bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool ok;

	if (!file)
		return false;
	ok = fgets(line, (int)size, file) != NULL;
	fclose(file);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

static void get_cpu_model(char *model, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512];

	snprintf(model, size, "unknown");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !value)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(model, size, "%s", value + 1 + (value[1] == ' '));
		break;
	}
	fclose(file);
}

#ifdef __x86_64__

#define CPUID_FEATURES	      1
#define CPUID_HYPERVISOR_BIT  (1U << 31)
#define CPUID_HYPERVISOR_NAME 0x40000000

static void get_hypervisor(char *name, size_t size)
{
	static const struct {
		const char *signature;
		const char *name;
	} known[] = {
		{"KVMKVMKVM", "KVM"},	    {"Microsoft Hv", "Hyper-V"},
		{"VMwareVMware", "VMware"}, {"XenVMMXenVMM", "Xen"},
		{"TCGTCGTCGTCG", "QEMU"},
	};
	unsigned int eax, ebx, ecx, edx;
	char signature[13] = "";

	if (!__get_cpuid(CPUID_FEATURES, &eax, &ebx, &ecx, &edx) ||
	    !(ecx & CPUID_HYPERVISOR_BIT))
		return;
	__cpuid(CPUID_HYPERVISOR_NAME, eax, ebx, ecx, edx);
	memcpy(signature, &ebx, 4);
	memcpy(signature + 4, &ecx, 4);
	memcpy(signature + 8, &edx, 4);
	snprintf(name, size, "unknown VM");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(signature, known[i].signature) == 0)
			snprintf(name, size, "%s", known[i].name);
	}
}

#else

static void get_hypervisor(char *name, size_t size)
{
	(void)name;
	(void)size;
}

#endif

static int count_cpus(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		return CPU_COUNT(&cpus);
	/* More CPUs than a cpu_set_t holds. */
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void machine_get(struct machine *machine)
{
	struct utsname name;

	memset(machine, 0, sizeof(*machine));
	if (uname(&name) == 0)
		snprintf(machine->kernel, sizeof(machine->kernel), "%s %s %s",
			 name.sysname, name.release, name.machine);
	get_cpu_model(machine->cpu, sizeof(machine->cpu));
	machine->cpus = count_cpus();
	if (!read_line("/sys/devices/system/clocksource/clocksource0/"
		       "current_clocksource",
		       machine->clocksource, sizeof(machine->clocksource)))
		snprintf(machine->clocksource, sizeof(machine->clocksource),
			 "unknown");
	get_hypervisor(machine->hypervisor, sizeof(machine->hypervisor));
}
