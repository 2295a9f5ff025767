/* SPDX-License-Identifier: MIT */
/*
 * The same few addresses come again and again, so what a table says of one is
 * kept: a step costs some loads then, and no process needs anything of its own
 * (libdwfl would want each one's modules).
 */
#include <dwarf.h>
#include <stdlib.h>

#include "cfi.h"
#include "cfi_expression.h"
#include "dwarf_file.h"
#include "frame_limits.h"

enum rule_kind {
	RULE_SAME,
	RULE_UNKNOWN, /* or of no interest */
	RULE_AT,      /* in memory at the CFA and a number */
	RULE_OFFSET,  /* the CFA and a number */
	RULE_EXPRESSION,
};

struct rule {
	uint8_t kind;
	uint8_t base; /* of the CFA by RULE_OFFSET: the register */
	uint16_t n;
	union {
		int64_t number;
		const Dwarf_Op *operations;
	};
};

struct row {
	uint64_t address;
	bool is_used;
	bool is_there;
	bool is_signal; /* its stack may be another one */
	uint8_t return_register;
	struct rule cfa;
	struct rule registers[REGISTERS_COUNT];
};

struct cfi {
	struct dwarf_file file;
	struct dwarf_file debug;
	Dwarf_CFI *tables[2];
	struct row *rows; /* by hash */
	size_t n_rows;
	size_t slots;
};

bool cfi_is_supported(void)
{
	return true;
}

static struct cfi *open_tables(struct object *object)
{
	struct cfi *cfi = calloc(1, sizeof(*cfi));
	const struct elf_file *file = &object->file;

	if (!cfi)
		return NULL;
	if (frame_limits_eh(file) &&
	    dwarf_file_elf(&cfi->file, file, "eh_frame"))
		cfi->tables[0] = dwarf_getcfi_elf(cfi->file.elf);
	/* Where Go has its tables. */
	if (!elf_file_section(file, ".debug_frame") &&
	    !elf_file_section(file, ".zdebug_frame"))
		return cfi;
	if (dwarf_file_open(&cfi->debug, file) &&
	    frame_limits_debug(file, cfi->debug.elf))
		cfi->tables[1] = dwarf_getcfi(cfi->debug.dwarf);
	return cfi;
}

void cfi_close(struct cfi *cfi)
{
	if (!cfi)
		return;
	if (cfi->tables[0])
		dwarf_cfi_end(cfi->tables[0]);
	dwarf_file_close(&cfi->debug);
	dwarf_file_close(&cfi->file);
	free(cfi->rows);
	free(cfi);
}

/* How libdw writes the common rules down. */
static struct rule read_rule(const Dwarf_Op *operations, size_t n)
{
	struct rule rule = {.kind = RULE_EXPRESSION};
	bool has_number = n > 1 && operations[1].atom == DW_OP_plus_uconst;

	if (n > 0 && operations[0].atom == DW_OP_call_frame_cfa) {
		rule.number = has_number ? (int64_t)operations[1].number : 0;
		rule.kind = RULE_AT;
		if (n == 1U + has_number)
			return rule;
		rule.kind = RULE_OFFSET;
		if (n == 2U + has_number &&
		    operations[n - 1].atom == DW_OP_stack_value)
			return rule;
	}
	rule.kind = RULE_EXPRESSION;
	rule.operations = operations;
	rule.n = (uint16_t)n;
	if (n > UINT16_MAX)
		rule.kind = RULE_UNKNOWN;
	return rule;
}

static struct rule read_register(Dwarf_Frame *frame, int number)
{
	struct rule rule = {.kind = RULE_UNKNOWN};
	Dwarf_Op memory[3], *operations;
	size_t n;

	if (dwarf_frame_register(frame, number, memory, &operations, &n) != 0)
		return rule;
	if (n == 0) {
		rule.kind = operations ? RULE_UNKNOWN : RULE_SAME;
		return rule;
	}
	rule = read_rule(operations, n);
	/* Of a register in another: the array is this function's. */
	if (rule.kind == RULE_EXPRESSION && operations == memory)
		rule.kind = RULE_UNKNOWN;
	return rule;
}

static struct rule read_cfa(Dwarf_Frame *frame)
{
	struct rule rule = {.kind = RULE_UNKNOWN};
	Dwarf_Op *operations;
	size_t n;

	if (dwarf_frame_cfa(frame, &operations, &n) != 0 || n == 0 ||
	    n > UINT16_MAX)
		return rule;
	if (n == 1 && operations[0].atom >= DW_OP_breg0 &&
	    operations[0].atom <= DW_OP_breg31) {
		rule.kind = RULE_OFFSET;
		rule.base = (uint8_t)(operations[0].atom - DW_OP_breg0);
		rule.number = (int64_t)operations[0].number;
		return rule;
	}
	/* This one is in the frame, which is freed: it is not kept. */
	if (n == 1 && operations[0].atom == DW_OP_bregx) {
		if (operations[0].number >= REGISTERS_COUNT)
			return rule;
		rule.kind = RULE_OFFSET;
		rule.base = (uint8_t)operations[0].number;
		rule.number = (int64_t)operations[0].number2;
		return rule;
	}
	rule.kind = RULE_EXPRESSION;
	rule.operations = operations;
	rule.n = (uint16_t)n;
	return rule;
}

static void read_row(struct cfi *cfi, struct row *row)
{
	Dwarf_Frame *frame = NULL;
	int number;

	for (size_t i = 0; i < 2 && !frame; i++) {
		if (cfi->tables[i] &&
		    dwarf_cfi_addrframe(cfi->tables[i], row->address, &frame) !=
			    0)
			frame = NULL;
	}
	if (!frame)
		return;
	number = dwarf_frame_info(frame, NULL, NULL, &row->is_signal);
	if (number >= 0 && number < REGISTERS_COUNT) {
		row->is_there = true;
		row->return_register = (uint8_t)number;
		row->cfa = read_cfa(frame);
		for (int i = 0; i < REGISTERS_COUNT; i++)
			row->registers[i] = read_register(frame, i);
	}
	free(frame);
}

static struct row *slot_of(struct row *rows, size_t slots, uint64_t address)
{
	size_t i = (address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % slots;

	while (rows[i].is_used && rows[i].address != address)
		i = (i + 1) % slots;
	return &rows[i];
}

static bool have_room(struct cfi *cfi)
{
	size_t slots = cfi->slots ? cfi->slots * 2 : 64;
	struct row *rows;

	if (cfi->n_rows < cfi->slots / 2)
		return true;
	rows = calloc(slots, sizeof(*rows));
	if (!rows)
		return false;
	for (size_t i = 0; i < cfi->slots; i++) {
		if (cfi->rows[i].is_used)
			*slot_of(rows, slots, cfi->rows[i].address) =
				cfi->rows[i];
	}
	free(cfi->rows);
	cfi->rows = rows;
	cfi->slots = slots;
	return true;
}

static const struct row *get_row(struct object *object, uint64_t address)
{
	struct row *row;

	if (!object->cfi)
		object->cfi = open_tables(object);
	if (!object->cfi || !have_room(object->cfi))
		return NULL;
	row = slot_of(object->cfi->rows, object->cfi->slots, address);
	if (!row->is_used) {
		row->is_used = true;
		row->address = address;
		object->cfi->n_rows++;
		read_row(object->cfi, row);
	}
	return row->is_there ? row : NULL;
}

static bool find_cfa(const struct row *row, const struct registers *registers,
		     const struct stack_copy *stack, uint64_t *ret_cfa)
{
	const struct rule *rule = &row->cfa;
	uint64_t base;

	if (rule->kind == RULE_EXPRESSION) {
		bool is_value;

		return cfi_evaluate(rule->operations, rule->n, 0, registers,
				    stack, &is_value, ret_cfa);
	}
	if (rule->kind != RULE_OFFSET ||
	    !registers_get(registers, rule->base, &base))
		return false;
	*ret_cfa = base + (uint64_t)rule->number;
	return true;
}

static bool find_register(const struct rule *rule, uint64_t cfa,
			  const struct registers *registers,
			  const struct stack_copy *stack, uint64_t *ret_value)
{
	bool is_value;

	switch (rule->kind) {
	case RULE_AT:
		return stack_copy_read(stack, cfa + (uint64_t)rule->number,
				       ret_value);
	case RULE_OFFSET:
		*ret_value = cfa + (uint64_t)rule->number;
		return true;
	case RULE_EXPRESSION:
		if (!cfi_evaluate(rule->operations, rule->n, cfa, registers,
				  stack, &is_value, ret_value))
			return false;
		return is_value ||
		       stack_copy_read(stack, *ret_value, ret_value);
	default:
		return false;
	}
}

static void find_registers(const struct row *row, uint64_t cfa,
			   struct registers *registers,
			   const struct stack_copy *stack)
{
	struct registers caller = {0};
	uint64_t value;

	registers_set(&caller, REGISTERS_STACK, cfa);
	for (unsigned int i = 0; i < REGISTERS_COUNT; i++) {
		const struct rule *rule = &row->registers[i];
		bool found = rule->kind == RULE_SAME
				     ? registers_get(registers, i, &value)
				     : find_register(rule, cfa, registers,
						     stack, &value);

		/* The stack pointer of the caller is the CFA by definition,
		 * unless a signal's frame says otherwise. */
		if (found && (i != REGISTERS_STACK || rule->kind != RULE_SAME))
			registers_set(&caller, i, value);
	}
	*registers = caller;
}

enum cfi_result cfi_step(struct object *object, uint64_t address,
			 struct registers *registers,
			 const struct stack_copy *stack)
{
	const struct row *row = get_row(object, address);
	uint64_t cfa, pc, top = 0;

	if (!row)
		return CFI_NONE;
	if (row->registers[row->return_register].kind == RULE_UNKNOWN)
		return CFI_END;
	registers_get(registers, REGISTERS_STACK, &top);
	if (!find_cfa(row, registers, stack, &cfa) ||
	    (cfa <= top && !row->is_signal && cfa != top))
		return CFI_CUT;
	find_registers(row, cfa, registers, stack);
	if (!registers_get(registers, row->return_register, &pc))
		return CFI_CUT;
	registers->pc = registers_code_address(pc);
	return registers->pc == 0 ? CFI_END : CFI_STEP;
}

bool cfi_is_outermost(struct object *object, uint64_t address)
{
	const struct row *row = get_row(object, address);

	return row && row->registers[row->return_register].kind == RULE_UNKNOWN;
}
