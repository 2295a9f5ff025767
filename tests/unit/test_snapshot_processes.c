/* SPDX-License-Identifier: MIT */
/*
 * The contract of snapshots, held against every source of their table: other
 * processes, also such as are dead, orphaned or given the PID of another; and
 * that the sources say the same of the same threads.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "snapshottest.h"

/* Makes a child that says when it is ready and waits to be killed. */
static pid_t make_child(void (*body)(void))
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (body)
			body();
		if (write(ready[1], "", 1) != 1)
			end_child(1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_and_reap(pid_t pid)
{
	assert_true(pid > 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* For a child; one thread after the other. */
static void run_threads(int n, int64_t user_ns, int64_t kernel_ns)
{
	while (n--) {
		struct worker worker = {
			.user_ns = user_ns, .kernel_ns = kernel_ns, .stop = 1};

		if (start(&worker))
			end_child(1);
		pthread_join(worker.thread, NULL);
	}
}

/* ---- Threads that ended, also the first one ------------------------------ */

/* cli-peers.md 1.3: others show 0 to 1% of such a process, or put it down to
 * another thread. */
static void process_has_the_time_of_threads_too_short_to_be_seen(void **state)
{
	const char *source = source_of(state);
	const struct cpuclock_process *process, *before;
	struct cpuclock_snapshot *reader;
	int64_t begin_ns, used_ns;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_threads(INT32_MAX, 5 * NS_PER_MS, 0);
	}
	assert_true(pid > 0);
	reader = must_open(&pid, 1, source, 0);
	take(reader);
	begin_ns = kernel_ns(kernel_process_clock(pid));
	do {
		sleep_ns(20 * NS_PER_MS);
		used_ns = kernel_ns(kernel_process_clock(pid)) - begin_ns;
	} while (used_ns < NS_PER_S);
	take(reader);
	check_snapshot(reader);
	process = find_process(reader, pid, &before);
	assert_non_null(before);
	assert_true(process->times.total_ns - before->times.total_ns >=
		    used_ns / 100 * 98);
	assert_true(process->ended_times.total_ns -
			    before->ended_times.total_ns >=
		    used_ns / 2);
	end_and_reap(pid);
	close_reader(reader);
}

static struct worker busy_worker = {.name = "busy\nwork) R 1",
				    .user_ns = 30 * NS_PER_MS};

/* The thread alone: pthread_exit would unwind into cmocka. */
static void die_as_leader(void)
{
	pthread_t other;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	burn_user(5 * NS_PER_MS);
	if (pthread_create(&other, NULL, work, &busy_worker))
		end_child(1);
	syscall(SYS_exit, 0);
}

/* A sanitizer's threads may stand before it. */
static const struct cpuclock_thread *
find_named(const struct cpuclock_snapshot *reader, const char *name)
{
	const struct cpuclock_thread *thread;
	size_t i;

	for (i = 0; (thread = cpuclock_snapshot_thread(reader, i, NULL)); i++) {
		if (strcmp(thread->name, name) == 0)
			return thread;
	}
	return NULL;
}

/* cli-peers.md 1.3: of a dead leader others print a broken row, or "?". */
static void dead_leader_has_its_row_and_its_threads_theirs(void **state)
{
	const char *source = source_of(state);
	const struct cpuclock_thread *thread = NULL, *leader = NULL;
	const struct cpuclock_process *process;
	struct cpuclock_snapshot *reader;
	pid_t pid = fork();
	int i;

	if (pid == 0)
		die_as_leader();
	assert_true(pid > 0);
	reader = must_open(&pid, 1, source, 0);
	for (i = 0; i < 5000; i++) {
		take(reader);
		check_snapshot(reader);
		leader = find(reader, pid, NULL);
		assert_non_null(leader);
		thread = find_named(reader, busy_worker.name);
		if (leader->state == 'Z' && thread && thread->state == 'S' &&
		    thread->times.total_ns >= 30 * NS_PER_MS)
			break;
		sleep_ns(NS_PER_MS);
	}
	assert_int_equal(leader->state, 'Z');
	assert_true(leader->times.total_ns >= 5 * NS_PER_MS);
	assert_non_null(thread);
	process = find_process(reader, pid, NULL);
	assert_int_equal(process->state, 'Z');
	assert_int_equal(process->times.total_ns,
			 kernel_ns(kernel_process_clock(pid)));
	end_and_reap(pid);
	take(reader);
	assert_null(cpuclock_snapshot_process(reader, 0, NULL));
	assert_null(cpuclock_snapshot_thread(reader, 0, NULL));
	close_reader(reader);
}

static void zombie_keeps_what_its_process_has_used(void **state)
{
	const char *source = source_of(state);
	const struct cpuclock_process *process;
	struct cpuclock_snapshot *reader;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0) {
		run_threads(1, 15 * NS_PER_MS, 0);
		burn_user(15 * NS_PER_MS);
		end_child(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	reader = must_open(&pid, 1, source, 0);
	take(reader);
	check_snapshot(reader);
	process = find_process(reader, pid, NULL);
	assert_non_null(process);
	assert_int_equal(process->state, 'Z');
	assert_int_equal(process->parent_pid, getpid());
	assert_int_equal(process->times.total_ns,
			 kernel_ns(kernel_process_clock(pid)));
	end_and_reap(pid);
	close_reader(reader);
}

static void use_some_in_threads(void)
{
	run_threads(5, 0, 3 * NS_PER_MS);
}

static void process_at_rest_has_what_its_clock_says(void **state)
{
	pid_t pid = make_child(use_some_in_threads);
	struct cpuclock_snapshot *reader = reader_of(state, pid, 0);
	const struct cpuclock_process *process;

	take_asleep(reader, pid);
	/* Its last thread can be on its way out still. */
	sleep_ns(50 * NS_PER_MS);
	close_reader(reader);
	reader = reader_of(state, pid, 0);
	take(reader);
	check_snapshot(reader);
	process = find_process(reader, pid, NULL);
	assert_non_null(process);
	assert_int_equal(process->times.total_ns,
			 kernel_ns(kernel_process_clock(pid)));
	assert_true(process->ended_times.total_ns >= 15 * NS_PER_MS);
	assert_int_equal(process->parent_pid, getpid());
	end_and_reap(pid);
	close_reader(reader);
}

/* ---- Which processes ----------------------------------------------------- */

static int grandchild_pipe[2];

/* Says the PID of a child of its own. */
static void make_grandchild(void)
{
	pid_t pid = fork();

	if (pid < 0)
		end_child(1);
	/* Nobody else would end it if a test failed. */
	if (pid == 0)
		alarm(60);
	while (pid == 0)
		pause();
	if (write(grandchild_pipe[1], &pid, sizeof(pid)) != sizeof(pid))
		end_child(1);
}

/* An orphan is a child of who adopts it. */
static void descendants_stay_if_they_are_adopted(void **state)
{
	const char *source = source_of(state);
	const struct cpuclock_process *process, *before;
	struct cpuclock_snapshot *reader;
	pid_t self = getpid(), child, grandchild = 0;

	assert_int_equal(pipe2(grandchild_pipe, O_CLOEXEC), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	child = make_child(make_grandchild);
	assert_int_equal(read(grandchild_pipe[0], &grandchild, sizeof(pid_t)),
			 sizeof(pid_t));
	assert_true(grandchild > 0);
	close(grandchild_pipe[0]);
	close(grandchild_pipe[1]);
	reader = must_open(&self, 1, source, CPUCLOCK_SNAPSHOT_DESCENDANTS);
	take(reader);
	check_snapshot(reader);
	assert_non_null(find_process(reader, self, NULL));
	assert_null(find_process(reader, getppid(), NULL));
	process = find_process(reader, child, NULL);
	assert_non_null(process);
	assert_int_equal(process->parent_pid, self);
	process = find_process(reader, grandchild, NULL);
	assert_non_null(process);
	assert_int_equal(process->parent_pid, child);

	end_and_reap(child);
	take(reader);
	check_snapshot(reader);
	assert_null(find_process(reader, child, NULL));
	assert_non_null(find_ended(reader, child, NULL));
	process = find_process(reader, grandchild, &before);
	assert_non_null(process);
	assert_non_null(before);
	assert_int_equal(process->parent_pid, self);
	end_and_reap(grandchild);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close_reader(reader);
}

static void system_has_every_process_once(void **state)
{
	const char *source = source_of(state);
	pid_t child = make_child(NULL);
	struct cpuclock_snapshot *reader;
	const struct cpuclock_thread *before;

	reader = must_open(NULL, 0, source, 0);
	take(reader);
	take(reader);
	check_snapshot(reader);
	assert_non_null(find_process(reader, getpid(), NULL));
	assert_non_null(find_process(reader, child, NULL));
	assert_non_null(find(reader, getpid(), &before));
	assert_non_null(before);
	end_and_reap(child);
	close_reader(reader);
}

static void several_processes_are_those_given(void **state)
{
	const char *source = source_of(state);
	pid_t pids[] = {make_child(NULL), getpid(), make_child(NULL), getpid()};
	struct cpuclock_snapshot *reader;
	size_t i;

	reader = must_open(pids, ARRAY_SIZE(pids), source, 0);
	take(reader);
	check_snapshot(reader);
	for (i = 0; i < 3; i++) {
		assert_non_null(find_process(reader, pids[i], NULL));
		assert_non_null(find(reader, pids[i], NULL));
	}
	assert_null(cpuclock_snapshot_process(reader, 3, NULL));
	end_and_reap(pids[0]);
	end_and_reap(pids[2]);
	close_reader(reader);
}

static void what_is_no_process_has_no_records(void **state)
{
	const char *source = source_of(state);
	struct worker worker = {0};
	struct cpuclock_snapshot *reader;
	pid_t pids[2] = {make_child(NULL)};

	end_and_reap(pids[0]);
	assert_int_equal(start(&worker), 0);
	pids[1] = worker.tid; /* of a thread that leads no process */
	reader = must_open(pids, 2, source, 0);
	assert_null(cpuclock_snapshot_thread(reader, 0, NULL));
	take(reader);
	assert_null(cpuclock_snapshot_thread(reader, 0, NULL));
	assert_null(cpuclock_snapshot_process(reader, 0, NULL));
	assert_null(cpuclock_snapshot_ended(reader, 0, NULL));
	stop(&worker);
	close_reader(reader);
}

/* ---- A PID given anew ---------------------------------------------------- */

/* The layout of clone3(2), as of Linux 5.5. */
struct clone_as {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal;
	uint64_t stack, stack_size, tls, set_tid, set_tid_size;
};

/* The child uses nothing of libc, which has not seen it come. */
static pid_t fork_as(pid_t pid)
{
	struct clone_as arguments = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&pid,
		.set_tid_size = 1,
	};
	long made = syscall(SYS_clone3, &arguments, sizeof(arguments));
	struct timespec long_time = {1000, 0};

	while (made == 0)
		syscall(SYS_nanosleep, &long_time, NULL);
	return made < 0 ? -errno : (pid_t)made;
}

/* cli-peers.md 1.4, 6: by TID alone the difference of two would be negative. */
static void pid_given_anew_is_another_process(void **state)
{
	const char *source = source_of(state);
	pid_t pid = make_child(use_some_in_threads), again;
	const struct cpuclock_process *process_before;
	const struct cpuclock_thread *thread, *before;
	struct cpuclock_snapshot *reader;
	int64_t start_ns;

	reader = must_open(&pid, 1, source, 0);
	take(reader);
	start_ns = find(reader, pid, NULL)->start_ns;
	end_and_reap(pid);
	again = fork_as(pid);
	if (again < 0) {
		close_reader(reader);
		skip_because("no PID can be chosen here: %s", strerror(-again));
	}
	assert_int_equal(again, pid);
	take(reader);
	check_snapshot(reader);
	thread = find(reader, pid, &before);
	assert_non_null(thread);
	assert_true(thread->start_ns > start_ns);
	assert_null(before);
	assert_true(thread->times.total_ns < 15 * NS_PER_MS);
	assert_non_null(find_process(reader, pid, &process_before));
	assert_null(process_before);
	thread = find_ended(reader, pid, &before);
	assert_non_null(thread);
	assert_int_equal(thread->start_ns, start_ns);
	end_and_reap(pid);
	close_reader(reader);
}

/* ---- Sources beside each other ------------------------------------------- */

static void assert_alike(const struct cpuclock_thread *a,
			 const struct cpuclock_thread *b)
{
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->times.total_ns, b->times.total_ns);
	assert_true(llabs(a->times.user_ns - b->times.user_ns) <=
		    10 * NS_PER_MS);
	assert_true(llabs(a->start_ns - b->start_ns) <= 10 * NS_PER_MS);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->cpu, b->cpu);
	assert_string_equal(a->name, b->name);
	if (a->wait_ns >= 0 && b->wait_ns >= 0)
		assert_int_equal(a->wait_ns, b->wait_ns);
}

static void assert_processes_alike(const struct cpuclock_process *a,
				   const struct cpuclock_process *b)
{
	assert_int_equal(a->parent_pid, b->parent_pid);
	assert_int_equal(a->times.total_ns, b->times.total_ns);
	assert_int_equal(a->ended_times.total_ns, b->ended_times.total_ns);
	assert_int_equal(a->threads, b->threads);
	assert_int_equal(a->state, b->state);
	assert_string_equal(a->name, b->name);
}

static void use_and_start_sleepers(void)
{
	static struct worker workers[10];
	size_t i;

	use_some_in_threads();
	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		workers[i].user_ns = (int64_t)i * NS_PER_MS;
		workers[i].kernel_ns = (int64_t)i * 2 * NS_PER_MS;
		workers[i].name = i % 2 ? ") R 1 (\n" : "plain";
		if (start(&workers[i]))
			end_child(1);
	}
}

/* Until all are at rest. */
static void take_all_asleep(struct cpuclock_snapshot *reader)
{
	const struct cpuclock_thread *thread;
	size_t i;

	take(reader);
	for (i = 0; (thread = cpuclock_snapshot_thread(reader, i, NULL)); i++)
		take_asleep(reader, thread->tid);
}

/* The same threads, at rest: so both say the same, but for the split. */
static void source_agrees_with_proc(void **state)
{
	const char *source = source_of(state);
	struct cpuclock_snapshot_source_info info;
	struct cpuclock_snapshot *reader, *proc;
	const struct cpuclock_thread *thread, *same;
	pid_t pid;
	size_t i;

	if (cpuclock_snapshot_source_info("proc", &info) || info.status)
		skip_because("proc does not work here");
	pid = make_child(use_and_start_sleepers);
	reader = must_open(&pid, 1, source, 0);
	proc = must_open(&pid, 1, "proc", 0);
	take_all_asleep(proc);
	take(reader);
	take(proc);
	for (i = 0; (thread = cpuclock_snapshot_thread(proc, i, NULL)); i++) {
		same = find(reader, thread->tid, NULL);
		assert_non_null(same);
		assert_alike(same, thread);
	}
	assert_true(i >= 11);
	assert_processes_alike(find_process(reader, pid, NULL),
			       find_process(proc, pid, NULL));
	end_and_reap(pid);
	close_reader(proc);
	close_reader(reader);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(process_has_the_time_of_threads_too_short_to_be_seen),
		TEST(dead_leader_has_its_row_and_its_threads_theirs),
		TEST(zombie_keeps_what_its_process_has_used),
		TEST(process_at_rest_has_what_its_clock_says),
		TEST(descendants_stay_if_they_are_adopted),
		TEST(system_has_every_process_once),
		TEST(several_processes_are_those_given),
		TEST(what_is_no_process_has_no_records),
		TEST(pid_given_anew_is_another_process),
		TEST(source_agrees_with_proc),
	};

	return run_for_each_source("snapshot_processes", tests,
				   ARRAY_SIZE(tests));
}
