/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"

/* More than any linker writes, and little enough to be read. */
#define MAX_HEADERS 65536
#define MAX_NOTE    (UINT64_C(64) * 1024)
#define MAX_NAMES   (UINT64_C(1) << 20)
#define MAX_COPY    (UINT64_C(256) << 20)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

static bool read_file(int fd, uint8_t *to, uint64_t offset, uint64_t length)
{
	while (length > 0) {
		ssize_t n = pread(fd, to, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		offset += (uint64_t)n;
		length -= (uint64_t)n;
	}
	return true;
}

void *bytes_copy(const struct bytes *bytes, uint64_t offset, uint64_t length)
{
	uint8_t *copy;

	if (offset > bytes->size || length > bytes->size - offset ||
	    length > MAX_COPY)
		return NULL;
	copy = malloc(length + 1);
	if (!copy)
		return NULL;
	copy[length] = '\0';
	if (bytes->memory)
		memcpy(copy, bytes->memory + offset, length);
	else if (!read_file(bytes->fd, copy, offset, length)) {
		free(copy);
		return NULL;
	}
	return copy;
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool is_ours(const Elf64_Ehdr *header)
{
	const unsigned char *ident = header->e_ident;
	int order = BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;

	return memcmp(ident, ELFMAG, SELFMAG) == 0 &&
	       ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == order &&
	       header->e_machine == MACHINE;
}

static void read_segments(struct elf_file *file, const Elf64_Ehdr *header)
{
	if (header->e_phentsize != sizeof(*file->segments))
		return;
	file->segments = bytes_copy(&file->bytes, header->e_phoff,
				    header->e_phnum * sizeof(*file->segments));
	if (file->segments)
		file->n_segments = header->e_phnum;
}

/* Nothing that libelf would understand otherwise. */
static bool read_names(struct elf_file *file, const Elf64_Shdr *section)
{
	size_t size = section->sh_size;

	if (section->sh_type != SHT_STRTAB || size == 0 || size > MAX_NAMES)
		return false;
	file->names = elf_file_copy(file, section);
	file->names_size = size;
	return file->names && file->names[size - 1] == '\0';
}

/* elf(5): where there are too many for the header, section 0 counts them. */
static void read_sections(struct elf_file *file, const Elf64_Ehdr *header)
{
	Elf64_Shdr *first;
	uint64_t n = header->e_shnum;
	uint64_t names = header->e_shstrndx;

	if (header->e_shentsize != sizeof(*first) || header->e_shoff == 0)
		return;
	first = bytes_copy(&file->bytes, header->e_shoff, sizeof(*first));
	if (!first)
		return;
	if (n == 0)
		n = first->sh_size;
	if (names == SHN_XINDEX)
		names = first->sh_link;
	free(first);
	if (n > MAX_HEADERS || names >= n)
		return;
	file->sections = bytes_copy(&file->bytes, header->e_shoff,
				    n * sizeof(*file->sections));
	if (!file->sections || !read_names(file, &file->sections[names]))
		return;
	file->n_sections = n;
}

static size_t aligned(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static bool find_build_id(struct elf_file *file, const uint8_t *notes,
			  size_t size)
{
	Elf64_Nhdr note;

	while (size >= sizeof(note)) {
		size_t name, rest;

		memcpy(&note, notes, sizeof(note));
		notes += sizeof(note);
		size -= sizeof(note);
		name = aligned(note.n_namesz);
		rest = aligned(note.n_descsz);
		if (name > size || rest > size - name)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes, "GNU", 4) == 0 && note.n_descsz > 0 &&
		    note.n_descsz <= BUILD_ID_SIZE) {
			file->build_id.size = (uint8_t)note.n_descsz;
			memcpy(file->build_id.bytes, notes + name,
			       note.n_descsz);
			return true;
		}
		notes += name + rest;
		size -= name + rest;
	}
	return false;
}

static bool try_notes(struct elf_file *file, uint64_t offset, uint64_t size)
{
	uint8_t *notes;
	bool found;

	if (size > MAX_NOTE)
		return false;
	notes = bytes_copy(&file->bytes, offset, size);
	found = notes && find_build_id(file, notes, size);
	free(notes);
	return found;
}

/* A file of debug information has the segments of the program, yet not their
 * bytes: the sections come first. */
static void read_build_id(struct elf_file *file)
{
	for (size_t i = 0; i < file->n_sections; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if (section->sh_type == SHT_NOTE &&
		    try_notes(file, section->sh_offset, section->sh_size))
			return;
	}
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_NOTE &&
		    try_notes(file, segment->p_offset, segment->p_filesz))
			return;
	}
}

int elf_file_open(struct elf_file *file, const struct bytes *bytes)
{
	Elf64_Ehdr *header;

	*file = (struct elf_file){.bytes = *bytes};
	header = bytes_copy(bytes, 0, sizeof(*header));
	if (!header || !is_ours(header)) {
		free(header);
		return -ENOEXEC;
	}
	read_segments(file, header);
	read_sections(file, header);
	file->refused = header->e_shoff != 0 && file->n_sections == 0;
	free(header);
	read_build_id(file);
	return 0;
}

void elf_file_close(struct elf_file *file)
{
	free(file->segments);
	free(file->sections);
	free(file->names);
	*file = (struct elf_file){.bytes = file->bytes};
}

bool elf_file_address(const struct elf_file *file, uint64_t offset,
		      uint64_t *ret_address)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		/* A page of two segments is mapped by both: the code's is
		 * meant. */
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
		    offset >= segment->p_offset &&
		    offset - segment->p_offset < segment->p_filesz) {
			*ret_address =
				offset - segment->p_offset + segment->p_vaddr;
			return true;
		}
	}
	return false;
}

const char *elf_file_name(const struct elf_file *file, size_t number)
{
	const Elf64_Shdr *section = &file->sections[number];

	/* A NUL stands behind the last of them. */
	return section->sh_name < file->names_size
		       ? file->names + section->sh_name
		       : "";
}

const Elf64_Shdr *elf_file_section(const struct elf_file *file,
				   const char *name)
{
	for (size_t i = 0; i < file->n_sections; i++) {
		if (strcmp(elf_file_name(file, i), name) == 0)
			return &file->sections[i];
	}
	return NULL;
}

void *elf_file_copy(const struct elf_file *file, const Elf64_Shdr *section)
{
	if (section->sh_type == SHT_NOBITS ||
	    (section->sh_flags & SHF_COMPRESSED))
		return NULL;
	return bytes_copy(&file->bytes, section->sh_offset, section->sh_size);
}
