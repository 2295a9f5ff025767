/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf_file.h"

/* Of all that is open. */
#define MAX_SIZE (UINT64_C(1) << 30)

static uint64_t held;

/* Of .zdebug_info: "ZLIB" and the size, the highest byte first. */
static uint64_t old_inflated(const uint8_t *header)
{
	uint64_t size;

	if (memcmp(header, "ZLIB", 4) != 0)
		return 0;
	memcpy(&size, header + 4, sizeof(size));
	return be64toh(size);
}

static uint64_t size_of(const struct elf_file *from, size_t i)
{
	const Elf64_Shdr *section = &from->sections[i];
	const char *name = elf_file_name(from, i);
	bool is_old = strncmp(name, ".zdebug", 7) == 0;
	uint64_t size = section->sh_size;
	Elf64_Chdr *header;

	if (section->sh_type == SHT_NOBITS)
		return 0;
	if (!is_old && !(section->sh_flags & SHF_COMPRESSED))
		return size;
	header = bytes_copy(&from->bytes, section->sh_offset, sizeof(*header));
	if (!header)
		return MAX_SIZE;
	if (section->sh_flags & SHF_COMPRESSED)
		size = header->ch_size;
	else
		size = old_inflated((const uint8_t *)header);
	free(header);
	return size > section->sh_size ? size : section->sh_size;
}

static bool take_room(struct dwarf_file *file, const struct elf_file *from,
		      const char *word)
{
	uint64_t size = 0;

	for (size_t i = 1; i < from->n_sections; i++) {
		uint64_t more;

		if (!strstr(elf_file_name(from, i), word))
			continue;
		more = size_of(from, i);
		size += more < MAX_SIZE ? more : MAX_SIZE;
	}
	if (size > MAX_SIZE - held)
		return false;
	held += size;
	file->size = size;
	return true;
}

bool dwarf_file_elf(struct dwarf_file *file, const struct elf_file *from,
		    const char *word)
{
	*file = (struct dwarf_file){.elf = NULL};
	/* libelf would read names of any length. */
	if (from->refused || !take_room(file, from, word))
		return false;
	elf_version(EV_CURRENT);
	/* By reading: a mapped file that shrinks is SIGBUS. */
	file->elf = from->bytes.memory
			    ? elf_memory((char *)(uintptr_t)from->bytes.memory,
					 from->bytes.size)
			    : elf_begin(from->bytes.fd, ELF_C_READ, NULL);
	return file->elf != NULL;
}

bool dwarf_file_open(struct dwarf_file *file, const struct elf_file *from)
{
	if (!dwarf_file_elf(file, from, "debug"))
		return false;
	file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	return file->dwarf != NULL;
}

void dwarf_file_close(struct dwarf_file *file)
{
	if (file->dwarf)
		dwarf_end(file->dwarf);
	if (file->elf)
		elf_end(file->elf);
	held -= file->size;
	*file = (struct dwarf_file){.elf = NULL};
}
