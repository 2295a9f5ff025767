/* SPDX-License-Identifier: MIT */
/*
 * Public reports of CPU time counted wrong, each a test which is named for it
 * and shows that here it cannot go wrong.
 */
#include <ucontext.h>

#include "spantest.h"

/* A method's CPU time was the clock of the thread that ended it, less that of
 * the thread that began it. */
static void
prestodb_presto_25231_start_and_end_on_different_threads(void **state)
{
	struct cpuclock_span span;
	int64_t outer = own_ns();

	(void)state;
	burn(20 * MS);
	outer = own_ns();
	start(&span, NULL);
	on_other_thread(misuse, &span);
	stand(&span);
	outer = own_ns() - outer;
	on_other_thread(stop_it, &span);
	CHECK_WITHIN(inclusive_of(&span), 0, outer);
}

static ucontext_t scheduler, fibres[2];
static struct cpuclock_span fibre_spans[2];
static int64_t fibre_burnt[2];

static void yield(int me)
{
	stand(&fibre_spans[me]);
	swapcontext(&fibres[me], &scheduler);
	go_on(&fibre_spans[me]);
}

static void run_fibre(int me)
{
	struct cpuclock_span io;

	start(&fibre_spans[me], NULL);
	for (int i = 0; i < 4; i++) {
		int64_t before = own_ns();

		burn((me ? 12 : 2) * MS);
		fibre_burnt[me] += own_ns() - before;
		/* What waits is paused with the fibre, which knows of it not.
		 */
		start(&io, &fibre_spans[me]);
		yield(me);
		stop(&io);
	}
	stop(&fibre_spans[me]);
}

static void make_fibre(int i)
{
	static char stacks[2][256 * 1024];

	assert_int_equal(getcontext(&fibres[i]), 0);
	fibres[i].uc_stack.ss_sp = stacks[i];
	fibres[i].uc_stack.ss_size = sizeof(stacks[i]);
	fibres[i].uc_link = &scheduler;
	makecontext(&fibres[i], (void (*)(void))run_fibre, 1, i);
}

/* A fibre that yields was billed for those that ran until it went on. */
static void socketry_async_428_fibre_is_not_billed_for_another(void **state)
{
	int64_t outer = own_ns(), sum;

	(void)state;
	for (int i = 0; i < 2; i++) {
		fibre_burnt[i] = 0;
		make_fibre(i);
	}
	for (int i = 0; i < 5; i++) {
		swapcontext(&scheduler, &fibres[0]);
		swapcontext(&scheduler, &fibres[1]);
	}
	outer = own_ns() - outer;
	sum = inclusive_of(&fibre_spans[0]) + inclusive_of(&fibre_spans[1]);
	CHECK(sum <= outer);
	CHECK_WITHIN(inclusive_of(&fibre_spans[0]), fibre_burnt[0],
		     outer - fibre_burnt[1]);
	CHECK_WITHIN(inclusive_of(&fibre_spans[1]), fibre_burnt[1],
		     outer - fibre_burnt[0]);
}

/* A virtual thread's time was -1, then counted only if it began and ended on
 * one carrier; whichever other ones it had been on were left out. */
static void
retit_opentelemetry_85_task_on_many_carriers_is_counted_whole(void **state)
{
	struct cpuclock_span span;
	int64_t kernel = 0;

	(void)state;
	start(&span, NULL);
	stand(&span);
	for (int i = 0; i < 10; i++) {
		struct leg leg = {&span, 3 * MS, 0};

		on_other_thread(run_leg, &leg);
		kernel += leg.kernel_ns;
		/* Meanwhile its first carrier has other work. */
		burn(2 * MS);
	}
	go_on(&span);
	stop(&span);
	CHECK_WITHIN(inclusive_of(&span), kernel - 10 * TOLERANCE_NS,
		     kernel + 10 * TOLERANCE_NS);
}

/* The statement at the top lacked what its nested ones used; and with them in
 * it, the sum over all statements counted them twice. */
static void
pg_stat_kcache_24_nested_statements_count_once_and_at_the_top(void **state)
{
	struct cpuclock_span top, nested[2];
	int64_t outer = own_ns(), inner;

	(void)state;
	start(&top, NULL);
	inner = own_ns();
	for (int i = 0; i < 2; i++) {
		start(&nested[i], &top);
		burn(5 * MS);
		stop(&nested[i]);
	}
	inner = own_ns() - inner;
	stop(&top);
	outer = own_ns() - outer;
	CHECK_WITHIN(inclusive_of(&top), inner, outer);
	CHECK_EQUAL(self_of(&top) + self_of(&nested[0]) + self_of(&nested[1]),
		    inclusive_of(&top));
}

static void *run_operation(void *arg)
{
	struct cpuclock_span *timers = arg;

	go_on(&timers[0]);
	burn(4 * MS);
	stop(&timers[1]);
	stand(&timers[0]);
	return NULL;
}

/* One timer of an operation at a time, until it was given a clock of its own
 * that stops when the operation leaves its thread. Here that is the root. */
static void
mongodb_operation_cpu_timers_nest_and_leave_the_thread_as_one(void **state)
{
	struct cpuclock_span timers[2];
	int64_t outer = own_ns();

	(void)state;
	start(&timers[0], NULL);
	burn(2 * MS);
	start(&timers[1], &timers[0]);
	burn(2 * MS);
	stand(&timers[0]);
	outer = own_ns() - outer;
	burn(20 * MS);
	on_other_thread(run_operation, timers);
	stop(&timers[0]);
	CHECK_WITHIN(inclusive_of(&timers[1]), 6 * MS - 2 * TOLERANCE_NS,
		     inclusive_of(&timers[0]) - 2 * MS + TOLERANCE_NS);
	CHECK(self_of(&timers[0]) <= outer);
}

static void *run_part(void *arg)
{
	struct cpuclock_span part;

	start(&part, arg);
	burn(30 * MS);
	stop(&part);
	return NULL;
}

/* A statement's own time was its total less that of its parts, which had run on
 * other threads. */
static void matrixone_19324_self_time_is_never_negative(void **state)
{
	struct cpuclock_span root;

	(void)state;
	start(&root, NULL);
	for (int i = 0; i < 3; i++)
		on_other_thread(run_part, &root);
	stop(&root);
	CHECK(self_of(&root) >= 0);
	CHECK(self_of(&root) < 45 * MS);
	CHECK(inclusive_of(&root) >= 90 * MS - 3 * TOLERANCE_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(prestodb_presto_25231_start_and_end_on_different_threads),
		TEST(socketry_async_428_fibre_is_not_billed_for_another),
		TEST(retit_opentelemetry_85_task_on_many_carriers_is_counted_whole),
		TEST(pg_stat_kcache_24_nested_statements_count_once_and_at_the_top),
		TEST(mongodb_operation_cpu_timers_nest_and_leave_the_thread_as_one),
		TEST(matrixone_19324_self_time_is_never_negative),
	};

	return cmocka_run_group_tests_name("span reports", tests, NULL, NULL);
}
