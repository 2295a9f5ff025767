/* SPDX-License-Identifier: MIT */
#include <dwarf.h>

#include "cfi_expression.h"

#define DEPTH 16

struct machine {
	uint64_t stack[DEPTH];
	size_t n;
};

static bool push(struct machine *machine, uint64_t value)
{
	if (machine->n == DEPTH)
		return false;
	machine->stack[machine->n++] = value;
	return true;
}

static bool push_register(struct machine *machine,
			  const struct registers *registers, uint64_t number,
			  uint64_t offset)
{
	uint64_t value;

	return number < REGISTERS_COUNT &&
	       registers_get(registers, (unsigned int)number, &value) &&
	       push(machine, value + offset);
}

/* Two values to one. */
static bool combine(struct machine *machine, uint8_t atom)
{
	uint64_t right, *left;

	if (machine->n < 2)
		return false;
	right = machine->stack[--machine->n];
	left = &machine->stack[machine->n - 1];
	switch (atom) {
	case DW_OP_plus:
		*left += right;
		return true;
	case DW_OP_minus:
		*left -= right;
		return true;
	case DW_OP_mul:
		*left *= right;
		return true;
	case DW_OP_and:
		*left &= right;
		return true;
	case DW_OP_or:
		*left |= right;
		return true;
	case DW_OP_shl:
		*left = right < 64 ? *left << right : 0;
		return true;
	case DW_OP_shr:
		*left = right < 64 ? *left >> right : 0;
		return true;
	case DW_OP_ge:
		*left = (int64_t)*left >= (int64_t)right;
		return true;
	case DW_OP_eq:
		*left = *left == right;
		return true;
	default:
		return false;
	}
}

static bool change_top(struct machine *machine, const Dwarf_Op *operation,
		       const struct stack_copy *stack)
{
	uint64_t *top;

	if (machine->n == 0)
		return false;
	top = &machine->stack[machine->n - 1];
	switch (operation->atom) {
	case DW_OP_deref:
		return stack_copy_read(stack, *top, top);
	case DW_OP_plus_uconst:
		*top += operation->number;
		return true;
	case DW_OP_dup:
		return push(machine, *top);
	default:
		return false;
	}
}

static bool is_constant(uint8_t atom)
{
	return (atom >= DW_OP_const1u && atom <= DW_OP_consts);
}

static bool execute(struct machine *machine, const Dwarf_Op *operation,
		    uint64_t cfa, const struct registers *registers,
		    const struct stack_copy *stack)
{
	uint8_t atom = operation->atom;

	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(machine, registers, atom - DW_OP_breg0,
				     operation->number);
	if (atom == DW_OP_bregx)
		return push_register(machine, registers, operation->number,
				     operation->number2);
	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(machine, atom - DW_OP_lit0);
	if (is_constant(atom))
		return push(machine, operation->number);
	if (atom == DW_OP_call_frame_cfa)
		return push(machine, cfa);
	if (atom == DW_OP_deref || atom == DW_OP_plus_uconst ||
	    atom == DW_OP_dup)
		return change_top(machine, operation, stack);
	return combine(machine, atom);
}

bool cfi_evaluate(const Dwarf_Op *operations, size_t n, uint64_t cfa,
		  const struct registers *registers,
		  const struct stack_copy *stack, bool *ret_is_value,
		  uint64_t *ret_value)
{
	struct machine machine = {.n = 0};

	*ret_is_value = n > 0 && operations[n - 1].atom == DW_OP_stack_value;
	n -= *ret_is_value;
	for (size_t i = 0; i < n; i++) {
		if (!execute(&machine, &operations[i], cfa, registers, stack))
			return false;
	}
	if (machine.n == 0)
		return false;
	*ret_value = machine.stack[machine.n - 1];
	return true;
}
