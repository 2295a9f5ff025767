/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../file_limit.h"
#include "cfi.h"
#include "perf_event.h"

/* Of the stack is copied what holds most stacks whole; twice that costs twice
 * as much. Beyond it the chain of frame pointers goes on. */
#define STACK_SIZE	(16 * 1024)
#define STACK_SIZE_FAST (8 * 1024)
#define FAST_HZ		500

/* For a second of samples, as the reader may have to wait for a CPU; the least
 * is for two tenths. What may be locked without privileges lies between. */
#define RING_SIZE      ((size_t)2 * 1024 * 1024)
#define RING_SIZE_FAST ((size_t)8 * 1024 * 1024)
/* Less holds no sample with its stack. */
#define MIN_SIZE	((size_t)128 * 1024)
#define LEAST_SIZE	((size_t)512 * 1024)
#define LEAST_SIZE_FAST ((size_t)2 * 1024 * 1024)

/* How much is there when the reader is woken: a part of the smallest ring. */
#define WATERMARK (128 * 1024)

void perf_events_init(struct perf_events *events,
		      const struct flame_options *options)
{
	bool is_fast = options->rate_hz > FAST_HZ;
	struct perf_event_attr *attr = &events->attr;

	*events = (struct perf_events){0};
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_TASK_CLOCK;
	attr->sample_period = (uint64_t)(1000000000 / options->rate_hz);
	attr->sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
	if (cfi_is_supported()) {
		attr->sample_type |=
			PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = REGISTERS_PERF_MASK;
		attr->sample_stack_user =
			is_fast ? STACK_SIZE_FAST : STACK_SIZE;
	}
	attr->disabled = 1;
	attr->inherit = 1;
	attr->exclude_kernel = options->user_only;
	attr->exclude_callchain_kernel = options->user_only;
	attr->exclude_user = options->kernel_only;
	attr->exclude_idle = 1;
	attr->exclude_hv = 1;
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = 1;
	attr->task = 1;
	attr->sample_id_all = 1;
	attr->build_id = 1; /* since Linux 5.12 */
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->watermark = 1;
	is_fast &= cfi_is_supported();
	events->ring_size = is_fast ? RING_SIZE_FAST : RING_SIZE;
	events->wanted_size = events->ring_size;
	events->least_size = is_fast ? LEAST_SIZE_FAST : LEAST_SIZE;
	attr->wakeup_watermark = WATERMARK;
}

static int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu,
		      unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1,
			  flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static void drop_kernel(struct perf_event_attr *attr)
{
	attr->exclude_kernel = attr->exclude_callchain_kernel = 1;
}

int perf_events_probe(const struct perf_events *events)
{
	struct perf_event_attr attr = events->attr;
	int fd;

	attr.inherit = 0;
	attr.build_id = 0;
	if (!attr.exclude_user)
		drop_kernel(&attr);
	fd = open_event(&attr, 0, -1, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Asks for less, one thing after the other, where the kernel does not give
 * all: what it refuses once is not asked for again. */
static int open_one(struct perf_events *events, pid_t pid, int cpu)
{
	struct perf_event_attr *attr = &events->attr;

	for (;;) {
		int fd = open_event(attr, pid, cpu, 0);

		if (fd >= 0)
			return fd;
		if (fd == -EINVAL && attr->build_id)
			attr->build_id = 0;
		else if (fd == -EMFILE && file_limit_raise())
			continue;
		else if ((fd == -EACCES || fd == -EPERM) && pid > 0 &&
			 !attr->exclude_kernel && !attr->exclude_user)
			drop_kernel(attr);
		else
			return fd;
	}
}

static bool keep_fd(struct perf_events *events, int fd)
{
	if (events->n_fds == events->capacity) {
		size_t capacity = events->capacity ? events->capacity * 2 : 64;
		int *fds = realloc(events->fds, capacity * sizeof(*fds));

		if (!fds)
			return false;
		events->fds = fds;
		events->capacity = capacity;
	}
	events->fds[events->n_fds++] = fd;
	return true;
}

static bool have_rings(struct perf_events *events, size_t n)
{
	if (!events->rings) {
		events->rings = calloc(n, sizeof(*events->rings));
		events->ring_fds = calloc(n, sizeof(*events->ring_fds));
		events->ring_cpus = calloc(n, sizeof(*events->ring_cpus));
	}
	return events->rings && events->ring_fds && events->ring_cpus;
}

/* All events of a CPU write into the ring of the first. */
static int connect_ring(struct perf_events *events, int fd, int cpu)
{
	size_t i = 0;
	int err;

	while (i < events->n_rings && events->ring_cpus[i] != cpu)
		i++;
	if (i < events->n_rings)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT,
			     events->ring_fds[i]) != 0
			       ? -errno
			       : 0;
	err = ring_open(&events->rings[i], fd, events->ring_size);
	if (err)
		return err == -EPERM || err == -ENOMEM ? -ENOBUFS : err;
	events->ring_fds[i] = fd;
	events->ring_cpus[i] = cpu;
	events->n_rings++;
	return 0;
}

static int open_on_all(struct perf_events *events, pid_t pid)
{
	int n = (int)sysconf(_SC_NPROCESSORS_CONF);
	bool any = false;

	if (n < 1 || !have_rings(events, (size_t)n))
		return -ENOMEM;
	for (int cpu = 0; cpu < n; cpu++) {
		int fd = open_one(events, pid, cpu);
		int err;

		/* A CPU that is switched off. */
		if (fd == -ENODEV || fd == -ENXIO)
			continue;
		if (fd < 0)
			return fd;
		if (!keep_fd(events, fd)) {
			close(fd);
			return -ENOMEM;
		}
		err = connect_ring(events, fd, cpu);
		if (err)
			return err;
		any = true;
	}
	return any ? 0 : -ENODEV;
}

static void close_all(struct perf_events *events)
{
	for (size_t i = 0; i < events->n_rings; i++)
		ring_close(&events->rings[i]);
	for (size_t i = 0; i < events->n_fds; i++)
		close(events->fds[i]);
	events->n_rings = events->n_fds = 0;
}

/*
 * What may be locked in memory, by kernel.perf_event_mlock_kb for each CPU and
 * user and by RLIMIT_MEMLOCK beyond, is shared with others: it is found by
 * trying. The rings are mapped with the first events.
 */
static int open_with_rings(struct perf_events *events, pid_t pid)
{
	int err = open_on_all(events, pid);

	while (err == -ENOBUFS && events->ring_size > MIN_SIZE) {
		close_all(events);
		events->ring_size /= 2;
		err = open_on_all(events, pid);
	}
	return err == -ENOBUFS ? -EPERM : err;
}

int perf_events_of_command(struct perf_events *events, pid_t pid)
{
	events->attr.enable_on_exec = 1;
	return open_with_rings(events, pid);
}

int perf_events_of_machine(struct perf_events *events)
{
	int err = open_with_rings(events, -1);

	events->system_wide = !err;
	return err;
}

int perf_events_of_thread(struct perf_events *events, pid_t tid)
{
	return open_with_rings(events, tid);
}

void perf_events_enable(struct perf_events *events)
{
	for (size_t i = 0; i < events->n_fds; i++)
		ioctl(events->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

void perf_events_close(struct perf_events *events)
{
	close_all(events);
	free(events->rings);
	free(events->ring_fds);
	free(events->ring_cpus);
	free(events->fds);
	*events = (struct perf_events){.attr = events->attr,
				       .wanted_size = events->wanted_size,
				       .least_size = events->least_size,
				       .ring_size = events->wanted_size};
}
