/* SPDX-License-Identifier: MIT */
/*
 * For `cpuclock flame` where perf events are denied: each thread has a timer of
 * its own CPU clock, whose signal copies the registers and the stack.
 *
 * posix-cpu-timers expire at the kernel's tick only, so one signal may stand
 * for several periods: si_overrun says for how many more.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "samples.h"

/* glibc had no name for it before 2.36. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* The highest of the real-time signals: what programs use begins below. It is
 * never queued twice for one timer. */
#define SIGNAL (SIGRTMAX - 2)

typedef int create_function(pthread_t *, const pthread_attr_t *,
			    void *(*)(void *), void *);

static struct samples *samples;
static struct timespec period;
static create_function *next_create;

struct start {
	void *(*routine)(void *);
	void *argument;
};

static struct samples_slot *take_slot(void)
{
	uint64_t number = atomic_fetch_add(&samples->next, 1);
	struct samples_slot *slot = &samples->slots[number % SAMPLES_SLOTS];
	uint32_t expected = SLOT_FREE;

	if (!atomic_compare_exchange_strong(&slot->state, &expected,
					    SLOT_FILLING)) {
		atomic_fetch_add(&samples->lost, 1);
		return NULL;
	}
	slot->pid = getpid();
	slot->tid = (int32_t)syscall(SYS_gettid);
	prctl(PR_GET_NAME, slot->comm);
	return slot;
}

static void give_slot(struct samples_slot *slot)
{
	atomic_store_explicit(&slot->state, SLOT_FULL, memory_order_release);
}

#if defined(__x86_64__)

static void copy_registers(struct samples_slot *slot, const mcontext_t *context)
{
	static const uint8_t from[] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
		REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (size_t i = 0; i < sizeof(from); i++)
		slot->registers[i] = (uint64_t)context->gregs[from[i]];
	slot->pc = (uint64_t)context->gregs[REG_RIP];
	slot->stack_start = (uint64_t)context->gregs[REG_RSP];
}

#elif defined(__aarch64__)

static void copy_registers(struct samples_slot *slot, const mcontext_t *context)
{
	memcpy(slot->registers, context->regs, 31 * sizeof(uint64_t));
	slot->registers[31] = context->sp;
	slot->pc = context->pc;
	slot->stack_start = context->sp;
}

#endif

/*
 * By the kernel, which stops where the stack does; a plain copy would be
 * SIGSEGV there. Page by page: it copies a part that is not all there not at
 * all.
 */
static void copy_stack(struct samples_slot *slot)
{
	uint64_t from = slot->stack_start;

	slot->size = 0;
	while (slot->size < SAMPLES_STACK_SIZE) {
		size_t length = 4096 - (from + slot->size) % 4096;
		struct iovec to = {slot->bytes + slot->size, 0};
		struct iovec part;

		if (length > SAMPLES_STACK_SIZE - slot->size)
			length = SAMPLES_STACK_SIZE - slot->size;
		to.iov_len = length;
		part.iov_base = (void *)(uintptr_t)(from + slot->size);
		part.iov_len = length;
		if (syscall(SYS_process_vm_readv, getpid(), &to, 1, &part, 1,
			    0) != (long)length)
			break;
		slot->size += length;
	}
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	struct samples_slot *slot;

	(void)number;
	/* Anybody may send a signal. */
	if (info->si_code != SI_TIMER)
		return;
	slot = take_slot();
	if (slot) {
		slot->kind = SLOT_SAMPLE;
		slot->weight = 1 + (uint32_t)info->si_overrun;
		copy_registers(slot, &((ucontext_t *)context)->uc_mcontext);
		copy_stack(slot);
		give_slot(slot);
	}
	errno = saved;
}

/* The timer ends with its thread's process; the kernel deletes it at exec, and
 * a child has none. */
static bool start_timer(timer_t *timer)
{
	struct itimerspec times = {period, period};
	struct sigevent event = {0};

	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGNAL;
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, timer) != 0)
		return false;
	timer_settime(*timer, 0, &times, NULL);
	return true;
}

/* A timer outlives its thread, so it is deleted by who made it. */
static pthread_key_t timer_key;

static void delete_timer(void *timer)
{
	timer_delete(*(timer_t *)timer);
	free(timer);
}

static void sample_this_thread(void)
{
	timer_t *timer = malloc(sizeof(*timer));

	if (!timer || !start_timer(timer)) {
		atomic_fetch_add(&samples->unsampled, 1);
		free(timer);
		return;
	}
	pthread_setspecific(timer_key, timer);
}

static void *run_thread(void *argument)
{
	struct start start = *(struct start *)argument;

	free(argument);
	sample_this_thread();
	return start.routine(start.argument);
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
	       void *(*routine)(void *), void *argument)
{
	struct start *start;
	int err;

	if (!next_create)
		next_create =
			(create_function *)dlsym(RTLD_NEXT, "pthread_create");
	if (!samples)
		return next_create(thread, attributes, routine, argument);
	start = malloc(sizeof(*start));
	if (!start)
		return EAGAIN;
	*start = (struct start){routine, argument};
	err = next_create(thread, attributes, run_thread, start);
	if (err)
		free(start);
	return err;
}

/* For a process that ends before the command can look at it. */
static void leave_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool last = fd < 0;

	for (uint32_t part = 0; !last; part++) {
		struct samples_slot *slot = take_slot();
		ssize_t n = 0;

		if (!slot)
			break;
		slot->kind = SLOT_MAPS;
		slot->part = part;
		slot->size = 0;
		do {
			slot->size += (uint64_t)n;
			n = read(fd, slot->bytes + slot->size,
				 SAMPLES_STACK_SIZE - slot->size);
		} while (n > 0);
		last = n <= 0 && slot->size < SAMPLES_STACK_SIZE;
		give_slot(slot);
	}
	if (fd >= 0)
		close(fd);
}

static void after_fork(void)
{
	atomic_fetch_add(&samples->processes, 1);
	leave_maps();
	sample_this_thread();
}

static struct samples *map_file(const char *path)
{
	struct samples *mapped = MAP_FAILED;
	struct stat stat;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return NULL;
	/* Another file could shrink, and kill whoever writes to it. */
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
	    stat.st_uid == geteuid() && stat.st_size == (off_t)sizeof(*mapped))
		mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0);
	close(fd);
	return mapped == MAP_FAILED || mapped->magic != SAMPLES_MAGIC ? NULL
								      : mapped;
}

__attribute__((constructor)) static void start_sampler(void)
{
	const char *path = secure_getenv(SAMPLES_VARIABLE);
	const char *text = secure_getenv(SAMPLES_PERIOD_VARIABLE);
	struct sigaction action = {0};
	struct samples *mapped;
	long long ns = text ? strtoll(text, NULL, 10) : 0;

	if (!path || ns <= 0)
		return;
	mapped = map_file(path);
	if (!mapped || pthread_key_create(&timer_key, delete_timer) != 0)
		return;
	period.tv_sec = (time_t)(ns / 1000000000);
	period.tv_nsec = (long)(ns % 1000000000);
	action.sa_sigaction = on_timer;
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigfillset(&action.sa_mask);
	if (sigaction(SIGNAL, &action, NULL) != 0)
		return;
	samples = mapped;
	atomic_fetch_add(&samples->processes, 1);
	leave_maps();
	pthread_atfork(NULL, NULL, after_fork);
	sample_this_thread();
}
