/* SPDX-License-Identifier: MIT */
/* cli/flame/elf_file and symbols: any bytes, and every name that they give. */
#include <stdlib.h>
#include <string.h>

#include "flame/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = {.fd = -1, .memory = data, .size = size};
	struct symbols symbols;
	struct elf_file file;
	uint64_t address;

	if (elf_file_open(&file, &bytes) != 0)
		return 0;
	for (uint64_t offset = 0; offset < size; offset += 64)
		elf_file_address(&file, offset, &address);
	symbols_read(&symbols, &file);
	for (size_t i = 0; i < symbols.n; i++) {
		const char *name =
			symbols_find(&symbols, symbols.list[i].address);

		if (name && strlen(name) > size)
			abort();
		if (i > 0 &&
		    symbols.list[i - 1].address >= symbols.list[i].address)
			abort();
	}
	symbols_free(&symbols);
	elf_file_close(&file);
	return 0;
}
