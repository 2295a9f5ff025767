/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "flame/cfi.h"
#include "flame/demangle.h"
#include "flame/write.h"
#include "info.h"
#include "json.h"
#include "words.h"

static const char *accounting_word(const struct accounting *accounting)
{
	if (accounting->step_ns == 0)
		return "unknown";
	return accounting->by_tick ? "tick" : "precise";
}

static void json_bits(struct json *json, const char *key, unsigned int bits,
		      const char *const *words, int n_words)
{
	json_begin_array(json, key);
	for (int i = 0; i < n_words; i++) {
		if (bits & 1U << i)
			json_string(json, NULL, words[i]);
	}
	json_end_array(json);
}

static void json_sources(struct json *json)
{
	const char *name;

	json_begin_array(json, "sources");
	for (size_t i = 0; (name = cpuclock_source_at(i)); i++) {
		struct cpuclock_source_info source;

		cpuclock_source_info(name, &source);
		json_begin_object(json, NULL);
		json_string(json, "name", name);
		json_string(json, "summary", source.summary);
		json_bits(json, "kinds", source.kinds, kind_words, N_KINDS);
		json_bits(json, "targets", source.targets, target_words,
			  N_TARGETS);
		json_integer(json, "system_calls", source.system_calls);
		json_begin_object(json, "resolution_ns");
		for (int kind = 0; kind < N_KINDS; kind++) {
			int64_t step = cpuclock_source_resolution(
				name, (enum cpuclock_kind)kind);

			if (step >= 0)
				json_integer(json, kind_words[kind], step);
		}
		json_end_object(json);
		json_bool(json, "available", source.status == 0);
		json_string(json, "why", source.why);
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_snapshot_sources(struct json *json)
{
	const char *name;

	json_begin_array(json, "snapshot_sources");
	for (size_t i = 0; (name = cpuclock_snapshot_source_at(i)); i++) {
		struct cpuclock_snapshot_source_info source;

		cpuclock_snapshot_source_info(name, &source);
		json_begin_object(json, NULL);
		json_string(json, "name", name);
		json_string(json, "summary", source.summary);
		json_bool(json, "available", source.status == 0);
		json_string(json, "why", source.why);
		json_end_object(json);
	}
	json_end_array(json);
}

void info_print_json(const struct info *info)
{
	const struct machine *machine = &info->machine;
	struct json json = {.stream = stdout};
	char perf[160];

	describe_perf(&info->perf, perf, sizeof(perf));
	json_begin_object(&json, NULL);
	json_string(&json, "version", CPUCLOCK_VERSION);
	json_string(&json, "kernel", machine->kernel);
	json_string(&json, "processor", machine->cpu);
	json_integer(&json, "cpus", machine->cpus);
	json_string(&json, "hypervisor",
		    *machine->hypervisor ? machine->hypervisor : NULL);
	json_string(&json, "clocksource", machine->clocksource);
	json_bool(&json, "cycle_counter", info->cycles);
	json_string(&json, "accounting", accounting_word(&info->accounting));
	if (info->accounting.tick_ns < 0)
		json_null(&json, "tick_ns");
	else
		json_integer(&json, "tick_ns", info->accounting.tick_ns);
	json_integer(&json, "ticks_step_ns", info->accounting.step_ns);
	json_string(&json, "nohz_full",
		    *info->nohz_full ? info->nohz_full : NULL);
	json_bool(&json, "perf_allowed", info->perf.error == 0);
	json_string(&json, "perf", perf);
	json_bool(&json, "rseq_registered", info->rseq.registered);
	json_string(&json, "rseq", info->rseq.text);
	json_bool(&json, "flame_unwind_tables", cfi_is_supported());
	json_string(&json, "flame_demangles", demangle_engine());
	json_bool(&json, "flame_pprof", gzip_missing == NULL);
	json_sources(&json);
	json_snapshot_sources(&json);
	json_begin_object(&json, "in_use");
	json_string(&json, "total",
		    cpuclock_total() < 0 ? NULL : cpuclock_self_source());
	json_string(&json, "user",
		    cpuclock_user() < 0 ? NULL
		    : strcmp(cpuclock_self_source(), "self") == 0
			    ? "rusage"
			    : cpuclock_self_source());
	json_end_object(&json);
	json_end_object(&json);
}
