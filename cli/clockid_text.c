/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "clockid.h"
#include "clockid_text.h"
#include "json.h"

/* The ids from 0 up, include/uapi/linux/time.h. */
static const char *const fixed_clocks[] = {
	"CLOCK_REALTIME",	    "CLOCK_MONOTONIC",
	"CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID",
	"CLOCK_MONOTONIC_RAW",	    "CLOCK_REALTIME_COARSE",
	"CLOCK_MONOTONIC_COARSE",   "CLOCK_BOOTTIME",
	"CLOCK_REALTIME_ALARM",	    "CLOCK_BOOTTIME_ALARM",
	"CLOCK_SGI_CYCLE",	    "CLOCK_TAI",
};

#define N_FIXED ((int)(sizeof(fixed_clocks) / sizeof(fixed_clocks[0])))

static const struct {
	const char *word;
	const char *meaning;
} types[] = {
	[CPUCLOCK_ID_PROF] = {"PROF", "user and system ticks, as sampled"},
	[CPUCLOCK_ID_VIRT] = {"VIRT", "user ticks, as sampled; not scaled, can "
				      "exceed SCHED"},
	[CPUCLOCK_ID_SCHED] = {"SCHED", "exact time on a CPU, in ns"},
	[CPUCLOCK_ID_FD] = {"FD", "dynamic clock of a device, through an open "
				  "descriptor"},
};

static const char *fixed_name(clockid_t id)
{
	/* CLOCK_AUX to CLOCK_AUX_LAST, of newer kernels. */
	if (id >= 16 && id <= 23)
		return "CLOCK_AUX";
	return id >= 0 && id < N_FIXED ? fixed_clocks[id] : NULL;
}

static void print_now(clockid_t id)
{
	struct cpuclock_clockid parts;
	bool is_cpu_clock = cpuclock_clockid_decode(id, &parts) == 0;
	struct timespec now;

	/* A descriptor means something in its own process only. */
	if (is_cpu_clock && parts.type == CPUCLOCK_ID_FD)
		return;
	if (clock_gettime(id, &now) == 0)
		printf("read now    %lld.%09ld s\n", (long long)now.tv_sec,
		       now.tv_nsec);
	else if (errno == EINVAL && is_cpu_clock)
		puts("read now    EINVAL: it ended, or it is a thread of "
		     "another "
		     "process");
	else
		printf("read now    %s\n", errno == EINVAL
						   ? "EINVAL: no such clock"
						   : strerror(errno));
}

/* Could the kernel have made it? */
static bool is_valid(clockid_t id)
{
	struct cpuclock_clockid parts;

	if (id >= 0)
		return fixed_name(id) != NULL;
	return cpuclock_clockid_decode(id, &parts) == 0 &&
	       (parts.type == CPUCLOCK_ID_FD ||
		parts.value <= CPUCLOCK__PID_MAX);
}

static void explain_fixed(clockid_t id)
{
	const char *name = fixed_name(id);

	printf("clock       %s\n", name ? name : "none of the fixed clocks");
	if (id == CLOCK_PROCESS_CPUTIME_ID)
		puts("same as     -6: SCHED of process 0, the caller's own");
	else if (id == CLOCK_THREAD_CPUTIME_ID)
		puts("same as     -2: SCHED of thread 0, the caller itself");
	if (id <= CLOCK_BOOTTIME)
		puts("trap        the CPU clock id of PID or TID -1 comes out "
		     "as "
		     "an id from 0 to 7:\n"
		     "            another clock answers, without an error");
}

static void explain_value(const struct cpuclock_clockid *id)
{
	if (id->type == CPUCLOCK_ID_FD) {
		printf("bits 31..3  %d, stored inverted: file descriptor, as "
		       "of "
		       "/dev/ptpN\n",
		       id->value);
		return;
	}
	printf("bits 31..3  %d, stored inverted: %s\n", id->value,
	       id->value == 0	? "0 is the caller, and no PID is looked up"
	       : id->per_thread ? "TID"
				: "PID");
	if (id->value > CPUCLOCK__PID_MAX)
		printf("trap        %d is above %d, the most that Linux gives: "
		       "this id was never valid\n",
		       id->value, CPUCLOCK__PID_MAX);
	else if (id->value && id->per_thread)
		puts("trap        works inside of the thread's own process "
		     "only; "
		     "EINVAL elsewhere");
}

static const char *constant_of(clockid_t id)
{
	if (id == -6)
		return "CLOCK_PROCESS_CPUTIME_ID";
	return id == -2 ? "CLOCK_THREAD_CPUTIME_ID" : NULL;
}

void clockid_explain(clockid_t clockid)
{
	struct cpuclock_clockid id;

	printf("clockid_t   %d = 0x%08x = %u\n", clockid, (unsigned int)clockid,
	       (unsigned int)clockid);
	if (clockid >= 0) {
		explain_fixed(clockid);
	} else if (cpuclock_clockid_decode(clockid, &id)) {
		puts("invalid     bits 2..0 are all set: Linux gives that no "
		     "meaning");
	} else {
		explain_value(&id);
		if (id.type == CPUCLOCK_ID_FD)
			puts("bit 2       0: none but 0 is valid for a device");
		else
			printf("bit 2       %d: %s\n", id.per_thread,
			       id.per_thread ? "one thread"
					     : "process, all of its threads");
		printf("bits 1..0   %d: %s, %s\n", (int)id.type,
		       types[id.type].word, types[id.type].meaning);
		if (constant_of(clockid))
			printf("same as     %s\n", constant_of(clockid));
	}
	print_now(clockid);
}

void clockid_explain_json(clockid_t clockid)
{
	struct json json = {.stream = stdout};
	struct cpuclock_clockid id;
	int err = cpuclock_clockid_decode(clockid, &id);

	json_begin_object(&json, NULL);
	json_integer(&json, "clockid", clockid);
	json_integer(&json, "unsigned", (uint32_t)clockid);
	if (clockid >= 0 || constant_of(clockid))
		json_string(&json, "clock",
			    clockid >= 0 ? fixed_name(clockid)
					 : constant_of(clockid));
	json_bool(&json, "valid", is_valid(clockid));
	if (!err) {
		json_string(&json, "type", types[id.type].word);
		json_bool(&json, "per_thread", id.per_thread);
		json_integer(&json,
			     id.type == CPUCLOCK_ID_FD ? "descriptor"
			     : id.per_thread	       ? "tid"
						       : "pid",
			     id.value);
	}
	json_end_object(&json);
}

bool clockid_parse_type(const char *word, enum cpuclock_clockid_type *ret_type)
{
	for (int i = CPUCLOCK_ID_PROF; i <= CPUCLOCK_ID_SCHED; i++) {
		if (strcasecmp(word, types[i].word) == 0) {
			*ret_type = (enum cpuclock_clockid_type)i;
			return true;
		}
	}
	return false;
}
