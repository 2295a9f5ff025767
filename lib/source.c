/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "source.h"

/* Fastest first: the order in which the best one is looked for. */
static const struct cpuclock__source *const sources[] = {
	&cpuclock__source_fast,	  &cpuclock__source_taskclock,
	&cpuclock__source_self,	  &cpuclock__source_posix,
	&cpuclock__source_rusage, &cpuclock__source_schedstat,
	&cpuclock__source_proc,
};

#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

const struct cpuclock__verdict cpuclock__works = {0, NULL};

/*
 * What the probe of the source in the same place of the table found; NULL
 * until asked. One pointer, so there is no lock that a fork could leave held;
 * threads that ask for the first time together may each run the probe.
 */
static const struct cpuclock__verdict *_Atomic verdicts[N_SOURCES];

static size_t index_of(const struct cpuclock__source *source)
{
	size_t i = 0;

	while (sources[i] != source)
		i++;
	return i;
}

/* A shortage can be over the next time. */
static bool is_lasting(const struct cpuclock__verdict *verdict)
{
	switch (verdict->status) {
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -EAGAIN:
		return false;
	default:
		return true;
	}
}

const struct cpuclock__verdict *
cpuclock__source_probe(const struct cpuclock__source *source)
{
	const struct cpuclock__verdict *_Atomic *slot =
		&verdicts[index_of(source)];
	const struct cpuclock__verdict *verdict =
		atomic_load_explicit(slot, memory_order_acquire);

	if (!verdict) {
		verdict = source->probe();
		if (!source->verdict_changes && is_lasting(verdict))
			atomic_store_explicit(slot, verdict,
					      memory_order_release);
	}
	return verdict;
}

const struct cpuclock__source *cpuclock__source_find(const char *name)
{
	for (size_t i = 0; name && i < N_SOURCES; i++) {
		if (strcmp(sources[i]->name, name) == 0)
			return sources[i];
	}
	return NULL;
}

static bool gives(const struct cpuclock__source *source,
		  enum cpuclock_target target, enum cpuclock_kind kind)
{
	return source->targets & CPUCLOCK__BIT(target) &&
	       source->kinds & CPUCLOCK__BIT(kind);
}

const struct cpuclock__source *
cpuclock__source_best(enum cpuclock_target target, enum cpuclock_kind kind,
		      int *ret_status)
{
	int status = -EOPNOTSUPP;

	for (size_t i = 0; i < N_SOURCES; i++) {
		if (!gives(sources[i], target, kind))
			continue;
		status = cpuclock__source_probe(sources[i])->status;
		if (status == 0)
			return sources[i];
	}
	*ret_status = status;
	return NULL;
}

const char *cpuclock_source_at(size_t index)
{
	return index < N_SOURCES ? sources[index]->name : NULL;
}

int cpuclock_source_info(const char *name,
			 struct cpuclock_source_info *ret_info)
{
	const struct cpuclock__source *source = cpuclock__source_find(name);
	const struct cpuclock__verdict *verdict;

	if (!source)
		return -ENOENT;

	verdict = cpuclock__source_probe(source);
	*ret_info = (struct cpuclock_source_info){
		.name = source->name,
		.summary = source->summary,
		.targets = source->targets,
		.kinds = source->kinds,
		.system_calls = source->system_calls,
		.status = verdict->status,
		.why = verdict->why,
	};
	return 0;
}

int64_t cpuclock_source_resolution(const char *name, enum cpuclock_kind kind)
{
	const struct cpuclock__source *source = cpuclock__source_find(name);

	if (!source)
		return -ENOENT;
	if ((unsigned int)kind > CPUCLOCK_TICKS ||
	    !(source->kinds & CPUCLOCK__BIT(kind)))
		return -EOPNOTSUPP;
	return source->resolution(kind);
}

const char *cpuclock_best_source(enum cpuclock_target target,
				 enum cpuclock_kind kind)
{
	const struct cpuclock__source *source;
	int status;

	if ((unsigned int)target > CPUCLOCK_FOREIGN ||
	    (unsigned int)kind > CPUCLOCK_TICKS)
		return NULL;
	source = cpuclock__source_best(target, kind, &status);
	return source ? source->name : NULL;
}
