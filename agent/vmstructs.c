/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clockid.h"
#include "vmstructs.h"

static uint64_t osthread_offset, thread_id_offset;
static bool have_osthread, have_thread_id;

/* How an entry of the table is laid out; each is a variable of libjvm's. */
struct layout {
	uint64_t type_name, field_name, is_static, offset, stride;
};

void *vmstructs_symbol(const char *name)
{
	static void *libjvm;

	if (!libjvm)
		libjvm = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
	/* A JVM that is part of its program has no such library. */
	return dlsym(libjvm ? libjvm : RTLD_DEFAULT, name);
}

/* The constant data of a library; 1 if the text is there. */
static int search(struct dl_phdr_info *library, size_t size, void *arg)
{
	const char *text = arg;

	(void)size;
	if (!strstr(library->dlpi_name, "/libjvm.so"))
		return 0;
	for (int i = 0; i < library->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &library->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && part->p_flags & PF_R &&
		    memmem((const char *)library->dlpi_addr + part->p_vaddr,
			   part->p_memsz, text, strlen(text)))
			return 1;
	}
	return 0;
}

bool vmstructs_hold_text(const char *text)
{
	return dl_iterate_phdr(search, (void *)text) == 1;
}

static bool read_layout(struct layout *ret_layout)
{
	static const char *const names[] = {
		"gHotSpotVMStructEntryTypeNameOffset",
		"gHotSpotVMStructEntryFieldNameOffset",
		"gHotSpotVMStructEntryIsStaticOffset",
		"gHotSpotVMStructEntryOffsetOffset",
		"gHotSpotVMStructEntryArrayStride",
	};
	uint64_t *values[] = {
		&ret_layout->type_name, &ret_layout->field_name,
		&ret_layout->is_static, &ret_layout->offset,
		&ret_layout->stride,
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const uint64_t *value = vmstructs_symbol(names[i]);

		if (!value)
			return false;
		*values[i] = *value;
	}
	return ret_layout->stride != 0;
}

static const char *text_at(const char *entry, uint64_t offset)
{
	const char *text;

	memcpy(&text, entry + offset, sizeof(text));
	return text;
}

static void look_at(const char *entry, const struct layout *layout)
{
	const char *type = text_at(entry, layout->type_name);
	const char *field = text_at(entry, layout->field_name);
	int32_t is_static;
	uint64_t offset;

	memcpy(&is_static, entry + layout->is_static, sizeof(is_static));
	memcpy(&offset, entry + layout->offset, sizeof(offset));
	if (is_static || !field)
		return;
	/* Of JavaThread, or of the class that it extends. */
	if (strcmp(field, "_osthread") == 0 &&
	    (strcmp(type, "JavaThread") == 0 || strcmp(type, "Thread") == 0)) {
		osthread_offset = offset;
		have_osthread = true;
	} else if (strcmp(type, "OSThread") == 0 &&
		   strcmp(field, "_thread_id") == 0) {
		thread_id_offset = offset;
		have_thread_id = true;
	}
}

bool vmstructs_find(void)
{
	const char *const *table = vmstructs_symbol("gHotSpotVMStructs");
	struct layout layout;
	const char *entry;

	if (!table || !*table || !read_layout(&layout))
		return false;
	for (entry = *table; text_at(entry, layout.type_name);
	     entry += layout.stride)
		look_at(entry, &layout);
	return have_osthread && have_thread_id;
}

/* Where a plain load could fault, the kernel says that nothing is there. */
static bool read_memory(uint64_t address, void *ret_value, size_t size)
{
	struct iovec local = {ret_value, size};
	struct iovec remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
	       (ssize_t)size;
}

pid_t vmstructs_tid(uint64_t eetop)
{
	uint64_t osthread;
	pid_t tid;

	if (!have_osthread || !have_thread_id || !eetop ||
	    !read_memory(eetop + osthread_offset, &osthread,
			 sizeof(osthread)) ||
	    !read_memory(osthread + thread_id_offset, &tid, sizeof(tid)) ||
	    !cpuclock__pid_is_valid(tid))
		return 0;
	return tid;
}
