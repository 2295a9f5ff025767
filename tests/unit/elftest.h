/* SPDX-License-Identifier: MIT */
/* ELF files of a few sections, whose headers may lie. */
#ifndef CPUCLOCK_TESTS_ELFTEST_H
#define CPUCLOCK_TESTS_ELFTEST_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

struct part {
	const char *name;
	const void *bytes;
	size_t length;
	uint64_t size; /* that is claimed, if it is another */
	uint64_t flags;
	uint32_t type; /* or SHT_PROGBITS */
};

static void put(int fd, const void *bytes, size_t length, uint64_t offset)
{
	assert_int_equal(pwrite(fd, bytes, length, (off_t)offset),
			 (ssize_t)length);
}

/* An object of all of whose bytes are code at their offsets. */
static int make_object(char *path, const struct part *parts, size_t n,
		       uint64_t names_size)
{
	Elf64_Shdr sections[10] = {{0}};
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_machine = MACHINE};
	Elf64_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_X | PF_R};
	char names[512] = "";
	size_t used = 1;
	uint64_t end = 4096;
	int fd = mkstemp(path);

	assert_true(fd >= 0 && n < 8);
	for (size_t i = 0; i <= n; i++) {
		const char *name = i < n ? parts[i].name : ".shstrtab";
		Elf64_Shdr *section = &sections[i + 1];

		section->sh_name = (Elf64_Word)used;
		section->sh_offset = end;
		used += (size_t)snprintf(names + used, sizeof(names) - used,
					 "%s", name) +
			1;
		if (i == n)
			break;
		section->sh_type = parts[i].type ? parts[i].type : SHT_PROGBITS;
		section->sh_flags = parts[i].flags;
		section->sh_addr = end;
		section->sh_size =
			parts[i].size ? parts[i].size : parts[i].length;
		put(fd, parts[i].bytes, parts[i].length, end);
		end += (section->sh_size + 15) & ~UINT64_C(15);
	}
	sections[n + 1].sh_type = SHT_STRTAB;
	sections[n + 1].sh_size = names_size ? names_size : used;
	put(fd, names, used, end);
	end += (sections[n + 1].sh_size + 15) & ~UINT64_C(15);
	put(fd, sections, (n + 2) * sizeof(*sections), end);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = header.e_version = EV_CURRENT;
	header.e_type = ET_DYN;
	header.e_ehsize = sizeof(header);
	header.e_phoff = sizeof(header);
	header.e_phentsize = sizeof(segment);
	header.e_phnum = 1;
	header.e_shoff = end;
	header.e_shentsize = sizeof(*sections);
	header.e_shnum = (Elf64_Half)(n + 2);
	header.e_shstrndx = (Elf64_Half)(n + 1);
	segment.p_filesz = segment.p_memsz = end;
	put(fd, &header, sizeof(header), 0);
	put(fd, &segment, sizeof(segment), sizeof(header));
	return fd;
}

#endif
