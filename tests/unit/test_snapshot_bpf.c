/* SPDX-License-Identifier: MIT */
/*
 * What the sources of snapshots that use BPF promise beyond the others:
 * privileges for opening only, threads that end between two snapshots, running
 * ones brought up to now, and more threads than there was room for.
 */
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpuclock.h"
#include "snapshot_task.h"
#include "support.h"

static const char *const sources[] = {"bpf", "bpf-iter"};

static struct cpuclock_snapshot *open_or_skip(const char *source,
					      unsigned int flags)
{
	struct cpuclock_snapshot_source_info info;
	struct cpuclock_snapshot *snapshot;
	pid_t pid = getpid();

	assert_int_equal(cpuclock_snapshot_source_info(source, &info), 0);
	if (info.status)
		skip_because("%s: %s", source, info.why);
	assert_int_equal(
		cpuclock_snapshot_open(&pid, 1, source, flags, &snapshot), 0);
	return snapshot;
}

static const struct cpuclock_thread *
find_ended(const struct cpuclock_snapshot *snapshot, pid_t tid,
	   const struct cpuclock_thread **ret_before)
{
	const struct cpuclock_thread *thread;

	for (size_t i = 0;
	     (thread = cpuclock_snapshot_ended(snapshot, i, ret_before)); i++) {
		if (thread->tid == tid)
			return thread;
	}
	return NULL;
}

static size_t count_threads(const struct cpuclock_snapshot *snapshot)
{
	size_t count = 0;

	while (cpuclock_snapshot_thread(snapshot, count, NULL))
		count++;
	return count;
}

/* ---- The split ----------------------------------------------------------- */

static void a_split_is_in_proportion_to_the_samples(void **state)
{
	struct cpuclock_times times;

	(void)state;
	times = cpuclock__scale(1000, 3, 1, 0, 0);
	assert_int_equal(times.total_ns, 1000);
	assert_int_equal(times.user_ns, 750);
	assert_int_equal(times.system_ns, 250);
	/* No sample of the kernel: all is user time, and so with none at all */
	assert_int_equal(cpuclock__scale(1000, 3, 0, 0, 0).user_ns, 1000);
	assert_int_equal(cpuclock__scale(1000, 0, 3, 0, 0).user_ns, 0);
	assert_int_equal(cpuclock__scale(1000, 0, 0, 0, 0).user_ns, 1000);
	/* More than 64 bits in between. */
	times = cpuclock__scale(INT64_MAX, UINT64_MAX / 2, UINT64_MAX / 2, 0,
				0);
	assert_int_equal(times.user_ns + times.system_ns, INT64_MAX);
	assert_true(times.user_ns - times.system_ns <= 1);
}

static void no_part_of_a_split_falls_below_its_bound(void **state)
{
	struct cpuclock_times times;

	(void)state;
	times = cpuclock__scale(1000, 1, 1, 0, 700);
	assert_int_equal(times.user_ns, 300);
	assert_int_equal(times.system_ns, 700);
	times = cpuclock__scale(1000, 1, 1, 700, 0);
	assert_int_equal(times.user_ns, 700);
	assert_int_equal(times.system_ns, 300);
	times = cpuclock__scale(1000, 1, 1, 600, 400);
	assert_int_equal(times.user_ns, 600);
	assert_int_equal(times.system_ns, 400);
}

/* What a record held before must not come out behind the end of a name. */
static void a_name_has_nothing_behind_its_end(void **state)
{
	struct snapshot_task task = {.comm = "b\0cretlongname"};
	struct cpuclock_thread thread;
	struct cpuclock_process process;
	const char padded[CPUCLOCK_NAME_SIZE] = "b";

	(void)state;
	cpuclock__task_thread(&task, 0, &thread);
	assert_memory_equal(thread.name, padded, sizeof(padded));
	cpuclock__task_process(&task, &process);
	assert_memory_equal(process.name, padded, sizeof(padded));
}

/* ---- Descendants --------------------------------------------------------- */

/* Forks a chain, and tells who is last in it. */
static void make_chain(int generations, int pipe)
{
	pid_t pid = 0;

	for (int i = 0; i < generations && pid == 0; i++)
		pid = fork();
	/* Nobody else would end it if a test failed. */
	alarm(60);
	if (pid == 0) {
		pid = getpid();
		if (write(pipe, &pid, sizeof(pid)) != sizeof(pid))
			end_child(1);
	}
	for (;;)
		pause();
}

static void descendants_of_many_generations_are_seen(void **state)
{
	pid_t self = getpid(), child, last = 0;
	int fds[2];

	(void)state;
	cpuclock_snapshot_close(open_or_skip(sources[1], 0));
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		make_chain(100, fds[1]);
	}
	assert_int_equal(read(fds[0], &last, sizeof(last)), sizeof(last));
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct cpuclock_process *process;
		struct cpuclock_snapshot *snapshot;
		bool is_there = false;

		if (cpuclock_snapshot_open(&self, 1, sources[i],
					   CPUCLOCK_SNAPSHOT_DESCENDANTS,
					   &snapshot))
			continue;
		assert_int_equal(cpuclock_snapshot_take(snapshot), 0);
		for (size_t k = 0;
		     (process = cpuclock_snapshot_process(snapshot, k, NULL));
		     k++)
			is_there |= process->pid == last;
		assert_true(is_there);
		cpuclock_snapshot_close(snapshot);
	}
	assert_true(child > 1);
	kill(-child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fds[0]);
	close(fds[1]);
}

/* ---- Privileges ---------------------------------------------------------- */

/* Keeps these capabilities and no others. */
static int keep_capabilities(uint64_t kept)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = (uint32_t)kept, .permitted = (uint32_t)kept},
		{.effective = (uint32_t)(kept >> 32),
		 .permitted = (uint32_t)(kept >> 32)}};

	return (int)syscall(SYS_capset, &header, data);
}

/* The status of a child that runs this. */
static int in_child(int (*function)(const char *source), const char *source)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		end_child(function(source));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int drop_and_take(const char *source)
{
	struct cpuclock_snapshot *snapshot;
	pid_t pid = getpid();

	if (cpuclock_snapshot_open(&pid, 1, source, CPUCLOCK_SNAPSHOT_EXITS,
				   &snapshot))
		return 2;
	if (keep_capabilities(0))
		return 3;
	for (int i = 0; i < 3; i++) {
		if (cpuclock_snapshot_take(snapshot))
			return 4;
		/* A sanitizer can have one of its own. */
		if (count_threads(snapshot) < 1)
			return 5;
	}
	cpuclock_snapshot_close(snapshot);
	return 0;
}

static void privileges_can_be_dropped_once_it_is_open(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		cpuclock_snapshot_close(open_or_skip(sources[i], 0));
		assert_int_equal(in_child(drop_and_take, sources[i]), 0);
	}
}

/* 0: works; else the error, and 100 more if the reason names no capability. */
static int status_with(uint64_t capabilities, const char *source)
{
	struct cpuclock_snapshot_source_info info;

	if (keep_capabilities(capabilities))
		return 99;
	cpuclock_snapshot_source_info(source, &info);
	if (info.status == 0)
		return 0;
	return -info.status + (strstr(info.why, "CAP_BPF") ? 0 : 100);
}

static int with_none(const char *source)
{
	return status_with(0, source);
}

static int with_bpf_only(const char *source)
{
	return status_with(UINT64_C(1) << CAP_BPF, source);
}

static int with_both(const char *source)
{
	return status_with(UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON,
			   source);
}

static void two_capabilities_are_needed_and_no_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		cpuclock_snapshot_close(open_or_skip(sources[i], 0));
		assert_int_equal(in_child(with_none, sources[i]), EPERM);
		assert_int_equal(in_child(with_bpf_only, sources[i]), EPERM);
		assert_int_equal(in_child(with_both, sources[i]), 0);
	}
}

/* ---- Threads that end ---------------------------------------------------- */

struct worker {
	pthread_t thread;
	pid_t tid;
	int64_t work_ns;
	int64_t used_ns; /* by its own clock, at its end */
	const char *name;
};

static void *work(void *argument)
{
	struct worker *worker = argument;

	worker->tid = (pid_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, worker->name);
	burn_user(worker->work_ns);
	worker->used_ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void run_to_the_end(struct worker *worker)
{
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker),
			 0);
	assert_int_equal(pthread_join(worker->thread, NULL), 0);
	assert_int_equal(wait_until_gone(getpid(), worker->tid), 0);
}

static void check_ended(const char *source)
{
	struct cpuclock_snapshot *snapshot =
		open_or_skip(source, CPUCLOCK_SNAPSHOT_EXITS);
	struct worker short_lived = {.work_ns = 3 * NS_PER_MS,
				     .name = "short)\n\x1b S 1"};
	struct worker nothing = {.name = ""};
	const struct cpuclock_thread *ended, *before;
	struct cpuclock_snapshot_info info;

	assert_int_equal(cpuclock_snapshot_take(snapshot), 0);
	run_to_the_end(&short_lived);
	run_to_the_end(&nothing);
	assert_int_equal(cpuclock_snapshot_take(snapshot), 0);
	cpuclock_snapshot_info(snapshot, &info);
	assert_true(info.knows_exits);

	ended = find_ended(snapshot, short_lived.tid, &before);
	assert_non_null(ended);
	assert_null(before);
	assert_string_equal(ended->name, "short)\n\x1b S 1");
	assert_int_equal(ended->pid, getpid());
	/* Its end takes some time of its own; of its last time on a CPU, what
	 * stale_ns allows can be missing. */
	assert_true(ended->times.total_ns >=
		    short_lived.used_ns - ended->stale_ns);
	assert_true(ended->times.total_ns <
		    short_lived.used_ns + 20 * NS_PER_MS);
	assert_int_equal(ended->times.user_ns + ended->times.system_ns,
			 ended->times.total_ns);
	assert_non_null(find_ended(snapshot, nothing.tid, NULL));

	/* Once. */
	assert_int_equal(cpuclock_snapshot_take(snapshot), 0);
	assert_null(find_ended(snapshot, short_lived.tid, NULL));
	cpuclock_snapshot_close(snapshot);
}

static void a_thread_between_two_snapshots_is_told_of_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		check_ended(sources[i]);
}

static void *nothing(void *argument)
{
	return argument;
}

/* The ring holds 16384. */
static void more_ends_than_there_is_room_for_are_counted(void **state)
{
	enum { THREADS = 17000 };
	struct cpuclock_snapshot *snapshot;
	struct cpuclock_snapshot_info info;
	size_t ended = 0;

	(void)state;
	if (WITH_THREAD_SANITIZER || WITH_ADDRESS_SANITIZER)
		skip_because("a sanitizer keeps what each thread had");
	snapshot = open_or_skip("bpf-iter", CPUCLOCK_SNAPSHOT_EXITS);
	assert_int_equal(cpuclock_snapshot_take(snapshot), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, nothing, NULL),
				 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	assert_int_equal(cpuclock_snapshot_take(snapshot), 0);
	cpuclock_snapshot_info(snapshot, &info);
	while (cpuclock_snapshot_ended(snapshot, ended, NULL))
		ended++;
	assert_true(info.lost_exits > 0);
	/* The last ones can be shown still. */
	assert_in_range(ended + info.lost_exits, THREADS - 20, THREADS);
	cpuclock_snapshot_close(snapshot);
}

/* ---- Threads that run ---------------------------------------------------- */

static _Atomic(pid_t) spinner_tid;
static atomic_bool stop_spinning;

static void *spin_until_told(void *argument)
{
	atomic_store(&spinner_tid, (pid_t)syscall(SYS_gettid));
	while (!atomic_load(&stop_spinning))
		spin();
	return argument;
}

static const struct cpuclock_thread *
find_thread(const struct cpuclock_snapshot *snapshot, pid_t tid)
{
	const struct cpuclock_thread *thread;

	for (size_t i = 0;
	     (thread = cpuclock_snapshot_thread(snapshot, i, NULL)); i++) {
		if (thread->tid == tid)
			return thread;
	}
	return NULL;
}

/*
 * Its clock, read after the snapshot, brings it up to date, and is what the
 * record must not be ahead of, but by what a hypervisor took; the record of the
 * snapshot after must not be behind it, but by stale_ns.
 */
static void check_running(const char *source)
{
	struct cpuclock_snapshot *snapshot = open_or_skip(source, 0);
	int64_t now_ns = 0, worst_ahead_ns = 0;
	int ahead = 0;
	pthread_t thread;

	atomic_store(&stop_spinning, false);
	assert_int_equal(pthread_create(&thread, NULL, spin_until_told, NULL),
			 0);
	while (!atomic_load(&spinner_tid))
		sleep_ns(NS_PER_MS);
	for (int i = 0; i < 200; i++) {
		const struct cpuclock_thread *record;

		sleep_ns(i * 20000);
		assert_int_equal(cpuclock_snapshot_take(snapshot), 0);
		record = find_thread(snapshot, atomic_load(&spinner_tid));
		assert_non_null(record);
		assert_true(record->times.total_ns >=
			    now_ns - record->stale_ns);
		now_ns = kernel_ns(kernel_thread_clock(record->tid));
		if (record->times.total_ns > now_ns)
			ahead++;
		if (record->times.total_ns - now_ns > worst_ahead_ns)
			worst_ahead_ns = record->times.total_ns - now_ns;
	}
	atomic_store(&stop_spinning, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	atomic_store(&spinner_tid, 0);
	print_message("# %s: ahead in %d of 200, by %lld ns at most\n", source,
		      ahead, (long long)worst_ahead_ns);
	assert_true(ahead < 50);
	cpuclock_snapshot_close(snapshot);
}

static void a_running_thread_is_brought_up_to_now(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		check_running(sources[i]);
}

/* ---- More threads than records ------------------------------------------- */

static void *wait_for_the_end(void *argument)
{
	pthread_mutex_t *mutex = argument;

	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

/* Of which there are at least 4096, made when it is opened. */
static void what_has_no_room_is_read_in_passes(void **state)
{
	enum { THREADS = 5000 };
	static pthread_t threads[THREADS];
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct cpuclock_snapshot *snapshots[ARRAY_SIZE(sources)];
	pthread_attr_t small;
	int made = 0;

	(void)state;
	if (WITH_THREAD_SANITIZER || WITH_ADDRESS_SANITIZER)
		skip_because("a sanitizer has no room for 5000 threads");
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		snapshots[i] = open_or_skip(sources[i], 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_mutex_lock(&mutex);
	while (made < THREADS && pthread_create(&threads[made], &small,
						wait_for_the_end, &mutex) == 0)
		made++;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct cpuclock_process *process;

		assert_int_equal(cpuclock_snapshot_take(snapshots[i]), 0);
		assert_int_equal(count_threads(snapshots[i]), made + 1);
		process = cpuclock_snapshot_process(snapshots[i], 0, NULL);
		assert_non_null(process);
		assert_int_equal(process->threads, made + 1);
		assert_null(cpuclock_snapshot_process(snapshots[i], 1, NULL));
		cpuclock_snapshot_close(snapshots[i]);
	}
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&small);
	if (made < THREADS)
		skip_because("no more than %d threads can be made", made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_split_is_in_proportion_to_the_samples),
		cmocka_unit_test(no_part_of_a_split_falls_below_its_bound),
		cmocka_unit_test(a_name_has_nothing_behind_its_end),
		cmocka_unit_test(descendants_of_many_generations_are_seen),
		cmocka_unit_test(privileges_can_be_dropped_once_it_is_open),
		cmocka_unit_test(two_capabilities_are_needed_and_no_more),
		cmocka_unit_test(
			a_thread_between_two_snapshots_is_told_of_once),
		cmocka_unit_test(more_ends_than_there_is_room_for_are_counted),
		cmocka_unit_test(a_running_thread_is_brought_up_to_now),
		cmocka_unit_test(what_has_no_room_is_read_in_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
