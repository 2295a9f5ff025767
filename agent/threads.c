/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdbool.h>

#include "clockid.h"
#include "sys.h"
#include "threads.h"

/*
 * Threads are in the bucket of their id. A thread that finds its bucket full is
 * left to the JVM, always: none takes another's place, as its times would then
 * come from elsewhere, and could fall.
 */
#define BUCKETS	 65536
#define IN_ONE	 4
#define TID_BITS 22
#define ID_MAX	 (INT64_MAX >> TID_BITS)

/* A slot that is being filled; the key of no thread. */
#define CLAIMED (-1)

struct slot {
	/* The id and the TID; the id alone of a thread that has ended; 0. */
	_Atomic int64_t key;

	/* The highest user time told of this thread to others; none yet is the
	 * id, less than 0. */
	_Atomic int64_t user_ns;

	/* What it was last told itself, by its own clock. */
	_Atomic int64_t own_total_ns, own_user_ns;
};

static struct slot buckets[BUCKETS][IN_ONE] __attribute__((aligned(64)));

static struct slot *bucket_of(int64_t id)
{
	return buckets[id % BUCKETS];
}

static int64_t make_key(int64_t id, pid_t tid)
{
	return id << TID_BITS | tid;
}

static pid_t tid_of(int64_t key)
{
	return (pid_t)(key & ((1 << TID_BITS) - 1));
}

static bool is_key_of(int64_t key, int64_t id)
{
	return key >> TID_BITS == id;
}

static bool is_free(int64_t key)
{
	return key != CLAIMED && tid_of(key) == 0;
}

static bool is_valid(int64_t id)
{
	return id > 0 && id <= ID_MAX;
}

/* The slot with this id, also if the thread has ended; or NULL. */
static struct slot *look_up(int64_t id)
{
	struct slot *bucket;

	if (!is_valid(id))
		return NULL;
	bucket = bucket_of(id);
	for (int i = 0; i < IN_ONE; i++) {
		if (is_key_of(atomic_load(&bucket[i].key), id))
			return &bucket[i];
	}
	return NULL;
}

static struct slot *add(int64_t id, pid_t tid, int64_t user_ns)
{
	struct slot *bucket = bucket_of(id);

	for (int i = 0; i < IN_ONE; i++) {
		int64_t key = atomic_load(&bucket[i].key);

		if (!is_free(key) || !atomic_compare_exchange_strong(
					     &bucket[i].key, &key, CLAIMED))
			continue;
		/* In this order: who finds the key finds its time. */
		atomic_store(&bucket[i].own_total_ns, 0);
		atomic_store(&bucket[i].own_user_ns, 0);
		atomic_store(&bucket[i].user_ns, user_ns);
		atomic_store(&bucket[i].key, make_key(id, tid));
		return &bucket[i];
	}
	return NULL;
}

/* The calling thread's. */
static __thread int64_t caller __attribute__((tls_model("initial-exec")));
static __thread struct slot *own __attribute__((tls_model("initial-exec")));

int64_t threads_caller(void)
{
	return caller;
}

void threads_set_caller(int64_t id)
{
	caller = id;
	own = look_up(id);
}

void threads_add(int64_t id, pid_t tid)
{
	caller = id;
	own = is_valid(id) ? add(id, tid, -id) : NULL;
}

void threads_add_older(int64_t id, pid_t tid, int64_t user_ns)
{
	/* There already, or ended meanwhile. */
	if (is_valid(id) && !look_up(id))
		add(id, tid, user_ns);
}

void threads_remove(int64_t id)
{
	struct slot *slot = look_up(id);

	if (id == caller) {
		caller = 0;
		own = NULL;
	}
	/* What stays keeps a scan from adding it once more. */
	if (slot)
		atomic_store(&slot->key, make_key(id, 0));
	else if (is_valid(id))
		add(id, 0, 0);
}

static void clear(void)
{
	for (int i = 0; i < BUCKETS * IN_ONE; i++)
		atomic_store(&buckets[0][i].key, 0);
}

/* The process that the TIDs are of; 0 if it stays the same. */
static _Atomic pid_t process;

/* Of the calling thread, as it was. */
static __thread pid_t own_tid __attribute__((tls_model("initial-exec")));

void threads_expect_restore(void)
{
	atomic_store(&process, (pid_t)syscall(SYS_getpid));
}

void threads_check_restore(void)
{
	pid_t before = atomic_load_explicit(&process, memory_order_relaxed);
	pid_t pid, tid;

	if (!before)
		return;
	pid = (pid_t)syscall(SYS_getpid);
	tid = (pid_t)syscall(SYS_gettid);
	if (pid != before || (own_tid && own_tid != tid)) {
		clear();
		atomic_store(&process, pid);
	}
	own_tid = tid;
}

/* A thread that runs, as it was found. */
struct entry {
	struct slot *slot;
	int64_t id, key;
};

static bool find(int64_t id, struct entry *ret_entry)
{
	struct slot *slot = look_up(id);
	int64_t key = slot ? atomic_load(&slot->key) : 0;

	*ret_entry = (struct entry){slot, id, key};
	return is_key_of(key, id) && tid_of(key) != 0;
}

/* Is it still that thread: was the TID its own until now? */
static bool holds(const struct entry *entry)
{
	return atomic_load(&entry->slot->key) == entry->key;
}

static int64_t read_clock(const struct entry *entry,
			  enum cpuclock_clockid_type type)
{
	return cpuclock__clock_gettime(
		cpuclock__make_clockid(tid_of(entry->key), true, type));
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t threads_total(int64_t id)
{
	struct entry entry;
	int64_t ns, own_ns;

	if (!find(id, &entry))
		return THREADS_MISS;
	ns = read_clock(&entry, CPUCLOCK_ID_SCHED);
	own_ns = atomic_load(&entry.slot->own_total_ns);
	return ns >= 0 && holds(&entry) ? max(ns, own_ns) : THREADS_MISS;
}

int64_t threads_ticks(int64_t id)
{
	struct entry entry;
	int64_t ns;

	if (!find(id, &entry))
		return THREADS_MISS;
	ns = read_clock(&entry, CPUCLOCK_ID_VIRT);
	return ns >= 0 && holds(&entry) ? ns : THREADS_MISS;
}

/*
 * As the kernel does it for getrusage(2) and /proc (kernel/sched/cputime.c,
 * cputime_adjust), whose rule is that without a sample in the kernel all is
 * user time. The samples of both kinds are read after those of one, so they are
 * no fewer, and the total last, so that it is not exceeded.
 */
static int64_t scaled_user(const struct entry *entry)
{
	int64_t user_ns = read_clock(entry, CPUCLOCK_ID_VIRT);
	int64_t both_ns = read_clock(entry, CPUCLOCK_ID_PROF);
	int64_t total_ns = read_clock(entry, CPUCLOCK_ID_SCHED);

	if (user_ns < 0 || both_ns < 0 || total_ns < 0)
		return -1;
	if (user_ns >= both_ns)
		return total_ns;
	return (int64_t)((unsigned __int128)user_ns * (uint64_t)total_ns /
			 (uint64_t)both_ns);
}

/* The highest answer so far, this one included. */
static int64_t raise_user(const struct entry *entry, int64_t user_ns)
{
	_Atomic int64_t *highest = &entry->slot->user_ns;
	int64_t seen_ns = atomic_load(highest);

	do {
		/* A new thread can have the slot: the time is not its own. */
		if (!holds(entry) || (seen_ns < 0 && seen_ns != -entry->id))
			return THREADS_MISS;
		if (user_ns <= seen_ns)
			return seen_ns;
	} while (!atomic_compare_exchange_weak(highest, &seen_ns, user_ns));
	return user_ns;
}

int64_t threads_user(int64_t id)
{
	struct entry entry;
	int64_t user_ns;

	if (!find(id, &entry))
		return THREADS_MISS;
	user_ns = scaled_user(&entry);
	if (user_ns < 0)
		return THREADS_MISS;
	return raise_user(&entry,
			  max(user_ns, atomic_load(&entry.slot->own_user_ns)));
}

void threads_raise_user(int64_t id, int64_t user_ns)
{
	struct entry entry;

	if (find(id, &entry))
		raise_user(&entry, user_ns);
}

/* Unless all were forgotten. */
static bool has_own_slot(void)
{
	return own &&
	       is_key_of(atomic_load_explicit(&own->key, memory_order_relaxed),
			 caller);
}

/* Only the thread itself writes these. */
static void raise_own(_Atomic int64_t *highest, int64_t ns)
{
	if (ns > atomic_load_explicit(highest, memory_order_relaxed))
		atomic_store_explicit(highest, ns, memory_order_release);
}

void threads_own_total(int64_t total_ns)
{
	if (has_own_slot())
		raise_own(&own->own_total_ns, total_ns);
}

int64_t threads_own_user(int64_t user_ns, int64_t total_ns)
{
	if (!has_own_slot())
		return user_ns;
	user_ns = max(user_ns, atomic_load_explicit(&own->user_ns,
						    memory_order_relaxed));
	if (user_ns > total_ns)
		user_ns = total_ns;
	/* In this order: user time is no more than a total that others see. */
	raise_own(&own->own_total_ns, total_ns);
	raise_own(&own->own_user_ns, user_ns);
	return user_ns;
}
