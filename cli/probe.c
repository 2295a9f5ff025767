/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpuclock.h"
#include "machine.h"
#include "probe.h"

#define ACCOUNTING_LIMIT_NS 300000000

/* Time in user mode: a tick that hits a system call would not count. */
static void spin(void)
{
	for (volatile int i = 0; i < 50000; i++)
		;
}

/* Burns CPU until the ticks change; how much they did, 0 if never. */
static int64_t next_step(const struct cpuclock *ticks)
{
	int64_t start = cpuclock_total();
	int64_t before = cpuclock_read(ticks);

	while (cpuclock_total() - start < ACCOUNTING_LIMIT_NS / 2) {
		int64_t now;

		spin();
		now = cpuclock_read(ticks);
		if (now != before)
			return now - before;
	}
	return 0;
}

void probe_accounting(struct accounting *ret_accounting)
{
	struct accounting accounting = {0};
	struct cpuclock *ticks;

	accounting.tick_ns = cpuclock_source_resolution("self", CPUCLOCK_TICKS);
	if (cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TICKS, "self", &ticks) ==
	    0) {
		/* The first step only finds the edge of one. */
		if (next_step(ticks) > 0)
			accounting.step_ns = next_step(ticks);
		cpuclock_close(ticks);
	}
	/* A virtual machine's stolen time can shorten a step. */
	accounting.by_tick = accounting.tick_ns > 0 &&
			     accounting.step_ns > accounting.tick_ns / 2;
	*ret_accounting = accounting;
}

int probe_paranoid(void)
{
	char line[32];

	if (!read_line("/proc/sys/kernel/perf_event_paranoid", line,
		       sizeof(line)))
		return PARANOID_UNKNOWN;
	return (int)strtol(line, NULL, 10);
}

void probe_perf(struct perf_state *ret_perf)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perf_event_mmap_page *page;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd;

	*ret_perf = (struct perf_state){.paranoid = probe_paranoid()};
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			  PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		ret_perf->error = -errno;
		return;
	}
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		ret_perf->error = -errno;
	} else {
		ret_perf->cap_user_time = page->cap_user_time;
		munmap(page, size);
	}
	close(fd);
}

/* glibc, since 2.35; 0 if it did not register the thread. */
extern const unsigned int __rseq_size __attribute__((weak));

void probe_rseq(struct rseq_state *ret_rseq)
{
	if (!&__rseq_size)
		*ret_rseq = (struct rseq_state){
			false, "not registered: this libc does not do it"};
	else if (__rseq_size == 0)
		*ret_rseq = (struct rseq_state){
			false, "not registered: switched off "
			       "(GLIBC_TUNABLES), or the kernel has none"};
	else
		*ret_rseq = (struct rseq_state){true, "registered by libc"};
}
