/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cpuclock.h"
#include "current.h"
#include "threads.h"

/*
 * NULL for the calls without a handle, which are the fastest. Handles of an
 * earlier choice are never closed: a thread may be reading them.
 */
static const struct cpuclock *_Atomic total_clock, *_Atomic user_clock;

static const struct cpuclock *load(const struct cpuclock *_Atomic *clock)
{
	return atomic_load_explicit(clock, memory_order_acquire);
}

int64_t current_total(void)
{
	const struct cpuclock *clock = load(&total_clock);

	int64_t total_ns;

	if (clock)
		return cpuclock_read(clock);
	total_ns = cpuclock_total();
	if (total_ns >= 0)
		threads_own_total(total_ns);
	return total_ns;
}

int64_t current_user(void)
{
	const struct cpuclock *clock = load(&user_clock);

	struct cpuclock_times times;
	int err;

	if (clock)
		return cpuclock_read(clock);
	err = cpuclock_self(&times);
	if (err)
		return err;
	return threads_own_user(times.user_ns, times.total_ns);
}

static bool gives(const struct cpuclock_source_info *info,
		  enum cpuclock_kind kind)
{
	return info->kinds & 1U << kind && info->targets & 1U << CPUCLOCK_SELF;
}

/*
 * NULL in *ret_clock: the calls without a handle are what is asked for, or, of
 * a source that does not give this kind, the best that there is.
 */
static int open_clock(const struct cpuclock_source_info *info,
		      enum cpuclock_kind kind, struct cpuclock **ret_clock)
{
	bool is_named = info && gives(info, kind);

	*ret_clock = NULL;
	if (kind != CPUCLOCK_TICKS &&
	    (!is_named || strncmp(info->name, "fast", 4) == 0))
		return 0;
	return cpuclock_open(CPUCLOCK_SELF, 0, kind,
			     is_named ? info->name : NULL, ret_clock);
}

static void say_no_source(const char *name, char *ret_why, size_t why_size)
{
	const char *other;
	size_t length = (size_t)snprintf(
		ret_why, why_size, "no source '%s': there are best", name);

	for (size_t i = 0; (other = cpuclock_source_at(i)); i++) {
		if (length < why_size)
			length += (size_t)snprintf(ret_why + length,
						   why_size - length, ", %s",
						   other);
	}
}

static bool find_source(const char *name, enum cpuclock_kind user,
			struct cpuclock_source_info *ret_info, char *ret_why,
			int why_size)
{
	if (cpuclock_source_info(name, ret_info)) {
		say_no_source(name, ret_why, (size_t)why_size);
		return false;
	}
	if (ret_info->status) {
		snprintf(ret_why, (size_t)why_size,
			 "source %s does not work here: %s", name,
			 ret_info->why);
		return false;
	}
	if (!gives(ret_info, CPUCLOCK_TOTAL) && !gives(ret_info, user)) {
		snprintf(ret_why, (size_t)why_size,
			 "source %s does not read the calling thread", name);
		return false;
	}
	return true;
}

bool current_choose(const struct options *options, char *ret_why, int why_size)
{
	enum cpuclock_kind user =
		options->raw_user ? CPUCLOCK_TICKS : CPUCLOCK_USER;
	struct cpuclock_source_info found, *info = NULL;
	struct cpuclock *of_total, *of_user;
	int err;

	if (options->is_source_named) {
		info = &found;
		if (!find_source(options->source, user, info, ret_why,
				 why_size))
			return false;
	}
	err = open_clock(info, CPUCLOCK_TOTAL, &of_total);
	if (!err)
		err = open_clock(info, user, &of_user);
	if (err) {
		snprintf(ret_why, (size_t)why_size,
			 "the calling thread's clock does not open: %s",
			 strerror(-err));
		return false;
	}
	atomic_store_explicit(&total_clock, of_total, memory_order_release);
	atomic_store_explicit(&user_clock, of_user, memory_order_release);
	return true;
}

/* What answers without a handle: known once the best source is looked for. */
static const char *name_of(const struct cpuclock *clock,
			   enum cpuclock_kind kind)
{
	const char *best;

	if (clock)
		return cpuclock_clock_source(clock);
	best = cpuclock_best_source(CPUCLOCK_SELF, kind);
	return best && strcmp(best, "fast") == 0 ? cpuclock_self_source()
						 : best;
}

const char *current_total_source(void)
{
	return name_of(load(&total_clock), CPUCLOCK_TOTAL);
}

const char *current_user_source(void)
{
	return name_of(load(&user_clock), CPUCLOCK_USER);
}
