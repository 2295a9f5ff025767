/* SPDX-License-Identifier: MIT */
/*
 * What snapshots are made of, without a system to look at: lists, a source that
 * plays a script, and the arithmetic of the times in /proc.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot_procfs.h"
#include "support.h"

#define UNIT (10 * NS_PER_MS)

static uint64_t random_state = 1;

/* The same numbers in each run. */
static uint64_t next_random(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return random_state >> 16;
}

/* ---- Lists --------------------------------------------------------------- */

static struct cpuclock__list list_of_threads(void)
{
	return (struct cpuclock__list){
		.record_size = sizeof(struct cpuclock_thread),
		.id_offset = offsetof(struct cpuclock_thread, tid),
	};
}

static void list_finds_by_id_and_start_time(void **state)
{
	struct cpuclock__list list = list_of_threads();
	struct cpuclock_thread thread = {.tid = 7, .start_ns = 1, .cpu = 1};
	const struct cpuclock_thread *found;

	(void)state;
	assert_null(cpuclock__list_find(&list, 7, 1));
	assert_int_equal(cpuclock__list_add(&list, &thread), 0);
	assert_int_equal(cpuclock__list_add(&list, &thread), -EEXIST);
	thread.start_ns = 2;
	thread.cpu = 2;
	assert_int_equal(cpuclock__list_add(&list, &thread), 0);
	found = cpuclock__list_find(&list, 7, 1);
	assert_non_null(found);
	assert_int_equal(found->cpu, 1);
	found = cpuclock__list_find(&list, 7, 2);
	assert_non_null(found);
	assert_int_equal(found->cpu, 2);
	assert_null(cpuclock__list_find(&list, 7, 3));
	assert_null(cpuclock__list_find(&list, 8, 1));
	cpuclock__list_cut(&list, 1);
	assert_null(cpuclock__list_find(&list, 7, 2));
	assert_non_null(cpuclock__list_find(&list, 7, 1));
	cpuclock__list_free(&list);
}

/* Ends in time only if such ids do not share their slots. */
static void list_is_not_slow_for_ids_that_lie_close_together(void **state)
{
	static const struct {
		int64_t id_step, start_step;
	} table[] = {
		{1, 0},		{1, UNIT},	{0, 1},		{0, UNIT},
		{0, 1 << 16},	{1024, 0},	{4, -UNIT},	{1, -1},
		{0, 1LL << 32}, {2, 1LL << 33}, {1, 1LL << 40},
	};
	struct cpuclock__list list = list_of_threads();
	size_t row;
	int64_t i;

	(void)state;
	for (row = 0; row < ARRAY_SIZE(table); row++) {
		cpuclock__list_cut(&list, 0);
		for (i = 0; i < 100000; i++) {
			struct cpuclock_thread thread = {
				.tid = (pid_t)(table[row].id_step * i),
				.start_ns = table[row].start_step * i,
			};

			assert_int_equal(cpuclock__list_add(&list, &thread), 0);
		}
		for (i = 0; i < 100000; i++)
			assert_non_null(cpuclock__list_find(
				&list, (pid_t)(table[row].id_step * i),
				table[row].start_step * i));
	}
	cpuclock__list_free(&list);
}

static void list_refuses_more_than_there_can_be(void **state)
{
	struct cpuclock__list list = list_of_threads();

	(void)state;
	assert_int_equal(cpuclock__list_reserve(&list, SIZE_MAX), -ENOMEM);
	assert_int_equal(cpuclock__list_reserve(&list, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(cpuclock__list_reserve(&list, 1000), 0);
	cpuclock__list_free(&list);
}

/* ---- A source that plays a script ---------------------------------------- */

#define MAX_PLAYED 64

/* What the next take finds. */
static struct {
	struct cpuclock_thread threads[MAX_PLAYED];
	size_t n_threads;
	struct cpuclock_thread ended[MAX_PLAYED];
	size_t n_ended;
	struct cpuclock_times ended_times;
	int err;
} script;

static int play(struct cpuclock_snapshot *snapshot)
{
	struct cpuclock_process process = {
		.pid = 1, .ended_times = script.ended_times, .state = 'S'};
	size_t i;

	for (i = 0; i < script.n_threads; i++)
		assert_int_equal(cpuclock__snapshot_add_thread(
					 snapshot, &script.threads[i]),
				 0);
	for (i = 0; i < script.n_ended; i++)
		assert_int_equal(cpuclock__snapshot_add_ended(snapshot,
							      &script.ended[i]),
				 0);
	assert_int_equal(cpuclock__snapshot_add_process(snapshot, &process), 0);
	return script.err;
}

static void close_nothing(struct cpuclock_snapshot *snapshot)
{
	(void)snapshot;
}

static const struct cpuclock__snapshot_source player = {
	.name = "player", .take = play, .close = close_nothing};

static struct cpuclock_snapshot *open_player(void)
{
	struct cpuclock_snapshot *snapshot;
	int err = cpuclock_snapshot_open(NULL, 0, NULL, 0, &snapshot);

	if (err)
		skip_because("no source works: %s", strerror(-err));
	snapshot->source->close(snapshot);
	snapshot->source = &player;
	memset(&script, 0, sizeof(script));
	return snapshot;
}

static struct cpuclock_thread thread_of(pid_t tid, int64_t start_ns,
					int64_t user_ns, int64_t system_ns)
{
	return (struct cpuclock_thread){
		.pid = 1,
		.tid = tid,
		.start_ns = start_ns,
		.times = {user_ns + system_ns, user_ns, system_ns},
		.wait_ns = user_ns,
		.voluntary_switches = system_ns,
		.involuntary_switches = -1,
	};
}

static void found(pid_t tid, int64_t start_ns, int64_t user_ns,
		  int64_t system_ns)
{
	script.threads[script.n_threads++] =
		thread_of(tid, start_ns, user_ns, system_ns);
}

static void heard_of_end(pid_t tid, int64_t start_ns, int64_t user_ns,
			 int64_t system_ns)
{
	script.ended[script.n_ended++] =
		thread_of(tid, start_ns, user_ns, system_ns);
}

/* Plays the script, and clears it. */
static int take(struct cpuclock_snapshot *snapshot)
{
	int err = cpuclock_snapshot_take(snapshot);

	memset(&script, 0, sizeof(script));
	return err;
}

static size_t count_ended(const struct cpuclock_snapshot *snapshot)
{
	size_t n = 0;

	while (cpuclock_snapshot_ended(snapshot, n, NULL))
		n++;
	return n;
}

static void reused_tid_is_another_thread(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();
	const struct cpuclock_thread *thread, *before;

	(void)state;
	found(7, 100, 50, 0);
	found(8, 100, 60, 0);
	assert_int_equal(take(snapshot), 0);
	found(7, 200, 1, 0);
	found(8, 100, 61, 0);
	assert_int_equal(take(snapshot), 0);

	thread = cpuclock_snapshot_thread(snapshot, 0, &before);
	assert_int_equal(thread->times.total_ns, 1);
	assert_null(before);
	thread = cpuclock_snapshot_thread(snapshot, 1, &before);
	assert_int_equal(thread->times.total_ns, 61);
	assert_int_equal(before->times.total_ns, 60);
	assert_null(cpuclock_snapshot_thread(snapshot, 2, &before));

	thread = cpuclock_snapshot_ended(snapshot, 0, &before);
	assert_int_equal(thread->tid, 7);
	assert_int_equal(thread->start_ns, 100);
	assert_int_equal(thread->times.total_ns, 50);
	assert_int_equal(before->times.total_ns, 50);
	assert_int_equal(count_ended(snapshot), 1);
	cpuclock_snapshot_close(snapshot);
}

static void thread_found_twice_is_shown_once(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();

	(void)state;
	found(7, 100, 50, 0);
	found(7, 100, 51, 0);
	assert_int_equal(take(snapshot), 0);
	assert_non_null(cpuclock_snapshot_thread(snapshot, 0, NULL));
	assert_null(cpuclock_snapshot_thread(snapshot, 1, NULL));
	assert_int_equal(cpuclock_snapshot_process(snapshot, 0, NULL)->threads,
			 1);
	assert_int_equal(
		cpuclock_snapshot_process(snapshot, 0, NULL)->times.total_ns,
		50);
	cpuclock_snapshot_close(snapshot);
}

/* execve(2) of another thread ends the main one, and has its id from then on:
 * the end of that is another one. */
static void second_end_of_an_id_counts(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();
	const struct cpuclock_thread *thread;

	(void)state;
	found(7, 100, 10, 0);
	assert_int_equal(take(snapshot), 0);
	found(7, 100, 20, 0);
	heard_of_end(7, 100, 15, 0);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 0);
	heard_of_end(7, 100, 90, 0);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 1);
	thread = cpuclock_snapshot_ended(snapshot, 0, NULL);
	assert_int_equal(thread->times.total_ns, 90);
	cpuclock_snapshot_close(snapshot);
}

static void thread_that_is_heard_of_ended_as_it_was_at_its_end(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();
	const struct cpuclock_thread *thread, *before;

	(void)state;
	found(7, 100, 50, 5);
	assert_int_equal(take(snapshot), 0);
	heard_of_end(7, 100, 70, 9);
	heard_of_end(9, 150, 3, 0); /* came and went in between */
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 2);
	thread = cpuclock_snapshot_ended(snapshot, 0, &before);
	assert_int_equal(thread->times.total_ns, 79);
	assert_int_equal(before->times.total_ns, 55);
	thread = cpuclock_snapshot_ended(snapshot, 1, &before);
	assert_int_equal(thread->tid, 9);
	assert_null(before);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 0);
	cpuclock_snapshot_close(snapshot);
}

static void end_of_a_thread_waits_until_it_is_not_shown(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();
	const struct cpuclock_thread *thread, *before;

	(void)state;
	found(7, 100, 50, 0);
	assert_int_equal(take(snapshot), 0);
	found(7, 100, 60, 0);
	heard_of_end(7, 100, 55, 0);
	heard_of_end(7, 100, 55, 0);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 0);
	found(7, 100, 60, 0);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 0);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 1);
	thread = cpuclock_snapshot_ended(snapshot, 0, &before);
	/* Not less than it was shown with. */
	assert_int_equal(thread->times.total_ns, 60);
	assert_int_equal(before->times.total_ns, 60);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 0);
	cpuclock_snapshot_close(snapshot);
}

static void end_that_is_heard_of_late_is_not_shown_again(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();

	(void)state;
	found(7, 100, 50, 0);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 1);
	heard_of_end(7, 100, 55, 0);
	assert_int_equal(take(snapshot), 0);
	assert_int_equal(count_ended(snapshot), 0);
	cpuclock_snapshot_close(snapshot);
}

static void take_that_fails_leaves_what_there_was(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();
	const struct cpuclock_thread *thread, *before;
	int i;

	(void)state;
	found(7, 100, 50, 0);
	assert_int_equal(take(snapshot), 0);
	found(7, 100, 60, 0);
	found(8, 110, 1, 0);
	assert_int_equal(take(snapshot), 0);
	for (i = 0; i < 5; i++) {
		found(9, 120, 1, 0);
		if (i == 0)
			heard_of_end(8, 110, 4, 0);
		script.err = -EMFILE;
		assert_int_equal(take(snapshot), -EMFILE);
		thread = cpuclock_snapshot_thread(snapshot, 0, &before);
		assert_int_equal(thread->times.total_ns, 60);
		assert_int_equal(before->times.total_ns, 50);
		thread = cpuclock_snapshot_thread(snapshot, 1, &before);
		assert_int_equal(thread->tid, 8);
		assert_null(before);
		assert_null(cpuclock_snapshot_thread(snapshot, 2, NULL));
		assert_int_equal(count_ended(snapshot), 0);
	}
	found(7, 100, 61, 0);
	assert_int_equal(take(snapshot), 0);
	thread = cpuclock_snapshot_thread(snapshot, 0, &before);
	assert_int_equal(before->times.total_ns, 60);
	assert_int_equal(count_ended(snapshot), 1);
	thread = cpuclock_snapshot_ended(snapshot, 0, &before);
	assert_int_equal(thread->times.total_ns, 4);
	assert_int_equal(before->times.total_ns, 1);
	cpuclock_snapshot_close(snapshot);
}

static void counts_that_are_not_known_stay_so(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();
	const struct cpuclock_thread *thread;

	(void)state;
	found(7, 100, 50, 8);
	assert_int_equal(take(snapshot), 0);
	found(7, 100, 40, 7);
	assert_int_equal(take(snapshot), 0);
	thread = cpuclock_snapshot_thread(snapshot, 0, NULL);
	assert_int_equal(thread->wait_ns, 50);
	assert_int_equal(thread->voluntary_switches, 8);
	assert_int_equal(thread->involuntary_switches, -1);
	cpuclock_snapshot_close(snapshot);
}

static void assert_adds_up(const struct cpuclock_times *times)
{
	assert_true(times->user_ns >= 0 && times->system_ns >= 0);
	assert_int_equal(times->user_ns + times->system_ns, times->total_ns);
}

static void assert_not_below(const struct cpuclock_times *times,
			     const struct cpuclock_times *before)
{
	assert_true(times->total_ns >= before->total_ns);
	assert_true(times->user_ns >= before->user_ns);
	assert_true(times->system_ns >= before->system_ns);
}

/* Sum of the threads shown; each is not below what it was. */
static struct cpuclock_times
check_threads(const struct cpuclock_snapshot *snapshot)
{
	const struct cpuclock_thread *thread, *before;
	struct cpuclock_times sum = {0};
	size_t i;

	for (i = 0;
	     (thread = cpuclock_snapshot_thread(snapshot, i, &before)) != NULL;
	     i++) {
		assert_adds_up(&thread->times);
		if (before)
			assert_not_below(&thread->times, &before->times);
		sum.total_ns += thread->times.total_ns;
		sum.user_ns += thread->times.user_ns;
		sum.system_ns += thread->times.system_ns;
	}
	return sum;
}

static void nothing_falls_whatever_a_source_says(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();
	const struct cpuclock_process *process, *before;
	struct cpuclock_times live;
	int round, tid;

	(void)state;
	for (round = 0; round < 2000; round++) {
		int64_t user_ns = (int64_t)(next_random() % 1000);
		int64_t system_ns = (int64_t)(next_random() % 1000);

		script.ended_times = (struct cpuclock_times){
			user_ns + system_ns, user_ns, system_ns};
		for (tid = 1; tid <= 8; tid++) {
			if (next_random() % 4 == 0)
				continue;
			found(tid, tid, (int64_t)(next_random() % 1000) + round,
			      (int64_t)(next_random() % 1000));
		}
		assert_int_equal(take(snapshot), 0);
		live = check_threads(snapshot);
		process = cpuclock_snapshot_process(snapshot, 0, &before);
		assert_adds_up(&process->times);
		assert_adds_up(&process->ended_times);
		assert_int_equal(process->times.user_ns,
				 live.user_ns + process->ended_times.user_ns);
		assert_int_equal(process->times.total_ns,
				 live.total_ns + process->ended_times.total_ns);
		if (round == 0)
			continue;
		assert_not_below(&process->times, &before->times);
		assert_not_below(&process->ended_times, &before->ended_times);
	}
	cpuclock_snapshot_close(snapshot);
}

static void sums_that_are_too_large_do_not_wrap(void **state)
{
	struct cpuclock_snapshot *snapshot = open_player();
	int round;

	(void)state;
	for (round = 0; round < 3; round++) {
		found(1, 1, INT64_MAX / 2, INT64_MAX / 2);
		found(2, 2, INT64_MAX, 0);
		script.ended_times =
			(struct cpuclock_times){INT64_MAX, 0, INT64_MAX};
		assert_int_equal(take(snapshot), 0);
		assert_adds_up(
			&cpuclock_snapshot_process(snapshot, 0, NULL)->times);
	}
	cpuclock_snapshot_close(snapshot);
}

/* ---- The times in /proc -------------------------------------------------- */

static struct cpuclock__stat ticks(uint64_t user, uint64_t system)
{
	return (struct cpuclock__stat){.user_ticks = user,
				       .system_ticks = system};
}

static struct cpuclock_times split(int64_t total_ns, uint64_t user,
				   uint64_t system)
{
	struct cpuclock__stat stat = ticks(user, system);
	struct cpuclock_times times =
		cpuclock__procfs_split(total_ns, &stat, UNIT);

	assert_int_equal(times.total_ns, total_ns);
	assert_adds_up(&times);
	return times;
}

static void split_is_what_stat_cut_off(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		int64_t range = INT64_C(1) << (i % 50);
		int64_t user_ns = (int64_t)next_random() % range;
		int64_t system_ns =
			(int64_t)next_random() % (i % 3 ? range : 1000);
		struct cpuclock_times times =
			split(user_ns + system_ns, (uint64_t)(user_ns / UNIT),
			      (uint64_t)(system_ns / UNIT));

		assert_true(llabs(times.user_ns - user_ns) <= UNIT);
		assert_true(times.user_ns >= user_ns / UNIT * UNIT);
		assert_true(times.system_ns >= system_ns / UNIT * UNIT);
	}
}

static void split_is_by_the_ratio_of_ticks(void **state)
{
	(void)state;
	/* Three quarters of 4,005 ms lie within what stat leaves open. */
	assert_int_equal(split(4005 * NS_PER_MS, 300, 100).user_ns,
			 4005 * NS_PER_MS * 3 / 4);
	assert_int_equal(split(5, 0, 0).user_ns, 5);
	assert_int_equal(split(UNIT - 1, 0, 0).user_ns, UNIT - 1);
	assert_int_equal(split(0, 0, 0).user_ns, 0);
	/* What stat has counted is not taken away. */
	assert_int_equal(split(12 * NS_PER_MS, 0, 1).system_ns, 12 * NS_PER_MS);
	assert_int_equal(split(22 * NS_PER_MS, 1, 1).system_ns, 11 * NS_PER_MS);
	assert_int_equal(split(29 * NS_PER_MS, 0, 2).system_ns, 29 * NS_PER_MS);
	assert_int_equal(split(35 * NS_PER_MS, 0, 2).user_ns, 5 * NS_PER_MS);
}

static void split_of_numbers_that_do_not_fit_adds_up(void **state)
{
	static const uint64_t table[] = {
		0, 1, 2, 1000, UINT64_MAX, UINT64_MAX - 1, INT64_MAX,
	};
	static const int64_t totals[] = {
		0, 1, UNIT, 3 * UNIT, 100 * UNIT, INT64_MAX - 1, INT64_MAX,
	};
	size_t i, j, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		for (j = 0; j < ARRAY_SIZE(table); j++)
			for (k = 0; k < ARRAY_SIZE(totals); k++)
				split(totals[k], table[i], table[j]);
}

static void thread_without_schedstat_has_the_ticks_of_stat(void **state)
{
	struct cpuclock__procfs_task task = {
		.stat = {.times = {.user_ticks = 3, .system_ticks = 4}}};
	struct cpuclock_times times =
		cpuclock__procfs_thread_times(&task, UNIT);

	(void)state;
	assert_int_equal(times.total_ns, 7 * UNIT);
	assert_int_equal(times.user_ns, 3 * UNIT);
	task.schedstat.cpu_ns = 7 * UNIT + 1;
	times = cpuclock__procfs_thread_times(&task, UNIT);
	assert_int_equal(times.total_ns, 7 * UNIT + 1);
	assert_adds_up(&times);
}

static void ended_threads_have_what_the_live_ones_leave(void **state)
{
	const struct cpuclock_times live = {50 * UNIT, 40 * UNIT, 10 * UNIT};
	struct cpuclock__stat stat = ticks(60, 40);
	struct cpuclock_times ended;

	(void)state;
	ended = cpuclock__procfs_ended_times(100 * UNIT, &stat, &live, UNIT);
	assert_int_equal(ended.total_ns, 50 * UNIT);
	assert_int_equal(ended.user_ns, 20 * UNIT);
	assert_int_equal(ended.system_ns, 30 * UNIT);
	/* The clock of the process cannot be read. */
	ended = cpuclock__procfs_ended_times(-EPERM, &stat, &live, UNIT);
	assert_int_equal(ended.total_ns, 50 * UNIT);
	/* The live ones ran on while they were looked at. */
	ended = cpuclock__procfs_ended_times(49 * UNIT, &stat, &live, UNIT);
	assert_int_equal(ended.total_ns, 0);
	assert_adds_up(&ended);
	/* The parts are estimates: no more than there is, nor below 0. */
	stat = ticks(1, 99);
	ended = cpuclock__procfs_ended_times(100 * UNIT, &stat, &live, UNIT);
	assert_int_equal(ended.system_ns, 50 * UNIT);
	assert_int_equal(ended.user_ns, 0);
	stat = ticks(UINT64_MAX, UINT64_MAX);
	ended = cpuclock__procfs_ended_times(-EPERM, &stat, &live, UNIT);
	assert_adds_up(&ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_finds_by_id_and_start_time),
		cmocka_unit_test(
			list_is_not_slow_for_ids_that_lie_close_together),
		cmocka_unit_test(list_refuses_more_than_there_can_be),
		cmocka_unit_test(reused_tid_is_another_thread),
		cmocka_unit_test(thread_found_twice_is_shown_once),
		cmocka_unit_test(second_end_of_an_id_counts),
		cmocka_unit_test(
			thread_that_is_heard_of_ended_as_it_was_at_its_end),
		cmocka_unit_test(end_of_a_thread_waits_until_it_is_not_shown),
		cmocka_unit_test(end_that_is_heard_of_late_is_not_shown_again),
		cmocka_unit_test(take_that_fails_leaves_what_there_was),
		cmocka_unit_test(counts_that_are_not_known_stay_so),
		cmocka_unit_test(nothing_falls_whatever_a_source_says),
		cmocka_unit_test(sums_that_are_too_large_do_not_wrap),
		cmocka_unit_test(split_is_what_stat_cut_off),
		cmocka_unit_test(split_is_by_the_ratio_of_ticks),
		cmocka_unit_test(split_of_numbers_that_do_not_fit_adds_up),
		cmocka_unit_test(
			thread_without_schedstat_has_the_ticks_of_stat),
		cmocka_unit_test(ended_threads_have_what_the_live_ones_leave),
	};

	return cmocka_run_group_tests_name("snapshot_merge", tests, NULL, NULL);
}
