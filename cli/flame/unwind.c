/* SPDX-License-Identifier: MIT */
/*
 * Frame pointers are tried where code has no unwind tables, as that of run-time
 * compilers, and beyond the copied part of the stack. Where there are tables
 * they go first: a chain of frame pointers that looks whole leaves out the
 * caller of each function that keeps none, and distributions build libc so.
 */
#include <string.h>

#include "cfi.h"
#include "unwind.h"

bool stack_copy_read(const struct stack_copy *copy, uint64_t address,
		     uint64_t *ret_value)
{
	uint64_t offset = address - copy->start;

	if (copy->size < sizeof(*ret_value) ||
	    offset > copy->size - sizeof(*ret_value))
		return false;
	memcpy(ret_value, copy->bytes + offset, sizeof(*ret_value));
	return true;
}

bool unwind_locate(const struct process *process, uint64_t address,
		   struct object **ret_object, uint64_t *ret_address)
{
	const struct mapping *mapping =
		processes_find_mapping(process, address);
	struct object_place place = {process->pid, 0, 0};

	if (!mapping || !mapping->object)
		return false;
	place.start = mapping->start;
	place.end = mapping->end;
	object_open(mapping->object, &place);
	*ret_object = mapping->object;
	/* Of what is no ELF file the offset tells one place from another. */
	*ret_address = address - mapping->start + mapping->offset;
	if (strcmp(mapping->object->path, "[vdso]") == 0)
		*ret_address = address - mapping->start;
	return mapping->object->is_elf &&
	       elf_file_address(&mapping->object->file, *ret_address,
				ret_address);
}

static enum cfi_result step_by_tables(const struct process *process,
				      uint64_t address,
				      struct registers *registers,
				      const struct stack_copy *stack)
{
	struct object *object;
	uint64_t in_object;

	if (!unwind_locate(process, address, &object, &in_object))
		return CFI_NONE;
	return cfi_step(object, in_object, registers, stack);
}

/*
 * The frame pointer points at the caller's, with the return address behind it,
 * on both processors; the outermost is 0.
 */
static enum cfi_result step_by_pointer(struct registers *registers,
				       const struct stack_copy *stack)
{
	uint64_t frame, caller, address, top = 0;

	registers_get(registers, REGISTERS_STACK, &top);
	if (!registers_get(registers, REGISTERS_FRAME, &frame))
		return CFI_CUT;
	if (frame == 0)
		return CFI_END;
	if (frame < top || frame % 8 != 0 ||
	    !stack_copy_read(stack, frame, &caller) ||
	    !stack_copy_read(stack, frame + 8, &address))
		return CFI_CUT;
	registers->known = 0;
	registers->pc = registers_code_address(address);
	registers_set(registers, REGISTERS_FRAME, caller);
	registers_set(registers, REGISTERS_STACK, frame + 16);
	return registers->pc == 0 ? CFI_END : CFI_STEP;
}

/* The kernel's chain goes on beyond what was copied, if it found the same
 * caller. */
static size_t append_chain(const struct sample *sample, uint64_t *addresses,
			   size_t n)
{
	size_t i = 0;

	while (i < sample->n_user && sample->user[i] != addresses[n - 1])
		i++;
	for (i++; i < sample->n_user && n < UNWIND_MAX; i++)
		addresses[n++] = sample->user[i];
	return n;
}

/* Of return addresses, the call before them. */
static void back_to_calls(uint64_t *addresses, size_t n)
{
	for (size_t i = 1; i < n; i++)
		addresses[i]--;
}

static bool is_start(const struct process *process, uint64_t address)
{
	struct object *object;
	uint64_t in_object;

	return unwind_locate(process, address, &object, &in_object) &&
	       cfi_is_outermost(object, in_object);
}

static size_t unwind_copy(const struct sample *sample,
			  const struct process *process, uint64_t *addresses,
			  bool *ret_complete)
{
	struct registers registers = sample->registers;
	enum cfi_result result = CFI_STEP;
	size_t n = 0;

	addresses[n++] = registers.pc;
	while (n < UNWIND_MAX) {
		/* Behind a call that never returns another function may
		 * begin. */
		result = step_by_tables(process, registers.pc - (n > 1),
					&registers, &sample->stack);
		if (result == CFI_NONE)
			result = step_by_pointer(&registers, &sample->stack);
		if (result != CFI_STEP)
			break;
		addresses[n++] = registers.pc;
	}
	*ret_complete = result == CFI_END;
	if (result == CFI_CUT && n < UNWIND_MAX) {
		n = append_chain(sample, addresses, n);
		*ret_complete = is_start(process, addresses[n - 1] - 1);
	}
	return n;
}

size_t unwind(const struct sample *sample, const struct process *process,
	      uint64_t *ret_addresses, bool *ret_complete)
{
	size_t n;

	if (sample->has_registers) {
		n = unwind_copy(sample, process, ret_addresses, ret_complete);
	} else {
		n = sample->n_user < UNWIND_MAX ? sample->n_user : UNWIND_MAX;
		if (n > 0)
			memcpy(ret_addresses, sample->user,
			       n * sizeof(uint64_t));
		/* Of a thread of the kernel there is nothing. */
		*ret_complete =
			n == 0 || is_start(process, ret_addresses[n - 1] - 1);
	}
	/* What is no code at the end of a chain that was cut was no chain: a
	 * register that held something else was followed. */
	while (!*ret_complete && n > 1 &&
	       !processes_find_mapping(process, ret_addresses[n - 1]))
		n--;
	back_to_calls(ret_addresses, n);
	return n;
}
