/* SPDX-License-Identifier: MIT */
/*
 * The contract of snapshots, held against every source of their table: threads
 * of this process, which can be asked for the truth; descriptors; errors.
 */
#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "snapshottest.h"

#define N_SLEEPERS 40

static int count_entries(const char *path)
{
	DIR *folder = opendir(path);
	int n = 0;

	if (!folder)
		skip_because("cannot read %s: %s", path, strerror(errno));
	while (readdir(folder))
		n++;
	closedir(folder);
	return n - 2;
}

static void own_threads_are_there_once(void **state)
{
	static struct worker workers[N_SLEEPERS];
	struct cpuclock_snapshot *reader = reader_of(state, getpid(), 0);
	const struct cpuclock_thread *thread;
	const struct cpuclock_process *process;
	size_t i;

	start_all(workers, N_SLEEPERS);
	take(reader);
	check_snapshot(reader);
	for (i = 0; i < N_SLEEPERS; i++) {
		thread = find(reader, workers[i].tid, NULL);
		assert_non_null(thread);
		assert_int_equal(thread->pid, getpid());
	}
	assert_non_null(find(reader, getpid(), NULL));
	process = cpuclock_snapshot_process(reader, 0, NULL);
	assert_int_equal(process->pid, getpid());
	assert_int_equal(process->parent_pid, getppid());
	assert_true(process->threads > N_SLEEPERS);
	/* Threads of tests before can be about to end. */
	for (i = 0; i < 1000; i++) {
		take(reader);
		process = cpuclock_snapshot_process(reader, 0, NULL);
		if (process->threads == count_entries("/proc/self/task"))
			break;
		sleep_ns(NS_PER_MS);
	}
	assert_true(i < 1000);
	assert_null(cpuclock_snapshot_process(reader, 1, NULL));
	stop_all(workers, N_SLEEPERS);
	close_reader(reader);
}

/* cli-peers.md 1.4, 1 and 2. A process has the name of its main thread. */
static void names_are_the_bytes_that_the_kernel_has(void **state)
{
	static const char *const names[] = {
		"a\nb\n",
		"\033[31mred",
		"w 12) (x",
		")",
		") R 1 1 1",
		"",
		"\xff\xfe\xc3(\x80",
		"\"q\\\"",
		"</script>",
		";|`$(id)",
		"fifteen bytes..",
		"\t\r\v\f",
		" ",
		"(",
	};
	struct worker workers[ARRAY_SIZE(names)] = {0};
	struct cpuclock_snapshot *reader = reader_of(state, getpid(), 0);
	char before[CPUCLOCK_NAME_SIZE];
	size_t i;

	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		workers[i].name = names[i];
	start_all(workers, ARRAY_SIZE(names));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		take(reader);
		assert_string_equal(find(reader, workers[i].tid, NULL)->name,
				    names[i]);
		assert_string_equal(find(reader, getpid(), NULL)->name,
				    names[i]);
		assert_string_equal(find_process(reader, getpid(), NULL)->name,
				    names[i]);
	}
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
	stop_all(workers, ARRAY_SIZE(names));
	close_reader(reader);
}

static void sleeping_thread_has_what_its_clock_says(void **state)
{
	struct worker workers[] = {
		{.user_ns = 35 * NS_PER_MS},
		{.kernel_ns = 35 * NS_PER_MS},
		{.user_ns = 1, .kernel_ns = 1},
	};
	struct cpuclock_snapshot *reader = reader_of(state, getpid(), 0);
	size_t i;

	start_all(workers, ARRAY_SIZE(workers));
	for (i = 0; i < ARRAY_SIZE(workers); i++)
		take_asleep(reader, workers[i].tid);
	/* One that never saw them run, when it may have been a bit ahead. */
	close_reader(reader);
	reader = reader_of(state, getpid(), 0);
	take(reader);
	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		const struct cpuclock_thread *thread =
			find(reader, workers[i].tid, NULL);

		assert_non_null(thread);
		assert_int_equal(
			thread->times.total_ns,
			kernel_ns(kernel_thread_clock(workers[i].tid)));
		check_snapshot(reader);
	}
	stop_all(workers, ARRAY_SIZE(workers));
	close_reader(reader);
}

/*
 * The clock is read after the snapshot, for reading it brings the thread up to
 * date. Time that a hypervisor takes is in what `bpf` adds.
 */
static void running_thread_lags_no_more_than_is_said(void **state)
{
	struct worker worker = {.spins = true};
	struct cpuclock_snapshot *reader = reader_of(state, getpid(), 0);
	int64_t ahead_ns = strcmp(*state, "proc") != 0 ? 5 * NS_PER_MS : 0;
	int i, late = 0, ahead = 0;

	if (getenv("EMULATED")) {
		close_reader(reader);
		skip_because("time under emulation is not real");
	}
	assert_int_equal(start(&worker), 0);
	for (i = 0; i < 100; i++) {
		int64_t begin_ns = kernel_ns(CLOCK_MONOTONIC), wall_ns, cpu_ns;
		const struct cpuclock_thread *thread;

		take(reader);
		thread = find(reader, worker.tid, NULL);
		cpu_ns = kernel_ns(kernel_thread_clock(worker.tid));
		wall_ns = kernel_ns(CLOCK_MONOTONIC) - begin_ns;
		ahead += thread->times.total_ns > cpu_ns + ahead_ns;
		late += thread->times.total_ns + thread->stale_ns + wall_ns <
			cpu_ns;
		sleep_ns(NS_PER_MS);
	}
	stop(&worker);
	close_reader(reader);
	assert_int_equal(ahead, 0);
	/* A hypervisor that takes the CPU away puts the tick off as well. */
	assert_true(late <= 25);
}

/* ---- Threads that come and go -------------------------------------------- */

static atomic_bool churning;

static void *end_at_once(void *unused)
{
	spin();
	return unused;
}

static void *churn(void *unused)
{
	while (churning) {
		pthread_t threads[4];
		size_t i, n = 0;

		while (n < ARRAY_SIZE(threads) &&
		       !pthread_create(&threads[n], NULL, end_at_once, NULL))
			n++;
		for (i = 0; i < n; i++)
			pthread_join(threads[i], NULL);
	}
	return unused;
}

static void start_churn(pthread_t *ret_churner)
{
	churning = true;
	assert_int_equal(pthread_create(ret_churner, NULL, churn, NULL), 0);
}

static void stop_churn(pthread_t churner)
{
	churning = false;
	pthread_join(churner, NULL);
}

/* cli-peers.md 1.4, 7: threads that die in mid-scan, times that decrease. */
static void nothing_falls_as_threads_come_and_go(void **state)
{
	struct worker workers[] = {
		{.spins = true}, {0}, {.kernel_ns = NS_PER_MS}};
	struct cpuclock_snapshot *reader =
		reader_of(state, getpid(), CPUCLOCK_SNAPSHOT_EXITS);
	int64_t used_ns = 0;
	pthread_t churner;
	size_t i;

	start_churn(&churner);
	start_all(workers, ARRAY_SIZE(workers));
	for (i = 0; i < 200; i++) {
		const struct cpuclock_process *process;

		take(reader);
		check_snapshot(reader);
		process = find_process(reader, getpid(), NULL);
		assert_true(process->times.total_ns >= used_ns);
		used_ns = process->times.total_ns;
		assert_non_null(find(reader, getpid(), NULL));
		assert_non_null(find(reader, workers[0].tid, NULL));
		assert_non_null(find(reader, workers[1].tid, NULL));
		if (i % 10 == 0) {
			stop(&workers[2]);
			assert_int_equal(start(&workers[2]), 0);
		}
	}
	stop_churn(churner);
	stop_all(workers, ARRAY_SIZE(workers));
	close_reader(reader);
}

static void thread_that_ended_is_said_to_have_once(void **state)
{
	struct worker first = {.user_ns = 2 * NS_PER_MS}, second = {0};
	struct cpuclock_snapshot *reader = reader_of(state, getpid(), 0);
	const struct cpuclock_thread *thread, *before;
	int64_t total_ns;
	pid_t tid;

	assert_int_equal(start(&first), 0);
	tid = first.tid;
	total_ns = take_asleep(reader, tid)->times.total_ns;
	stop(&first);
	assert_int_equal(wait_until_gone(getpid(), tid), 0);
	assert_int_equal(start(&second), 0);
	take(reader);
	check_snapshot(reader);
	assert_null(find(reader, tid, NULL));
	thread = find_ended(reader, tid, &before);
	assert_non_null(thread);
	assert_int_equal(thread->times.total_ns, total_ns);
	assert_int_equal(before->times.total_ns, total_ns);
	assert_non_null(find(reader, second.tid, &before));
	assert_null(before);
	take(reader);
	assert_null(find_ended(reader, tid, NULL));
	assert_non_null(find(reader, second.tid, &before));
	assert_non_null(before);
	stop(&second);
	close_reader(reader);
}

/* ---- Descriptors --------------------------------------------------------- */

static struct rlimit limit_before;

static int restore_limit(void **state)
{
	(void)state;
	return limit_before.rlim_max ? setrlimit(RLIMIT_NOFILE, &limit_before)
				     : 0;
}

static void set_limit(rlim_t descriptors)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit_before), 0);
	limit = limit_before;
	limit.rlim_cur = descriptors;
	if (limit.rlim_cur > limit.rlim_max)
		skip_because("no more than %d descriptors are allowed",
			     (int)limit.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void descriptors_are_bounded_and_given_back(void **state)
{
	static struct worker workers[100];
	int before = count_entries("/proc/self/fd"), held;
	struct cpuclock_snapshot *reader = reader_of(state, getpid(), 0);
	pthread_t churner;
	size_t i;

	set_limit(200);
	start_all(workers, ARRAY_SIZE(workers));
	start_churn(&churner);
	for (i = 0; i < 50; i++)
		take(reader);
	stop_churn(churner);
	/* Half of the limit, and what a source has besides. */
	assert_true(count_entries("/proc/self/fd") <= before + 100 + 8);
	take(reader);
	held = count_entries("/proc/self/fd");
	for (i = 0; i < 20; i++)
		take(reader);
	assert_true(count_entries("/proc/self/fd") <= held);
	check_snapshot(reader);
	stop_all(workers, ARRAY_SIZE(workers));
	/* A thread that was joined may be there for a moment. */
	for (i = 0; i < 1000; i++) {
		take(reader);
		if (count_entries("/proc/self/fd") <= before + 20)
			break;
		sleep_ns(NS_PER_MS);
	}
	assert_true(i < 1000);
	close_reader(reader);
	assert_int_equal(count_entries("/proc/self/fd"), before);
	assert_int_equal(restore_limit(NULL), 0);
}

static void sixteen_descriptors_are_enough(void **state)
{
	struct worker workers[20] = {0};
	const char *source = source_of(state);
	struct cpuclock_snapshot *reader;
	pid_t self = getpid();
	size_t i;

	start_all(workers, ARRAY_SIZE(workers));
	set_limit(16);
	reader = must_open(&self, 1, source, 0);
	take(reader);
	take(reader);
	check_snapshot(reader);
	for (i = 0; i < ARRAY_SIZE(workers); i++)
		assert_non_null(find(reader, workers[i].tid, NULL));
	close_reader(reader);
	assert_int_equal(restore_limit(NULL), 0);
	stop_all(workers, ARRAY_SIZE(workers));
}

/* Takes all that are left. */
static size_t use_up_descriptors(int *fds, size_t n, size_t size)
{
	while (n < size && (fds[n] = dup(0)) >= 0)
		n++;
	return n;
}

/* What is kept is given up bit by bit, until not even one file can be read. */
static void program_that_needs_its_descriptors_gets_them(void **state)
{
	static int fds[300];
	struct worker workers[20] = {0};
	struct cpuclock_snapshot *reader = reader_of(state, getpid(), 0);
	const struct cpuclock_thread *before;
	size_t n = 0;
	int err = 0, i;

	start_all(workers, ARRAY_SIZE(workers));
	set_limit(256);
	take(reader);
	for (i = 0; i < 20 && !err; i++) {
		n = use_up_descriptors(fds, n, ARRAY_SIZE(fds));
		err = cpuclock_snapshot_take(reader);
		check_snapshot(reader);
		assert_non_null(find(reader, workers[0].tid, NULL));
	}
	assert_true(err == 0 || err == -EMFILE);
	while (n > 0)
		close(fds[--n]);
	take(reader);
	check_snapshot(reader);
	assert_non_null(find(reader, workers[0].tid, &before));
	assert_non_null(before);
	close_reader(reader);
	assert_int_equal(restore_limit(NULL), 0);
	stop_all(workers, ARRAY_SIZE(workers));
}

/* ---- The rest of the contract -------------------------------------------- */

static void info_says_when_and_how(void **state)
{
	struct cpuclock_snapshot *reader = reader_of(state, getpid(), 0);
	int64_t begin_ns = kernel_ns(CLOCK_MONOTONIC), end_ns;
	struct cpuclock_snapshot_info info;

	take(reader);
	end_ns = kernel_ns(CLOCK_MONOTONIC);
	assert_int_equal(cpuclock_snapshot_info(reader, &info), 0);
	assert_string_equal(info.source, *state);
	assert_true(info.time_ns >= begin_ns && info.time_ns <= end_ns);
	assert_true(info.duration_ns > 0);
	assert_true(info.duration_ns <= end_ns - begin_ns);
	assert_int_equal(info.tick_ns, tick_ns());
	assert_true(info.split_step_ns > 0);
	assert_int_equal(info.knows_exits, 0);
	assert_int_equal(info.lost_exits, 0);
	close_reader(reader);
}

static void wrong_arguments_are_refused(void **state)
{
	static const pid_t wrong[] = {0, -1, 4194305, INT32_MIN, INT32_MAX};
	const char *source = source_of(state);
	struct cpuclock_snapshot *reader;
	pid_t pids[] = {getpid(), 0};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		pids[1] = wrong[i];
		assert_int_equal(open_reader(pids, 2, source, 0, &reader),
				 -EINVAL);
	}
	assert_int_equal(open_reader(NULL, 1, source, 0, &reader), -EINVAL);
	assert_int_equal(open_reader(pids, 1, source, 4, &reader), -EINVAL);
	assert_int_equal(open_reader(pids, 1, source, ~0U, &reader), -EINVAL);
	assert_int_equal(open_reader(NULL, 0, source,
				     CPUCLOCK_SNAPSHOT_DESCENDANTS, &reader),
			 -EINVAL);
	assert_int_equal(open_reader(pids, 1, "none", 0, &reader), -ENOENT);
	assert_int_equal(open_reader(pids, 1, "", 0, &reader), -ENOENT);
	close_reader(NULL);
}

/* Once for each source, too: the one that is chosen is the first that works. */
static void first_source_that_works_is_chosen(void **state)
{
	struct cpuclock_snapshot_source_info info;
	struct cpuclock_snapshot_info used;
	struct cpuclock_snapshot *reader;
	const char *best = NULL, *name;
	pid_t self = getpid();
	size_t i;

	source_of(state);
	for (i = 0; (name = cpuclock_snapshot_source_at(i)) != NULL; i++) {
		assert_int_equal(cpuclock_snapshot_source_info(name, &info), 0);
		if (!best && !info.status)
			best = name;
	}
	assert_null(cpuclock_snapshot_source_at(i + 1));
	assert_null(cpuclock_snapshot_source_at(SIZE_MAX));
	assert_int_equal(cpuclock_snapshot_source_info("none", &info), -ENOENT);
	assert_int_equal(cpuclock_snapshot_source_info(NULL, &info), -ENOENT);
	reader = must_open(&self, 1, NULL, 0);
	assert_int_equal(cpuclock_snapshot_info(reader, &used), 0);
	assert_string_equal(used.source, best);
	close_reader(reader);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(own_threads_are_there_once),
		TEST(names_are_the_bytes_that_the_kernel_has),
		TEST(sleeping_thread_has_what_its_clock_says),
		TEST(running_thread_lags_no_more_than_is_said),
		TEST(nothing_falls_as_threads_come_and_go),
		TEST(thread_that_ended_is_said_to_have_once),
		cmocka_unit_test_teardown(
			descriptors_are_bounded_and_given_back, restore_limit),
		cmocka_unit_test_teardown(sixteen_descriptors_are_enough,
					  restore_limit),
		cmocka_unit_test_teardown(
			program_that_needs_its_descriptors_gets_them,
			restore_limit),
		TEST(info_says_when_and_how),
		TEST(wrong_arguments_are_refused),
		TEST(first_source_that_works_is_chosen),
	};

	return run_for_each_source("snapshot", tests, ARRAY_SIZE(tests));
}
