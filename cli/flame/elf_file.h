/* SPDX-License-Identifier: MIT */
/*
 * What is needed of an ELF file: its segments, its sections, its build id.
 *
 * Any bytes are allowed. Nothing is mapped: a file that shrinks while it is
 * read gives short reads, and not SIGBUS.
 */
#ifndef CPUCLOCK_FLAME_ELF_FILE_H
#define CPUCLOCK_FLAME_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file, or memory if there is any. */
struct bytes {
	int fd;
	const uint8_t *memory;
	uint64_t size;
};

/*
 * A copy of a part, with a NUL behind it, to be freed; NULL if it is not all
 * there, or memory is short.
 */
void *bytes_copy(const struct bytes *bytes, uint64_t offset, uint64_t length);

#define BUILD_ID_SIZE 20

struct build_id {
	uint8_t size; /* 0: unknown */
	uint8_t bytes[BUILD_ID_SIZE];
};

bool build_id_equal(const struct build_id *a, const struct build_id *b);

struct elf_file {
	struct bytes bytes;
	Elf64_Phdr *segments;
	size_t n_segments;
	Elf64_Shdr *sections;
	size_t n_sections;
	char *names; /* of the sections */
	size_t names_size;
	bool refused; /* it has sections, and they are not to be read */
	struct build_id build_id;
};

/* 0, or -errno; -ENOEXEC where it is no ELF file of this machine's kind. */
int elf_file_open(struct elf_file *file, const struct bytes *bytes);

/* Frees all but the bytes. */
void elf_file_close(struct elf_file *file);

/* The address, as the file's symbols have it, of what is mapped of an offset.
 */
bool elf_file_address(const struct elf_file *file, uint64_t offset,
		      uint64_t *ret_address);

/* Of a section by its number; empty if it has none. */
const char *elf_file_name(const struct elf_file *file, size_t number);

/* NULL if there is none. */
const Elf64_Shdr *elf_file_section(const struct elf_file *file,
				   const char *name);

/* A copy of a section, as by bytes_copy; NULL if it is compressed or has no
 * bytes in the file. */
void *elf_file_copy(const struct elf_file *file, const Elf64_Shdr *section);

#endif
