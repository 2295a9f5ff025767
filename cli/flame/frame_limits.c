/* SPDX-License-Identifier: MIT */
/*
 * Entries are asked for by their place in the table, by the search table of
 * .eh_frame_hdr, and by a pointer from FDE to CIE: each of them may lead into
 * the middle of another entry.
 */
#include <stdlib.h>
#include <string.h>

#include "frame_limits.h"

#define MAX_ENTRY UINT32_C(65536)
/* Without sections libelf reads all of a file. */
#define MAX_WHOLE (UINT64_C(64) << 20)

struct table {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t address;
	bool is_eh;
};

struct header {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t address;
};

static bool get(const struct table *table, uint64_t offset, uint32_t *ret_word)
{
	if (table->size < sizeof(*ret_word) ||
	    offset > table->size - sizeof(*ret_word))
		return false;
	memcpy(ret_word, table->bytes + offset, sizeof(*ret_word));
	return true;
}

/* 64-bit DWARF begins with the largest length, and is not written here. */
static bool is_small(const struct table *table, uint64_t offset)
{
	uint32_t length;

	return !get(table, offset, &length) || length <= MAX_ENTRY;
}

static bool are_small(const struct table *table, uint64_t offset)
{
	uint64_t at = offset + 4;
	uint32_t length, cie;

	if (!get(table, offset, &length) || length == 0)
		return true;
	if (length > MAX_ENTRY)
		return false;
	if (!get(table, at, &cie))
		return true;
	if (!table->is_eh)
		return cie == UINT32_MAX || is_small(table, cie);
	return cie == 0 || cie > at || is_small(table, at - cie);
}

static bool all_are_small(const struct table *table)
{
	uint64_t offset = 0;
	uint32_t length;

	while (get(table, offset, &length)) {
		if (!are_small(table, offset))
			return false;
		offset += sizeof(length) + length;
	}
	return true;
}

/* The encodings that linkers write: four bytes, from here or the header on. */
static bool has_search_table(const struct header *header)
{
	static const uint8_t usual[] = {1, 0x1b, 0x03, 0x3b};

	return header->size >= 12 &&
	       memcmp(header->bytes, usual, sizeof(usual)) == 0;
}

static bool has_none(const struct header *header)
{
	return header->size >= 4 && header->bytes[0] == 1 &&
	       header->bytes[1] == 0x1b && header->bytes[2] == 0xff;
}

static bool found_are_small(const struct table *table,
			    const struct header *header)
{
	uint32_t n;

	memcpy(&n, header->bytes + 8, sizeof(n));
	for (uint64_t at = 12; n-- > 0 && at + 8 <= header->size; at += 8) {
		int32_t distance;

		memcpy(&distance, header->bytes + at + 4, sizeof(distance));
		if (!are_small(table, header->address + (uint64_t)distance -
					      table->address))
			return false;
	}
	return true;
}

static bool by_sections(const struct elf_file *file, const Elf64_Shdr *section,
			const Elf64_Shdr *header_section)
{
	uint8_t *bytes =
		bytes_copy(&file->bytes, section->sh_offset, section->sh_size);
	struct table table = {bytes, section->sh_size, section->sh_addr, true};
	bool ok = bytes && all_are_small(&table);

	if (ok && header_section) {
		uint8_t *copy =
			bytes_copy(&file->bytes, header_section->sh_offset,
				   header_section->sh_size);
		struct header header = {copy, header_section->sh_size,
					header_section->sh_addr};

		ok = copy &&
		     (has_none(&header) || (has_search_table(&header) &&
					    found_are_small(&table, &header)));
		free(copy);
	}
	free(bytes);
	return ok;
}

/* Where the table ends is not known: what follows it is no entry. */
static bool by_segment(const struct elf_file *file, const Elf64_Phdr *segment)
{
	uint8_t *copy =
		bytes_copy(&file->bytes, segment->p_offset, segment->p_filesz);
	struct header header = {copy, segment->p_filesz, segment->p_vaddr};
	bool ok = false;

	if (copy && has_search_table(&header)) {
		struct table table = {.is_eh = true};
		uint8_t *bytes;
		uint64_t offset;
		int32_t distance;

		memcpy(&distance, copy + 4, sizeof(distance));
		table.address = segment->p_vaddr + 4 + (uint64_t)distance;
		offset = segment->p_offset + 4 + (uint64_t)distance;
		table.size = file->bytes.size - offset;
		bytes = bytes_copy(&file->bytes, offset, table.size);
		table.bytes = bytes;
		ok = bytes && found_are_small(&table, &header);
		free(bytes);
	}
	free(copy);
	return ok;
}

/* In the order in which libdw looks for it. */
bool frame_limits_eh(const struct elf_file *file)
{
	const Elf64_Shdr *header = NULL;

	for (size_t i = 1; i < file->n_sections; i++) {
		const char *name = elf_file_name(file, i);

		if (strcmp(name, ".eh_frame_hdr") == 0)
			header = &file->sections[i];
		else if (strcmp(name, ".eh_frame") == 0)
			return by_sections(file, &file->sections[i], header);
	}
	for (size_t i = 0; i < file->n_segments; i++) {
		if (file->segments[i].p_type == PT_GNU_EH_FRAME)
			return file->bytes.size <= MAX_WHOLE &&
			       by_segment(file, &file->segments[i]);
	}
	return false;
}

bool frame_limits_debug(const struct elf_file *file, Elf *elf)
{
	for (size_t i = 1; i < file->n_sections; i++) {
		const char *name = elf_file_name(file, i);
		struct table table = {NULL, 0, 0, false};
		Elf_Data *data;

		if (strcmp(name, ".debug_frame") != 0 &&
		    strcmp(name, ".zdebug_frame") != 0)
			continue;
		data = elf_getdata(elf_getscn(elf, i), NULL);
		if (!data || !data->d_buf)
			return false;
		table.bytes = data->d_buf;
		table.size = data->d_size;
		if (!all_are_small(&table))
			return false;
	}
	return true;
}
