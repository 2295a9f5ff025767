/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tracepoint.h"
#include "flame/cfi.h"
#include "flame/demangle.h"
#include "flame/write.h"
#include "info.h"
#include "table.h"
#include "words.h"

static void print_accounting(const struct info *info)
{
	const struct accounting *accounting = &info->accounting;
	char tick[32], step[32];

	if (accounting->tick_ns < 0) {
		printf("  accounting   unknown: the VIRT clock cannot be read, "
		       "%s\n",
		       strerror((int)-accounting->tick_ns));
		return;
	}
	format_ns(tick, sizeof(tick), (double)accounting->tick_ns);
	format_ns(step, sizeof(step), (double)accounting->step_ns);
	printf("  tick         %s, %.0f Hz, as clock_getres says of the VIRT "
	       "clock\n",
	       tick, 1e9 / (double)accounting->tick_ns);
	if (accounting->step_ns == 0)
		puts("  accounting   unknown: the VIRT clock did not move in "
		     "0.3 s of work");
	else if (accounting->by_tick)
		printf("  accounting   by tick: user and system are sampled; "
		       "the "
		       "VIRT clock was seen\n"
		       "               to move in steps of %s\n",
		       step);
	else
		printf("  accounting   precise: the VIRT clock was seen to "
		       "move by "
		       "%s\n",
		       step);
	if (*info->nohz_full)
		printf("  nohz_full    CPUs %s: precise there\n",
		       info->nohz_full);
}

static void print_machine(const struct info *info)
{
	const struct machine *machine = &info->machine;
	char perf[160];

	describe_perf(&info->perf, perf, sizeof(perf));
	printf("  kernel       %s\n", machine->kernel);
	printf("  processor    %s, %d CPU%s to use%s%s\n", machine->cpu,
	       machine->cpus, machine->cpus == 1 ? "" : "s",
	       *machine->hypervisor ? ", guest of " : "", machine->hypervisor);
	print_accounting(info);
	printf("  clocksource  %s\n", machine->clocksource);
	printf("  cycles       %s\n",
	       info->cycles ? "the counter runs at a constant rate and may be "
			      "read"
			    : "no counter of constant rate that may be read");
	printf("  perf events  %s\n", perf);
	printf("  rseq         %s\n", info->rseq.text);
	printf("  flame        stacks by %s; names of %s%s\n",
	       cfi_is_supported() ? "unwind tables and frame pointers"
				  : "frame pointers only, built without libdw",
	       demangle_engine(),
	       gzip_missing ? "; no .pb.gz, built without zlib" : "");
}

static void list_bits(char *text, size_t size, unsigned int bits,
		      const char *const *words, int n_words)
{
	size_t length = 0;

	text[0] = '\0';
	for (int i = 0; i < n_words && length < size; i++) {
		if (bits & 1U << i)
			length += (size_t)snprintf(text + length, size - length,
						   "%s%s", length ? " " : "",
						   words[i]);
	}
}

/* "1 ns", or "1 ns, ticks 4 ms" where a kind has another step than the first.
 */
static void list_resolutions(char *text, size_t size, const char *source,
			     unsigned int kinds)
{
	int64_t last = -1;
	size_t length = 0;

	text[0] = '\0';
	for (int i = 0; i < N_KINDS && length < size; i++) {
		int64_t step = cpuclock_source_resolution(
			source, (enum cpuclock_kind)i);
		char number[32];

		if (!(kinds & 1U << i) || step == last || step < 0)
			continue;
		format_ns(number, sizeof(number), (double)step);
		length += (size_t)snprintf(text + length, size - length,
					   "%s%s%s%s", length ? ", " : "",
					   length ? kind_words[i] : "",
					   length ? " " : "", number);
		last = step;
	}
}

/* With the epoch, where there is one. */
static const char *shown_name(const char *name, int status)
{
	return strcmp(name, "fast") == 0 && status == 0 ? cpuclock_self_source()
							: name;
}

static bool print_sources(void)
{
	static const struct table_column columns[] = {
		{"  source", false}, {"kinds", false},	    {"of", false},
		{"calls", true},     {"resolution", false}, {"here", false},
	};
	struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]));
	const char *name;
	bool ok;

	if (!table)
		return false;
	for (size_t i = 0; (name = cpuclock_source_at(i)); i++) {
		struct cpuclock_source_info source;
		char text[128];

		cpuclock_source_info(name, &source);
		table_cell(table, "  %s", shown_name(name, source.status));
		list_bits(text, sizeof(text), source.kinds, kind_words,
			  N_KINDS);
		table_cell(table, "%s", text);
		list_bits(text, sizeof(text), source.targets, target_words,
			  N_TARGETS);
		table_cell(table, "%s", text);
		table_cell(table, "%d", source.system_calls);
		list_resolutions(text, sizeof(text), name, source.kinds);
		table_cell(table, "%s", text);
		table_cell(table, "%s", source.status ? "no" : "works");
	}
	ok = table_print(table, stdout);
	table_free(table);
	for (size_t i = 0; (name = cpuclock_source_at(i)); i++) {
		struct cpuclock_source_info source;

		cpuclock_source_info(name, &source);
		if (source.status)
			printf("  %s does not work here: %s\n", name,
			       source.why);
	}
	return ok;
}

static void print_snapshot_sources(void)
{
	const char *name;

	for (size_t i = 0; (name = cpuclock_snapshot_source_at(i)); i++) {
		struct cpuclock_snapshot_source_info source;

		cpuclock_snapshot_source_info(name, &source);
		if (source.status)
			printf("  %-8s does not work here: %s\n", name,
			       source.why);
		else
			printf("  %-8s works: %s\n", name, source.summary);
	}
}

static const char *or_none(const char *source)
{
	return source ? source : "none";
}

/* See cpuclock_self_source. */
static const char *self_source_of_split(void)
{
	const char *source = cpuclock_self_source();

	if (cpuclock_user() < 0)
		return "none";
	return strcmp(source, "self") == 0 ? "rusage" : source;
}

static void print_in_use(void)
{
	const char *forced = getenv("CPUCLOCK_SOURCE");
	struct cpuclock_source_info source;

	printf("  cpuclock_total()                     %s\n",
	       cpuclock_total() < 0 ? "none" : cpuclock_self_source());
	printf("  cpuclock_user(), _system(), _self()  %s\n",
	       self_source_of_split());
	printf("  another thread of the process        %s; user and system: "
	       "%s\n",
	       or_none(cpuclock_best_source(CPUCLOCK_THREAD, CPUCLOCK_TOTAL)),
	       or_none(cpuclock_best_source(CPUCLOCK_THREAD, CPUCLOCK_USER)));
	printf("  a process                            %s; user and system: "
	       "%s\n",
	       or_none(cpuclock_best_source(CPUCLOCK_PROCESS, CPUCLOCK_TOTAL)),
	       or_none(cpuclock_best_source(CPUCLOCK_PROCESS, CPUCLOCK_USER)));
	printf("  a thread of another process          %s; user and system: "
	       "%s\n",
	       or_none(cpuclock_best_source(CPUCLOCK_FOREIGN, CPUCLOCK_TOTAL)),
	       or_none(cpuclock_best_source(CPUCLOCK_FOREIGN, CPUCLOCK_USER)));
	if (forced && *forced)
		printf("  CPUCLOCK_SOURCE is set, for `cpuclock read`: %s\n",
		       cpuclock_source_info(forced, &source) == 0
			       ? source.name
			       : "to no source that there is");
}

static bool works(const char *source)
{
	struct cpuclock_source_info info;

	return cpuclock_source_info(source, &info) == 0 && info.status == 0;
}

static void print_more(void)
{
	bool complete = true;
	const char *why;

	if (!works("self") || !works("rusage")) {
		puts("  - Allow clock_gettime(2) and getrusage(2) in the "
		     "seccomp "
		     "filter.");
		complete = false;
	}
	if (!works("proc")) {
		puts("  - Mount /proc: user and system time of other threads "
		     "and "
		     "processes need it\n"
		     "    (mount -t proc proc /proc).");
		complete = false;
	} else if (!works("schedstat")) {
		puts("  - A kernel with CONFIG_SCHED_INFO: it gives the time "
		     "of "
		     "foreign threads in ns.");
		complete = false;
	}
	if (!tracepoints_work(&why)) {
		printf("  - For `cpuclock bench` to count system calls and "
		       "kernel "
		       "memory, let it use the\n    kernel's tracepoints, as "
		       "root can. Here: %s.\n",
		       why);
		complete = false;
	}
	if (complete)
		puts("  Nothing: all that this version can use is at hand.");
}

bool info_print(const struct info *info)
{
	bool ok;

	puts("This machine");
	print_machine(info);
	puts("\nSources, fastest first");
	ok = print_sources();
	puts("\nSources of snapshots of all threads, for `cpuclock stat`, "
	     "fastest first");
	print_snapshot_sources();
	puts("\nIn use");
	print_in_use();
	puts("\nTo get more");
	print_more();
	return ok;
}
