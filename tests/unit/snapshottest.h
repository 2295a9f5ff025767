/* SPDX-License-Identifier: MIT */
/*
 * What the tests of snapshots share: the calls, each held to the rules that
 * hold for all; what holds for every snapshot; threads to be seen in one; and
 * how a test is run once for each source.
 */
#ifndef CPUCLOCK_TESTS_SNAPSHOTTEST_H
#define CPUCLOCK_TESTS_SNAPSHOTTEST_H

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpuclock.h"
#include "support.h"

/* Of no system call, and no error that the library could mean. */
#define STRANGE_ERRNO 4242

static inline int open_reader(const pid_t *pids, size_t n_pids,
			      const char *source, unsigned int flags,
			      struct cpuclock_snapshot **ret_reader)
{
	static char here[1];
	struct cpuclock_snapshot *const untouched = (void *)here;
	struct cpuclock_snapshot *reader = untouched;
	int err;

	errno = STRANGE_ERRNO;
	err = cpuclock_snapshot_open(pids, n_pids, source, flags, &reader);
	assert_int_equal(errno, STRANGE_ERRNO);
	assert_true(err <= 0);
	if (err)
		assert_ptr_equal(reader, untouched);
	else
		*ret_reader = reader;
	return err;
}

static inline void take(struct cpuclock_snapshot *reader)
{
	errno = STRANGE_ERRNO;
	assert_int_equal(cpuclock_snapshot_take(reader), 0);
	assert_int_equal(errno, STRANGE_ERRNO);
}

static inline void close_reader(struct cpuclock_snapshot *reader)
{
	errno = STRANGE_ERRNO;
	cpuclock_snapshot_close(reader);
	assert_int_equal(errno, STRANGE_ERRNO);
}

/* The source that a test is to try; skips the test if it does not work. */
static inline const char *source_of(void **state)
{
	struct cpuclock_snapshot_source_info info;

	errno = STRANGE_ERRNO;
	assert_int_equal(cpuclock_snapshot_source_info(*state, &info), 0);
	assert_int_equal(errno, STRANGE_ERRNO);
	assert_string_equal(info.name, *state);
	assert_true(*info.summary);
	assert_int_equal(!info.status, !info.why);
	if (info.status)
		skip_because("%s: %s", info.name, info.why);
	return info.name;
}

static inline struct cpuclock_snapshot *must_open(const pid_t *pids,
						  size_t n_pids,
						  const char *source,
						  unsigned int flags)
{
	struct cpuclock_snapshot *reader = NULL;

	assert_int_equal(open_reader(pids, n_pids, source, flags, &reader), 0);
	return reader;
}

static inline struct cpuclock_snapshot *reader_of(void **state, pid_t pid,
						  unsigned int flags)
{
	return must_open(&pid, 1, source_of(state), flags);
}

/* ---- Look-ups ------------------------------------------------------------ */

/* NULL if it is not there; it must not be there twice. */
static inline const struct cpuclock_thread *
find(const struct cpuclock_snapshot *reader, pid_t tid,
     const struct cpuclock_thread **ret_before)
{
	const struct cpuclock_thread *thread, *found = NULL;
	size_t i;

	for (i = 0; (thread = cpuclock_snapshot_thread(reader, i, NULL)); i++) {
		if (thread->tid != tid)
			continue;
		assert_null(found);
		found = cpuclock_snapshot_thread(reader, i, ret_before);
	}
	return found;
}

static inline const struct cpuclock_process *
find_process(const struct cpuclock_snapshot *reader, pid_t pid,
	     const struct cpuclock_process **ret_before)
{
	const struct cpuclock_process *process, *found = NULL;
	size_t i;

	for (i = 0; (process = cpuclock_snapshot_process(reader, i, NULL));
	     i++) {
		if (process->pid != pid)
			continue;
		assert_null(found);
		found = cpuclock_snapshot_process(reader, i, ret_before);
	}
	return found;
}

static inline const struct cpuclock_thread *
find_ended(const struct cpuclock_snapshot *reader, pid_t tid,
	   const struct cpuclock_thread **ret_before)
{
	const struct cpuclock_thread *thread;
	size_t i;

	for (i = 0; (thread = cpuclock_snapshot_ended(reader, i, ret_before));
	     i++) {
		if (thread->tid == tid)
			return thread;
	}
	return NULL;
}

/* ---- What holds for every snapshot --------------------------------------- */

static inline void assert_adds_up(const struct cpuclock_times *times)
{
	assert_true(times->user_ns >= 0);
	assert_true(times->system_ns >= 0);
	assert_int_equal(times->user_ns + times->system_ns, times->total_ns);
}

static inline void assert_not_below(const struct cpuclock_times *times,
				    const struct cpuclock_times *before)
{
	assert_true(times->total_ns >= before->total_ns);
	assert_true(times->user_ns >= before->user_ns);
	assert_true(times->system_ns >= before->system_ns);
}

static inline void add_times(struct cpuclock_times *sum,
			     const struct cpuclock_times *times)
{
	sum->total_ns += times->total_ns;
	sum->user_ns += times->user_ns;
	sum->system_ns += times->system_ns;
}

static inline void check_thread(const struct cpuclock_thread *thread,
				const struct cpuclock_thread *before)
{
	assert_adds_up(&thread->times);
	assert_true(thread->pid > 0 && thread->tid > 0);
	assert_true(thread->start_ns >= 0);
	assert_true(thread->stale_ns >= 0);
	assert_true(thread->wait_ns >= -1);
	assert_true(thread->cpu >= 0);
	assert_true(thread->state >= 'A' && thread->state <= 'z');
	assert_int_equal(thread->name[CPUCLOCK_NAME_SIZE - 1], '\0');
	if (!before)
		return;
	assert_int_equal(before->tid, thread->tid);
	assert_int_equal(before->start_ns, thread->start_ns);
	assert_not_below(&thread->times, &before->times);
	assert_true(thread->wait_ns >= before->wait_ns);
	assert_true(thread->voluntary_switches >= before->voluntary_switches);
	assert_true(thread->involuntary_switches >=
		    before->involuntary_switches);
}

/* Those that ended are shown no more, but another may have the TID. */
static inline void check_ended(const struct cpuclock_snapshot *reader)
{
	const struct cpuclock_thread *thread, *before, *now;
	size_t i;

	for (i = 0; (thread = cpuclock_snapshot_ended(reader, i, &before));
	     i++) {
		check_thread(thread, before);
		now = find(reader, thread->tid, NULL);
		assert_true(!now || now->start_ns != thread->start_ns);
	}
}

/* The threads of a process stand together: the next *index ones are its. */
static inline void check_process(const struct cpuclock_snapshot *reader,
				 const struct cpuclock_process *process,
				 size_t *index)
{
	const struct cpuclock_thread *thread, *before;
	struct cpuclock_times sum = process->ended_times;
	int n;

	for (n = 0; n < process->threads; n++) {
		thread = cpuclock_snapshot_thread(reader, (*index)++, &before);
		assert_non_null(thread);
		assert_int_equal(thread->pid, process->pid);
		check_thread(thread, before);
		add_times(&sum, &thread->times);
	}
	assert_adds_up(&process->times);
	assert_adds_up(&process->ended_times);
	assert_memory_equal(&sum, &process->times, sizeof(sum));
}

static inline void check_snapshot(const struct cpuclock_snapshot *reader)
{
	const struct cpuclock_process *process, *before;
	size_t i, index = 0;

	for (i = 0; (process = cpuclock_snapshot_process(reader, i, &before));
	     i++) {
		check_process(reader, process, &index);
		if (!before)
			continue;
		assert_not_below(&process->times, &before->times);
		assert_not_below(&process->ended_times, &before->ended_times);
	}
	assert_null(cpuclock_snapshot_thread(reader, index, NULL));
	check_ended(reader);
}

/* ---- Threads to be seen -------------------------------------------------- */

struct worker {
	pthread_t thread;
	_Atomic pid_t tid; /* once it has used what it was to */
	_Atomic int stop;
	int64_t user_ns, kernel_ns;
	bool spins;	  /* until it is stopped; else it sleeps */
	const char *name; /* NULL: as it is */
};

static inline void *work(void *argument)
{
	struct worker *worker = argument;

	if (worker->name)
		prctl(PR_SET_NAME, worker->name);
	if (worker->user_ns)
		burn_user(worker->user_ns);
	if (worker->kernel_ns)
		burn_kernel(worker->kernel_ns);
	worker->tid = (pid_t)syscall(SYS_gettid);
	while (!worker->stop) {
		if (worker->spins)
			spin();
		else
			syscall(SYS_futex, &worker->stop, 0, 0, NULL);
	}
	return NULL;
}

static inline int start(struct worker *worker)
{
	int err = pthread_create(&worker->thread, NULL, work, worker);

	while (!err && !worker->tid)
		sleep_ns(NS_PER_MS / 10);
	return err;
}

static inline void stop(struct worker *worker)
{
	worker->stop = 1;
	syscall(SYS_futex, &worker->stop, 1, 1);
	pthread_join(worker->thread, NULL);
	worker->tid = 0;
	worker->stop = 0;
}

static inline void start_all(struct worker *workers, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(start(&workers[i]), 0);
}

static inline void stop_all(struct worker *workers, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		stop(&workers[i]);
}

/* Takes snapshots until a thread is seen asleep. */
static inline const struct cpuclock_thread *
take_asleep(struct cpuclock_snapshot *reader, pid_t tid)
{
	const struct cpuclock_thread *thread = NULL;
	int i;

	for (i = 0; i < 5000; i++) {
		take(reader);
		thread = find(reader, tid, NULL);
		assert_non_null(thread);
		if (thread->state == 'S' && thread->stale_ns == 0)
			return thread;
		sleep_ns(NS_PER_MS);
	}
	fail_msg("thread %d does not fall asleep", tid);
	return thread;
}

/* ---- The tests, once for each source ------------------------------------- */

#define TEST(function)                                \
	{                                             \
#function, function, NULL, NULL, NULL \
	}

#define MAX_TESTS 64

/* *state is the name of the source, and stands before that of the test. */
static inline int run_for_each_source(const char *group,
				      const struct CMUnitTest *tests,
				      size_t n_tests)
{
	static struct CMUnitTest all[MAX_TESTS];
	static char names[MAX_TESTS][128];
	const char *source;
	size_t i, j, n = 0;

	for (i = 0; (source = cpuclock_snapshot_source_at(i)) != NULL; i++) {
		for (j = 0; j < n_tests && n < MAX_TESTS; j++, n++) {
			snprintf(names[n], sizeof(names[n]), "%s: %s", source,
				 tests[j].name);
			all[n] = tests[j];
			all[n].name = names[n];
			all[n].initial_state = (void *)(uintptr_t)source;
		}
	}
	return _cmocka_run_group_tests(group, all, n, NULL, NULL);
}

#endif
