/* SPDX-License-Identifier: MIT */
/*
 * The file in which a preloaded sampler leaves what it saw: slots of one size,
 * which it fills and the command empties. A process that is killed while it
 * fills one leaves it lost, and nothing else.
 */
#ifndef CPUCLOCK_SAMPLES_H
#define CPUCLOCK_SAMPLES_H

#include <stdatomic.h>
#include <stdint.h>

/* The path of the file, and the period in ns, in the sampler's environment. */
#define SAMPLES_VARIABLE	"CPUCLOCK_SAMPLES"
#define SAMPLES_PERIOD_VARIABLE "CPUCLOCK_SAMPLES_PERIOD"

#define SAMPLES_MAGIC	   UINT64_C(0x3130656c706d6173)
#define SAMPLES_SLOTS	   2048
#define SAMPLES_STACK_SIZE 16384
#define SAMPLES_REGISTERS  33

enum {
	SLOT_FREE,
	SLOT_FILLING,
	SLOT_FULL,
};

enum {
	SLOT_SAMPLE,
	SLOT_MAPS, /* a part of the text of /proc/self/maps */
};

struct samples_slot {
	_Atomic uint32_t state;
	uint32_t kind;
	int32_t pid;
	int32_t tid;
	uint32_t weight; /* periods */
	uint32_t part;	 /* of maps: from 0 on */
	char comm[16];
	uint64_t pc;
	uint64_t registers[SAMPLES_REGISTERS]; /* by their numbers in DWARF */
	uint64_t stack_start;
	uint64_t size; /* of what follows */
	uint8_t bytes[SAMPLES_STACK_SIZE];
};

struct samples {
	uint64_t magic;
	_Atomic uint64_t next; /* number of the next slot */
	_Atomic uint64_t lost;
	_Atomic uint64_t processes; /* that loaded the sampler */
	_Atomic uint64_t unsampled; /* threads that got no timer */
	struct samples_slot slots[SAMPLES_SLOTS];
};

#endif
