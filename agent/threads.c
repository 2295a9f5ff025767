/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdbool.h>

#include "clockid.h"
#include "sys.h"
#include "threads.h"

/*
 * A slot for each id modulo their number. Of two threads that share one, the
 * JVM answers for the older.
 */
#define SLOTS	 65536
#define TID_BITS 22
#define ID_MAX	 (INT64_MAX >> TID_BITS)

struct slot {
	/* The id and the TID; the id alone of a thread that has ended. */
	_Atomic int64_t key;

	/* The highest user time told of this thread; none yet is the id, less
	 * than 0. */
	_Atomic int64_t user_ns;
};

static struct slot slots[SLOTS];

static struct slot *slot_of(int64_t id)
{
	return &slots[id % SLOTS];
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

static bool is_valid(int64_t id)
{
	return id > 0 && id <= ID_MAX;
}

void threads_add(int64_t id, pid_t tid)
{
	struct slot *slot = slot_of(id);

	if (!is_valid(id))
		return;
	/* In this order: who reads the new key finds the new time. */
	atomic_store(&slot->key, 0);
	atomic_store(&slot->user_ns, -id);
	atomic_store(&slot->key, make_key(id, tid));
}

void threads_add_older(int64_t id, pid_t tid, int64_t user_ns)
{
	struct slot *slot = slot_of(id);
	int64_t no_key = 0, no_time = 0;

	/* Leaves alone what a new thread has, or one that has ended had. */
	if (is_valid(id) && atomic_load(&slot->key) == 0 &&
	    atomic_compare_exchange_strong(&slot->user_ns, &no_time, user_ns))
		atomic_compare_exchange_strong(&slot->key, &no_key,
					       make_key(id, tid));
}

void threads_remove(int64_t id)
{
	struct slot *slot = slot_of(id);
	int64_t key = atomic_load(&slot->key);

	/* What stays keeps a scan from adding it once more. */
	while (is_valid(id) && (key == 0 || is_key_of(key, id))) {
		if (atomic_compare_exchange_weak(&slot->key, &key,
						 make_key(id, 0)))
			return;
	}
}

static void clear(void)
{
	for (int i = 0; i < SLOTS; i++) {
		atomic_store(&slots[i].key, 0);
		atomic_store(&slots[i].user_ns, 0);
	}
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

/* The key of a thread that runs, or 0. */
static int64_t find(int64_t id)
{
	int64_t key = is_valid(id) ? atomic_load(&slot_of(id)->key) : 0;

	return is_key_of(key, id) && tid_of(key) ? key : 0;
}

/* Is it still that thread: was the TID its own until now? */
static bool holds(int64_t id, int64_t key)
{
	return atomic_load(&slot_of(id)->key) == key;
}

static int64_t read_clock(int64_t key, enum cpuclock_clockid_type type)
{
	return cpuclock__clock_gettime(
		cpuclock__make_clockid(tid_of(key), true, type));
}

int64_t threads_total(int64_t id)
{
	int64_t key = find(id);
	int64_t total_ns = key ? read_clock(key, CPUCLOCK_ID_SCHED) : -1;

	return total_ns >= 0 && holds(id, key) ? total_ns : THREADS_MISS;
}

/*
 * As the kernel does it for getrusage(2) and /proc (kernel/sched/cputime.c,
 * cputime_adjust), whose rule is that without a sample in the kernel all is
 * user time. The samples of both kinds are read after those of one, so they are
 * no fewer, and the total last, so that it is not exceeded.
 */
static int64_t scaled_user(int64_t key)
{
	int64_t user_ns = read_clock(key, CPUCLOCK_ID_VIRT);
	int64_t both_ns = read_clock(key, CPUCLOCK_ID_PROF);
	int64_t total_ns = read_clock(key, CPUCLOCK_ID_SCHED);

	if (user_ns < 0 || both_ns < 0 || total_ns < 0)
		return -1;
	if (user_ns >= both_ns)
		return total_ns;
	return (int64_t)((unsigned __int128)user_ns * (uint64_t)total_ns /
			 (uint64_t)both_ns);
}

/* The highest answer so far, this one included. */
static int64_t raise_user(int64_t id, int64_t key, int64_t user_ns)
{
	_Atomic int64_t *highest = &slot_of(id)->user_ns;
	int64_t seen_ns = atomic_load(highest);

	do {
		/* A new thread can have the slot: the time is not its own. */
		if (!holds(id, key) || (seen_ns < 0 && seen_ns != -id))
			return THREADS_MISS;
		if (user_ns <= seen_ns)
			return seen_ns;
	} while (!atomic_compare_exchange_weak(highest, &seen_ns, user_ns));
	return user_ns;
}

int64_t threads_user(int64_t id)
{
	int64_t key = find(id);
	int64_t user_ns = key ? scaled_user(key) : -1;

	return user_ns >= 0 ? raise_user(id, key, user_ns) : THREADS_MISS;
}

int64_t threads_ticks(int64_t id)
{
	int64_t key = find(id);
	int64_t ticks_ns = key ? read_clock(key, CPUCLOCK_ID_VIRT) : -1;

	return ticks_ns >= 0 && holds(id, key) ? ticks_ns : THREADS_MISS;
}

pid_t threads_tid(int64_t id)
{
	return tid_of(find(id));
}
