/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../words.h"
#include "bench.h"
#include "proc_stdio.h"

static int64_t read_cycles(const void *arg)
{
	(void)arg;
	return (int64_t)(cpuclock__cycles() & INT64_MAX);
}

static int64_t read_vdso(const void *arg)
{
	struct timespec now;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_nsec;
}

static int64_t call_getppid(const void *arg)
{
	(void)arg;
	return syscall(SYS_getppid);
}

static const struct floor {
	const char *name;
	int64_t (*call)(const void *arg);
	int system_calls;
} floors[] = {
	{"cycles", read_cycles, 0},
	{"vdso", read_vdso, 0},
	{"syscall", call_getppid, 1},
};

#define N_FLOORS (sizeof(floors) / sizeof(floors[0]))

static int64_t read_clock(const void *arg)
{
	return cpuclock_read(arg);
}

/* A span from start to stop: two reads and what is around them. */
static int64_t run_span(const void *arg)
{
	struct cpuclock_span span;
	int err = cpuclock_span_start(&span, NULL, 0);

	(void)arg;
	return err ? err : cpuclock_span_stop(&span);
}

static void close_clock(void *arg)
{
	cpuclock_close(arg);
}

static void release_stdio(void *arg)
{
	free(arg);
}

/* The targets of the rows; a foreign thread's reads are those of a thread. */
static const enum cpuclock_target targets[] = {CPUCLOCK_SELF, CPUCLOCK_THREAD,
					       CPUCLOCK_PROCESS};

#define N_ROW_TARGETS (sizeof(targets) / sizeof(targets[0]))

static struct bench_row *add_row(struct bench *bench)
{
	struct bench_row *rows =
		reallocarray(bench->rows, bench->n_rows + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	bench->rows = rows;
	rows += bench->n_rows++;
	*rows = (struct bench_row){
		.system_calls = -1, .allocations = -1, .allocated_bytes = -1};
	return rows;
}

static bool add_floor(struct bench *bench, const struct floor *floor)
{
	struct bench_row *row = add_row(bench);

	if (!row)
		return false;
	row->target = "floor";
	row->kind = "";
	row->source = floor->name;
	row->system_calls = floor->system_calls;
	snprintf(row->name, sizeof(row->name), "cpuclock.floor.%s",
		 floor->name);
	return true;
}

static bool add_source(struct bench *bench, enum cpuclock_target target,
		       enum cpuclock_kind kind, const char *source,
		       int system_calls)
{
	struct bench_row *row = add_row(bench);

	if (!row)
		return false;
	row->system_calls = system_calls;
	row->target = target_words[target];
	row->kind = kind_words[kind];
	row->source = source;
	snprintf(row->name, sizeof(row->name), "cpuclock.%s.%s.%s", row->target,
		 row->kind, source);
	return true;
}

/* Fastest first, as in the table of sources; proc-stdio goes with proc. */
static bool add_sources(struct bench *bench, enum cpuclock_target target,
			enum cpuclock_kind kind)
{
	const char *name;

	for (size_t i = 0; (name = cpuclock_source_at(i)); i++) {
		struct cpuclock_source_info info;

		if (cpuclock_source_info(name, &info) || info.status ||
		    !(info.targets & 1U << target) ||
		    !(info.kinds & 1U << kind))
			continue;
		if (!add_source(bench, target, kind, name, info.system_calls))
			return false;
		if (strcmp(name, "proc") == 0 &&
		    !add_source(bench, target, kind, "proc-stdio", -1))
			return false;
	}
	return true;
}

/* By the source that cpuclock_total answers from. */
static bool add_span(struct bench *bench)
{
	const char *source = strncmp(cpuclock_self_source(), "fast", 4) == 0
				     ? "fast"
				     : "self";
	struct bench_row *row;

	if (cpuclock_total() < 0)
		return true;
	row = add_row(bench);
	if (!row)
		return false;
	row->target = target_words[CPUCLOCK_SELF];
	row->kind = "span";
	row->source = source;
	row->system_calls = strcmp(source, "fast") == 0 ? 0 : 2;
	snprintf(row->name, sizeof(row->name), "cpuclock.self.span.%s",
		 row->source);
	return true;
}

bool bench_rows_make(struct bench *bench)
{
	for (size_t i = 0; i < N_FLOORS; i++) {
		if (strcmp(floors[i].name, "cycles") == 0 &&
		    !cpuclock__cycles_usable())
			continue;
		if (!add_floor(bench, &floors[i]))
			return false;
	}
	for (size_t i = 0; i < N_ROW_TARGETS; i++) {
		for (int kind = 0; kind < N_KINDS; kind++) {
			if (!add_sources(bench, targets[i],
					 (enum cpuclock_kind)kind))
				return false;
		}
		if (targets[i] == CPUCLOCK_SELF && !add_span(bench))
			return false;
	}
	return true;
}

static int prepare_floor(const struct bench_row *row,
			 struct bench_call *ret_call)
{
	size_t i = 0;

	while (strcmp(row->source, floors[i].name) != 0)
		i++;
	*ret_call = (struct bench_call){.call = floors[i].call};
	return 0;
}

static int prepare_stdio(const struct bench_row *row, enum cpuclock_kind kind,
			 pid_t other_tid, struct bench_call *ret_call)
{
	struct proc_stdio *stdio = malloc(sizeof(*stdio));

	if (!stdio)
		return -ENOMEM;
	if (strcmp(row->target, "process") == 0)
		*stdio = (struct proc_stdio){.pid = getpid(), .kind = kind};
	else if (strcmp(row->target, "thread") == 0)
		*stdio = (struct proc_stdio){.tid = other_tid, .kind = kind};
	else
		*stdio = (struct proc_stdio){.tid = gettid(), .kind = kind};
	*ret_call = (struct bench_call){.call = proc_stdio_read,
					.arg = stdio,
					.release = release_stdio};
	return 0;
}

int bench_row_prepare(const struct bench_row *row, pid_t other_tid,
		      struct bench_call *ret_call)
{
	enum cpuclock_kind kind = CPUCLOCK_TOTAL;
	enum cpuclock_target target = CPUCLOCK_SELF;
	struct cpuclock *clock;
	pid_t id = 0;
	int err;

	if (strcmp(row->target, "floor") == 0)
		return prepare_floor(row, ret_call);
	if (strcmp(row->kind, "span") == 0) {
		*ret_call = (struct bench_call){.call = run_span};
		return 0;
	}
	parse_kind(row->kind, &kind);
	if (strcmp(row->source, "proc-stdio") == 0)
		return prepare_stdio(row, kind, other_tid, ret_call);
	if (strcmp(row->target, "thread") == 0) {
		target = CPUCLOCK_THREAD;
		id = other_tid;
	} else if (strcmp(row->target, "process") == 0) {
		target = CPUCLOCK_PROCESS;
		id = getpid();
	}
	err = cpuclock_open(target, id, kind, row->source, &clock);
	if (err)
		return err;
	*ret_call = (struct bench_call){
		.call = read_clock, .arg = clock, .release = close_clock};
	return 0;
}

struct sleeper {
	pthread_t thread;
	sem_t ready;
	sem_t end;
	pid_t tid;
};

static void *sleep_until_ended(void *arg)
{
	struct sleeper *sleeper = arg;

	sleeper->tid = gettid();
	sem_post(&sleeper->ready);
	while (sem_wait(&sleeper->end) != 0)
		;
	return NULL;
}

struct sleeper *sleeper_start(pid_t *ret_tid)
{
	struct sleeper *sleeper = calloc(1, sizeof(*sleeper));

	if (!sleeper)
		return NULL;
	sem_init(&sleeper->ready, 0, 0);
	sem_init(&sleeper->end, 0, 0);
	if (pthread_create(&sleeper->thread, NULL, sleep_until_ended,
			   sleeper) != 0) {
		free(sleeper);
		return NULL;
	}
	while (sem_wait(&sleeper->ready) != 0)
		;
	*ret_tid = sleeper->tid;
	return sleeper;
}

void sleeper_end(struct sleeper *sleeper)
{
	sem_post(&sleeper->end);
	pthread_join(sleeper->thread, NULL);
	free(sleeper);
}
