/* SPDX-License-Identifier: MIT */
/*
 * rseq - the kernel sets rseq_cs to NULL when it finds, on return to user mode
 * after a switch, that the thread is outside of the critical section that
 * rseq_cs names (kernel/rseq.c, rseq_ip_fixup, "lazy clear"). The section named
 * here is empty, so the thread is always outside. Since Linux 6.19 a switch
 * within a system call does not clear it: only the self-test can tell.
 *
 * Other users of rseq overwrite the word at will; that reads as a switch. Nor
 * are they disturbed: no thread is inside of a critical section while it runs
 * this code, as a signal handler makes the kernel abort the section first.
 */
#include <errno.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "constructor.h"
#include "epoch.h"

#if defined(__x86_64__)

#define SIGNATURE 0x53053053

static char *thread_pointer(void)
{
	char *pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

#elif defined(__aarch64__)

#define SIGNATURE 0xd428bc00

static char *thread_pointer(void)
{
	char *pointer;

	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

#else

#define SIGNATURE 0

static char *thread_pointer(void)
{
	return NULL;
}

#endif

/* glibc since 2.35: where the area of a thread is. Absent elsewhere. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* The area of a thread where libc knows nothing of rseq. */
static __thread struct rseq own_area
	__attribute__((tls_model("initial-exec"), aligned(32))) = {
		.cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED};

/*
 * The kernel may read the descriptor at any time while a thread has it armed,
 * also after this library would have been unloaded, and kills a process where
 * it is gone: it lives in memory that is never unmapped.
 */
struct section {
	struct rseq_cs descriptor;
	uint32_t signature;
	char abort[4]; /* never jumped to, as the section is empty */
};

static struct section *_Atomic section;

static struct section *make_section(void)
{
	struct section *made, *expected = NULL;

	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	made->signature = SIGNATURE;
	made->descriptor.start_ip = (uintptr_t)made->abort;
	made->descriptor.abort_ip = (uintptr_t)made->abort;
	mprotect(made, sizeof(*made), PROT_READ);
	if (!atomic_compare_exchange_strong(&section, &expected, made)) {
		munmap(made, sizeof(*made));
		return expected;
	}
	return made;
}

static const struct cpuclock__verdict *probe(void)
{
	static const struct cpuclock__verdict
		unknown = {-EOPNOTSUPP, "not known for this processor"},
		off = {-EOPNOTSUPP,
		       "libc has rseq switched off (GLIBC_TUNABLES "
		       "glibc.pthread.rseq), or the kernel has "
		       "none"},
		no_memory = {-ENOMEM, "no memory for its descriptor"};

	if (SIGNATURE == 0)
		return &unknown;
	if (&__rseq_size && __rseq_size == 0)
		return &off;
	if (!section && !make_section())
		return &no_memory;
	return &cpuclock__works;
}

/*
 * musl gives the memory of a thread back before the thread has ended: its area
 * must be unregistered first, by the destructor of this key.
 */
static pthread_key_t area_key;
static bool have_area_key;

static void unregister_area(void *area)
{
	/* From here on no switch shows. */
	cpuclock__epoch_leave();
	syscall(SYS_rseq, area, sizeof(own_area), RSEQ_FLAG_UNREGISTER,
		SIGNATURE);
}

CPUCLOCK__CONSTRUCTOR static void make_area_key(void)
{
	if (!&__rseq_size)
		have_area_key =
			pthread_key_create(&area_key, unregister_area) == 0;
}

/* A copy of the library in a plugin can be unloaded before a thread ends. */
__attribute__((destructor)) static void delete_area_key(void)
{
	if (have_area_key)
		pthread_key_delete(area_key);
	have_area_key = false;
}

static struct rseq *register_own_area(void)
{
	if ((int)own_area.cpu_id >= 0)
		return &own_area;
	if (!have_area_key ||
	    syscall(SYS_rseq, &own_area, sizeof(own_area), 0, SIGNATURE) != 0)
		return NULL;
	if (pthread_setspecific(area_key, &own_area) != 0) {
		unregister_area(&own_area);
		own_area.cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED;
		return NULL;
	}
	return &own_area;
}

static cpuclock__epoch_word *attach(void)
{
	struct rseq *area;

	if (&__rseq_size)
		area = (struct rseq *)(thread_pointer() + __rseq_offset);
	else
		area = register_own_area();
	if (!area || (int)area->cpu_id < 0)
		return NULL;
	return (cpuclock__epoch_word *)&area->rseq_cs;
}

static void detach(cpuclock__epoch_word *word)
{
	(void)word;
}

static void forget(cpuclock__epoch_word *word, bool in_call)
{
	(void)word;
	(void)in_call;
	/* fork keeps the registration. */
}

static uint64_t arm(cpuclock__epoch_word *word)
{
	uint64_t value = (uintptr_t)&section->descriptor;

	*(volatile uint64_t *)word = value;
	return value;
}

const struct cpuclock__epoch cpuclock__epoch_rseq = {
	.name = "fast:rseq",
	.probe = probe,
	.attach = attach,
	.detach = detach,
	.forget = forget,
	.arm = arm,
};
