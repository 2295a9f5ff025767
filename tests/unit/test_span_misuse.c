/* SPDX-License-Identifier: MIT */
/* Spans used wrong, and in a process or thread that they are not of. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "spantest.h"

/* ---- Misuse -------------------------------------------------------------- */

static void span_never_started_is_refused(void **state)
{
	struct cpuclock_span span = CPUCLOCK_SPAN_INIT;
	struct cpuclock_span child;

	(void)state;
	check_all_refused(&span, -EINVAL, -EINVAL, -EINVAL, -EINVAL);
	CHECK_REFUSED(cpuclock_span_start(&child, &span, 0), &span, -EINVAL);
	/* Nor did that start the child. */
	check_all_refused(&child, -EINVAL, -EINVAL, -EINVAL, -EINVAL);
}

static void span_stopped_twice_is_refused(void **state)
{
	struct cpuclock_span span, child;

	(void)state;
	start(&span, NULL);
	stop(&span);
	check_all_refused(&span, -EALREADY, -EINVAL, -EINVAL, 0);
	CHECK_REFUSED(cpuclock_span_start(&child, &span, 0), &span, -EINVAL);
	/* Another start makes a new span of it. */
	start(&span, NULL);
	stop(&span);
}

static void span_resumed_while_it_runs_is_refused(void **state)
{
	struct cpuclock_span span;

	(void)state;
	start(&span, NULL);
	CHECK_REFUSED(cpuclock_span_resume(&span), &span, -EALREADY);
	stand(&span);
	CHECK_REFUSED(cpuclock_span_pause(&span), &span, -EALREADY);
	go_on(&span);
	CHECK_REFUSED(cpuclock_span_resume(&span), &span, -EALREADY);
	stop(&span);
}

static void running_span_is_refused_on_another_thread(void **state)
{
	struct cpuclock_span root, child;
	int64_t outer = own_ns(), inner;

	(void)state;
	start(&root, NULL);
	start(&child, &root);
	inner = own_ns();
	on_other_thread(misuse, &root);
	on_other_thread(misuse, &child);
	burn(MS);
	inner = own_ns() - inner;
	stop(&child);
	stop(&root);
	CHECK_WITHIN(inclusive_of(&root), inner, own_ns() - outer);
}

static void span_stopped_before_its_child_is_refused(void **state)
{
	struct cpuclock_span root, child, grandchild;

	(void)state;
	start(&root, NULL);
	start(&child, &root);
	CHECK_REFUSED(cpuclock_span_stop(&root), &root, -EBUSY);
	start(&grandchild, &child);
	CHECK_REFUSED(cpuclock_span_stop(&root), &root, -EBUSY);
	CHECK_REFUSED(cpuclock_span_stop(&child), &child, -EBUSY);
	stop(&grandchild);
	/* Paused is not stopped. */
	stand(&child);
	CHECK_REFUSED(cpuclock_span_stop(&root), &root, -EBUSY);
	stand(&root);
	CHECK_REFUSED(cpuclock_span_stop(&root), &root, -EBUSY);
	stop(&child);
	stop(&root);
	CHECK_EQUAL(inclusive_of(&root), self_of(&root) + inclusive_of(&child));
}

static void *start_child_of(void *arg)
{
	struct cpuclock_span *spans = arg;

	start(&spans[1], &spans[0]);
	stand(&spans[1]);
	return NULL;
}

static void span_stopped_before_a_child_elsewhere_is_refused(void **state)
{
	struct cpuclock_span spans[2];

	(void)state;
	start(&spans[0], NULL);
	on_other_thread(start_child_of, spans);
	CHECK_REFUSED(cpuclock_span_stop(&spans[0]), &spans[0], -EBUSY);
	stop(&spans[1]);
	stop(&spans[0]);
}

static void flags_that_are_unknown_or_not_the_roots_are_refused(void **state)
{
	struct cpuclock_span root, child;

	(void)state;
	CHECK_EQUAL(cpuclock_span_start(&root, NULL, 2), -EINVAL);
	CHECK_EQUAL(cpuclock_span_start(&root, NULL, ~0U), -EINVAL);
	start(&root, NULL);
	CHECK_EQUAL(cpuclock_span_start(&child, &root, CPUCLOCK_SPAN_SPLIT),
		    -EINVAL);
	CHECK_EQUAL(cpuclock_span_start(&child, &root, 4), -EINVAL);
	stop(&root);
	/* What the span was before, it is no more. */
	CHECK_EQUAL(cpuclock_span_start(&root, NULL, 2), -EINVAL);
	check_all_refused(&root, -EINVAL, -EINVAL, -EINVAL, -EINVAL);
	CHECK_EQUAL(cpuclock_span_start(&root, NULL, CPUCLOCK_SPAN_SPLIT), 0);
	CHECK_EQUAL(cpuclock_span_start(&child, &root, CPUCLOCK_SPAN_SPLIT), 0);
	stop(&child);
	CHECK_EQUAL(cpuclock_span_start(&child, &root, CPUCLOCK_SPAN_SPLIT | 2),
		    -EINVAL);
	stop(&root);
}

static void span_that_is_its_own_parent_is_refused(void **state)
{
	struct cpuclock_span span;

	(void)state;
	start(&span, NULL);
	CHECK_REFUSED(cpuclock_span_start(&span, &span, 0), &span, -EINVAL);
	stop(&span);
}

static void errno_is_left_as_it_was(void **state)
{
	struct cpuclock_span span;

	(void)state;
	errno = 4242;
	start(&span, NULL);
	CHECK_EQUAL(cpuclock_span_resume(&span), -EALREADY);
	stand(&span);
	go_on(&span);
	stop(&span);
	CHECK_EQUAL(cpuclock_span_stop(&span), -EALREADY);
	CHECK_EQUAL(errno, 4242);
}

static void spans_that_are_never_stopped_do_no_harm_to_others(void **state)
{
	struct cpuclock_span outer, child;

	(void)state;
	start(&outer, NULL);
	for (int i = 0; i < 100; i++) {
		struct cpuclock_span *lost = malloc(sizeof(*lost));
		struct cpuclock_span span;

		assert_non_null(lost);
		start(lost, NULL);
		free(lost);
		start(&span, NULL);
		start(&child, &span);
		stop(&child);
		stop(&span);
	}
	start(&child, &outer);
	stop(&child);
	stand(&outer);
	go_on(&outer);
	stop(&outer);
}

/* ---- fork ---------------------------------------------------------------- */

static pid_t fork_by_libc(void)
{
	return fork();
}

static pid_t fork_by_libc_without_handlers(void)
{
	return _Fork();
}

static pid_t fork_by_system_call(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t (*const ways_to_fork[])(void) = {
	fork_by_libc,
	fork_by_libc_without_handlers,
	fork_by_system_call,
};

struct family {
	struct cpuclock_span running;
	struct cpuclock_span child; /* of the one that runs, on top of it */
	struct cpuclock_span paused;
	int64_t paused_ns;
	bool has_children;
};

static void use_inherited(void *arg)
{
	struct family *family = arg;
	struct cpuclock_span span, child;
	int64_t outer;

	/* Twice: before and after this process has serials of its own. */
	for (int i = 0; i < 2; i++) {
		check_all_refused(&family->running, -EXDEV, -EXDEV, -EALREADY,
				  -EXDEV);
		check_all_refused(&family->child, -EXDEV, -EXDEV, -EALREADY,
				  -EXDEV);
		start(&span, NULL);
		start(&child, &span);
		spin();
		stop(&child);
		stop(&span);
	}
	if (family->has_children) {
		family->has_children = false;
		in_child(fork_by_system_call, use_inherited, family);
	}

	/* The clock of this process begins at 0; what was counted stays. */
	CHECK_EQUAL(inclusive_of(&family->paused), family->paused_ns);
	outer = own_ns();
	go_on(&family->paused);
	burn(2 * MS);
	stop(&family->paused);
	outer = own_ns() - outer;
	CHECK_WITHIN(inclusive_of(&family->paused) - family->paused_ns,
		     2 * MS - TOLERANCE_NS, outer);
}

static void
span_that_ran_when_the_process_forked_is_refused_in_the_child(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways_to_fork); i++) {
		struct family family = {.has_children = true};
		int64_t outer = own_ns();

		start(&family.paused, NULL);
		burn(3 * MS);
		stand(&family.paused);
		family.paused_ns = inclusive_of(&family.paused);
		start(&family.running, NULL);
		start(&family.child, &family.running);

		in_child(ways_to_fork[i], use_inherited, &family);

		/* And the parent goes on as if nothing had been. */
		stop(&family.child);
		stop(&family.running);
		go_on(&family.paused);
		stop(&family.paused);
		outer = own_ns() - outer;
		CHECK_WITHIN(inclusive_of(&family.paused) +
				     inclusive_of(&family.running),
			     0, outer);
	}
}

/* A tree of which one span is paused, and the root runs on in the parent. */
static void use_inherited_tree(void *arg)
{
	struct cpuclock_span *spans = arg;

	/* The root is on a thread that this process does not have. */
	CHECK_REFUSED(cpuclock_span_resume(&spans[1]), &spans[0], 0);
	burn(MS);
	stop(&spans[1]);
	CHECK_EQUAL(cpuclock_span_stop(&spans[0]), -EXDEV);
}

static void tree_that_ran_when_the_process_forked_is_not_taken_up(void **state)
{
	struct cpuclock_span spans[2];

	(void)state;
	start(&spans[0], NULL);
	start(&spans[1], &spans[0]);
	stand(&spans[1]);
	for (size_t i = 0; i < ARRAY_SIZE(ways_to_fork); i++)
		in_child(ways_to_fork[i], use_inherited_tree, spans);
	stop(&spans[1]);
	stop(&spans[0]);
}

/* ---- Before the library's constructors ----------------------------------- */

static struct cpuclock_span early;

/* The library's own have no priority, and run after this. */
__attribute__((constructor(101))) static void start_early(void)
{
	cpuclock_span_start(&early, NULL, 0);
}

static void use_early(void *arg)
{
	(void)arg;
	check_all_refused(&early, -EXDEV, -EXDEV, -EALREADY, -EXDEV);
}

static void span_started_before_the_librarys_constructors_goes_on(void **state)
{
	struct cpuclock_span child;

	(void)state;
	start(&child, &early);
	stop(&child);
	for (size_t i = 0; i < ARRAY_SIZE(ways_to_fork); i++)
		in_child(ways_to_fork[i], use_early, NULL);
	stop(&early);
	CHECK_EQUAL(inclusive_of(&early),
		    self_of(&early) + inclusive_of(&child));
}

/* ---- Threads that end ---------------------------------------------------- */

static __thread int of_thread;

struct ghost {
	struct cpuclock_span span;
	const void *place; /* of the variables of the thread that ran it */
	bool met;	   /* by a thread in the same place */
};

static void *start_and_end(void *arg)
{
	struct ghost *ghost = arg;

	start(&ghost->span, NULL);
	ghost->place = &of_thread;
	return NULL;
}

static void *meet(void *arg)
{
	struct ghost *ghost = arg;

	if (&of_thread == ghost->place)
		ghost->met = true;
	check_all_refused(&ghost->span, -EXDEV, -EXDEV, -EALREADY, -EXDEV);
	return NULL;
}

static void
span_of_a_thread_that_ended_is_refused_in_the_place_of_that_thread(void **state)
{
	int n_met = 0;

	(void)state;
	for (int i = 0; i < 50; i++) {
		struct ghost ghost = {0};

		on_other_thread(start_and_end, &ghost);
		on_other_thread(meet, &ghost);
		n_met += ghost.met;
		check_all_refused(&ghost.span, -EXDEV, -EXDEV, -EALREADY,
				  -EXDEV);
	}
	/* Else this did not test what it says. */
	CHECK(n_met > 0);
}

/* ---- Refused system calls ------------------------------------------------ */

#define ANY UINT32_MAX

/* Lets a system call fail if its third argument is that. */
static bool refuse(uint32_t number, uint32_t argument, uint32_t error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument, 0,
			 argument == ANY ? 0 : 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {ARRAY_SIZE(code), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void use_spans_without_clocks(void *arg)
{
	struct cpuclock_span span, paused, other;
	int64_t so_far;

	(void)arg;
	start(&paused, NULL);
	stand(&paused);
	so_far = inclusive_of(&paused);
	CHECK_EQUAL(cpuclock_span_start(&span, NULL, 0), 0);
	if (!CHECK(refuse(SYS_clock_gettime, ANY, EPERM)))
		return;
	/* An anchor lasts 1 ms. */
	sleep_ns(3 * MS);
	check_all_refused(&span, -EPERM, -EPERM, -EALREADY, -EPERM);
	CHECK_REFUSED(cpuclock_span_resume(&paused), &paused, -EPERM);
	CHECK_EQUAL(cpuclock_span_start(&other, NULL, 0), -EPERM);
	check_all_refused(&other, -EINVAL, -EINVAL, -EINVAL, -EINVAL);
	CHECK_REFUSED(cpuclock_span_start(&other, &span, 0), &span, -EPERM);
	/* What needs no clock goes on. */
	CHECK_EQUAL(stop(&paused), so_far);
}

static void refused_clock_is_an_error_and_changes_nothing(void **state)
{
	(void)state;
	in_child(fork_by_libc, use_spans_without_clocks, NULL);
}

/* ---- All of it in another world ------------------------------------------ */

static bool in_other_world;

static void enter_other_world(void *arg)
{
	char name[] = "in another world";
	char *const argv[] = {name, name, NULL};

	(void)arg;
	if (!CHECK(refuse(SYS_madvise, 18 /* MADV_WIPEONFORK */, EINVAL)))
		return;
	/* What is printed there is not for who reads this program's output. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execv("/proc/self/exe", argv);
	CHECK_EQUAL(errno, 0);
}

static void all_holds_without_memory_that_fork_wipes(void **state)
{
	(void)state;
	if (!in_other_world)
		in_child(fork_by_libc, enter_other_world, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(span_never_started_is_refused),
		TEST(span_stopped_twice_is_refused),
		TEST(span_resumed_while_it_runs_is_refused),
		TEST(running_span_is_refused_on_another_thread),
		TEST(span_stopped_before_its_child_is_refused),
		TEST(span_stopped_before_a_child_elsewhere_is_refused),
		TEST(flags_that_are_unknown_or_not_the_roots_are_refused),
		TEST(span_that_is_its_own_parent_is_refused),
		TEST(errno_is_left_as_it_was),
		TEST(spans_that_are_never_stopped_do_no_harm_to_others),
		TEST(span_that_ran_when_the_process_forked_is_refused_in_the_child),
		TEST(tree_that_ran_when_the_process_forked_is_not_taken_up),
		TEST(span_started_before_the_librarys_constructors_goes_on),
		TEST(span_of_a_thread_that_ended_is_refused_in_the_place_of_that_thread),
		TEST(refused_clock_is_an_error_and_changes_nothing),
		TEST(all_holds_without_memory_that_fork_wipes),
	};

	(void)argv;
	in_other_world = argc > 1;
	return cmocka_run_group_tests_name("span misuse", tests, NULL, NULL);
}
