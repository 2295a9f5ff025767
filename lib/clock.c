/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clockid.h"
#include "source.h"
#include "task.h"

static bool id_is_valid(enum cpuclock_target target, pid_t id)
{
	return target == CPUCLOCK_SELF ? id == 0 : cpuclock__pid_is_valid(id);
}

/* Does the source give this? A clock id reads threads, but not foreign ones. */
static int check_offer(const struct cpuclock__source *source,
		       enum cpuclock_target target, enum cpuclock_kind kind)
{
	if (!(source->kinds & CPUCLOCK__BIT(kind)))
		return -EOPNOTSUPP;
	if (source->targets & CPUCLOCK__BIT(target))
		return 0;
	if (target == CPUCLOCK_FOREIGN &&
	    source->targets & CPUCLOCK__BIT(CPUCLOCK_THREAD))
		return -EPERM;
	return -EOPNOTSUPP;
}

/* NULL and -errno, if there is none. */
static const struct cpuclock__source *choose(enum cpuclock_target target,
					     enum cpuclock_kind kind,
					     const char *name, int *ret_err)
{
	const struct cpuclock__source *source;
	int err;

	if (!name)
		return cpuclock__source_best(target, kind, ret_err);

	source = cpuclock__source_find(name);
	if (!source) {
		*ret_err = -ENOENT;
		return NULL;
	}
	err = check_offer(source, target, kind);
	if (!err)
		err = cpuclock__source_probe(source)->status;
	*ret_err = err;
	return err ? NULL : source;
}

int cpuclock_open(enum cpuclock_target target, pid_t id,
		  enum cpuclock_kind kind, const char *name,
		  struct cpuclock **ret_clock)
{
	const struct cpuclock__source *source;
	struct cpuclock *clock;
	int err;
	int saved = errno;

	if ((unsigned int)target > CPUCLOCK_FOREIGN ||
	    (unsigned int)kind > CPUCLOCK_TICKS || !id_is_valid(target, id))
		return -EINVAL;
	source = choose(target, kind, name, &err);
	if (!source)
		return err;
	err = cpuclock__task_check(target, id);
	if (err)
		return err;

	clock = malloc(sizeof(*clock));
	if (!clock) {
		errno = saved;
		return -ENOMEM;
	}
	*clock = (struct cpuclock){
		.source = source, .target = target, .kind = kind, .id = id};
	if (source->open)
		err = source->open(clock);
	if (err) {
		free(clock);
		return err;
	}

	*ret_clock = clock;
	return 0;
}

/*
 * The total of a thread never falls: a lower one is that of another thread
 * which was given the id. last_ns is from reads that ended before this one
 * began, so threads that share a handle do not mislead each other.
 */
static int64_t read_total_of_thread(const struct cpuclock *clock)
{
	int64_t *last = (int64_t *)(uintptr_t)&clock->last_ns;
	int64_t last_ns = __atomic_load_n(last, __ATOMIC_ACQUIRE);
	int64_t time_ns = clock->source->read(clock);

	if (time_ns < 0)
		return time_ns;
	if (time_ns < last_ns)
		return -ESRCH;
	while (time_ns > last_ns &&
	       !__atomic_compare_exchange_n(last, &last_ns, time_ns, 0,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return time_ns;
}

int64_t cpuclock_read(const struct cpuclock *clock)
{
	if (clock->kind == CPUCLOCK_TOTAL &&
	    (clock->target == CPUCLOCK_THREAD ||
	     clock->target == CPUCLOCK_FOREIGN))
		return read_total_of_thread(clock);
	return clock->source->read(clock);
}

const char *cpuclock_clock_source(const struct cpuclock *clock)
{
	return clock->source->name;
}

void cpuclock_close(struct cpuclock *clock)
{
	free(clock);
}
