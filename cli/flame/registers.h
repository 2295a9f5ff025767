/* SPDX-License-Identifier: MIT */
/*
 * The registers of a thread in user mode, by their numbers in DWARF, and how
 * perf events and signal handlers give them: what differs by processor.
 */
#ifndef CPUCLOCK_FLAME_REGISTERS_H
#define CPUCLOCK_FLAME_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct registers {
	uint64_t pc;
	uint64_t value[33];
	uint64_t known; /* a bit for each */
};

#if defined(__x86_64__)

#define REGISTERS_COUNT	 17
#define REGISTERS_FRAME	 6
#define REGISTERS_STACK	 7
#define REGISTERS_RETURN 16 /* the address to return to */

/* asm/perf_regs.h: AX BX CX DX SI DI BP SP IP, R8 to R15 from 16 on. */
#define REGISTERS_PERF_MASK UINT64_C(0xff01ff)
#define REGISTERS_PERF_ABI  2 /* PERF_SAMPLE_REGS_ABI_64 */

static inline uint64_t registers_code_address(uint64_t address)
{
	return address;
}

/* Those of the mask, in their order. */
static inline void registers_from_perf(struct registers *registers,
				       const uint64_t *values)
{
	static const uint8_t numbers[] = {0, 3, 2,  1,	4,  5,	6,  7, 16,
					  8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; i < sizeof(numbers); i++)
		registers->value[numbers[i]] = values[i];
	registers->pc = registers->value[REGISTERS_RETURN];
	registers->known = (UINT64_C(1) << REGISTERS_COUNT) - 1;
}

#elif defined(__aarch64__)

#define REGISTERS_COUNT	    32
#define REGISTERS_FRAME	    29
#define REGISTERS_STACK	    31
#define REGISTERS_RETURN    30

/* asm/perf_regs.h: X0 to X29, LR, SP, PC. */
#define REGISTERS_PERF_MASK UINT64_C(0x1ffffffff)
#define REGISTERS_PERF_ABI  2

/* Pointer authentication keeps a code above the 48 bits of an address. */
static inline uint64_t registers_code_address(uint64_t address)
{
	return address & UINT64_C(0xffffffffffff);
}

static inline void registers_from_perf(struct registers *registers,
				       const uint64_t *values)
{
	for (size_t i = 0; i < REGISTERS_COUNT; i++)
		registers->value[i] = values[i];
	registers->pc = values[32];
	registers->known = (UINT64_C(1) << REGISTERS_COUNT) - 1;
}

#else
#error "flame knows the registers of x86-64 and aarch64 only"
#endif

static inline bool registers_get(const struct registers *registers,
				 unsigned int number, uint64_t *ret_value)
{
	if (number >= REGISTERS_COUNT || !(registers->known >> number & 1))
		return false;
	*ret_value = registers->value[number];
	return true;
}

static inline void registers_set(struct registers *registers,
				 unsigned int number, uint64_t value)
{
	registers->value[number] = value;
	registers->known |= UINT64_C(1) << number;
}

#endif
