/* SPDX-License-Identifier: MIT */
/* Spans by the ten thousand, from threads and from signal handlers. */
#include <sched.h>
#include <signal.h>
#include <sys/time.h>

#include "spantest.h"

/* ---- Threads ------------------------------------------------------------- */

#define N_AT_ONCE 4

static void *one_span(void *arg)
{
	struct cpuclock_span span;

	(void)arg;
	start(&span, NULL);
	spin();
	stop(&span);
	return NULL;
}

static void ten_thousand_threads_each_have_their_own_spans(void **state)
{
	(void)state;
	for (int i = 0; i < 10000 / N_AT_ONCE; i++) {
		pthread_t threads[N_AT_ONCE];

		for (int j = 0; j < N_AT_ONCE; j++)
			assert_int_equal(pthread_create(&threads[j], NULL,
							one_span, NULL),
					 0);
		for (int j = 0; j < N_AT_ONCE; j++)
			pthread_join(threads[j], NULL);
	}
}

/* ---- Signal handlers ----------------------------------------------------- */

static atomic_int n_signals;
static struct cpuclock_span handlers_span;

static void use_spans(int signal_number)
{
	struct cpuclock_span span, child;

	(void)signal_number;
	start(&span, NULL);
	start(&child, &span);
	stop(&child);
	stop(&span);
	CHECK_EQUAL(inclusive_of(&span), self_of(&span) + self_of(&child));
	/* One that it keeps from signal to signal, paused in between. */
	go_on(&handlers_span);
	stand(&handlers_span);
	n_signals++;
}

static void signal_handlers_use_spans_of_their_own(void **state)
{
	struct sigaction action = {.sa_handler = use_spans};
	struct sigaction old;
	const struct itimerval often = {{0, 200}, {0, 200}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	struct cpuclock_span root, child, grandchild;
	int64_t sum = 0, outer;

	(void)state;
	n_signals = 0;
	start(&handlers_span, NULL);
	stand(&handlers_span);
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &often, NULL);
	outer = own_ns();
	start(&root, NULL);
	for (int i = 0; n_signals < 500 || i < 20000; i++) {
		start(&child, &root);
		start(&grandchild, &child);
		stop(&grandchild);
		sum += stop(&child);
		CHECK_EQUAL(inclusive_of(&child),
			    self_of(&child) + self_of(&grandchild));
		stand(&root);
		go_on(&root);
		if (failures)
			break;
	}
	stop(&root);
	outer = own_ns() - outer;
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	CHECK_EQUAL(inclusive_of(&root), self_of(&root) + sum);
	CHECK_WITHIN(inclusive_of(&root), sum, outer);
	stop(&handlers_span);
}

/* ---- A pool under stress ------------------------------------------------- */

#define N_TASKS	  10000
#define N_WORKERS 4

struct task {
	struct cpuclock_span span;
	struct cpuclock_span inner; /* open from hop to hop at times */
	struct cpuclock_span *parent;
	bool inner_is_open;
	int hops;
	uint32_t dice;
	int64_t outer_ns; /* around all hops, and within them */
	int64_t inner_ns;
	struct task *next;
};

struct pool {
	pthread_mutex_t mutex;
	struct task *ready;
	int n_left;
	int64_t kernel_ns; /* of all workers */
};

static uint32_t roll(struct task *task)
{
	task->dice ^= task->dice << 13;
	task->dice ^= task->dice >> 17;
	task->dice ^= task->dice << 5;
	return task->dice;
}

static void work_nested(struct task *task)
{
	struct cpuclock_span child, grandchild;
	int64_t expected = 0;

	start(&child, task->inner_is_open ? &task->inner : &task->span);
	if (roll(task) % 2) {
		start(&grandchild, &child);
		spin();
		expected = stop(&grandchild);
	}
	stop(&child);
	CHECK_EQUAL(inclusive_of(&child), self_of(&child) + expected);
}

/* True when it is done. */
static bool run_hop(struct task *task)
{
	int64_t outer = own_ns(), inner;

	if (task->hops == 0)
		start(&task->span, task->parent);
	else
		go_on(&task->span);
	inner = own_ns();
	switch (roll(task) % 4) {
	case 0:
		work_nested(task);
		break;
	case 1:
		if (task->inner_is_open)
			stop(&task->inner);
		else
			start(&task->inner, &task->span);
		task->inner_is_open = !task->inner_is_open;
		break;
	case 2:
		sched_yield();
		break;
	default:
		spin();
		break;
	}
	task->hops++;
	if (task->hops > 1 && roll(task) % 3 == 0) {
		if (task->inner_is_open)
			stop(&task->inner);
		task->inner_ns += own_ns() - inner;
		stop(&task->span);
		task->outer_ns += own_ns() - outer;
		return true;
	}
	task->inner_ns += own_ns() - inner;
	stand(&task->span);
	task->outer_ns += own_ns() - outer;
	return false;
}

static struct task *take_task(struct pool *pool)
{
	struct task *task;

	pthread_mutex_lock(&pool->mutex);
	task = pool->ready;
	if (task)
		pool->ready = task->next;
	pthread_mutex_unlock(&pool->mutex);
	return task;
}

static void give_task(struct pool *pool, struct task *task, bool done)
{
	pthread_mutex_lock(&pool->mutex);
	if (done) {
		pool->n_left--;
	} else {
		task->next = pool->ready;
		pool->ready = task;
	}
	pthread_mutex_unlock(&pool->mutex);
}

static bool is_done(struct pool *pool)
{
	bool done;

	pthread_mutex_lock(&pool->mutex);
	done = pool->n_left == 0;
	pthread_mutex_unlock(&pool->mutex);
	return done;
}

static void *work_in_pool(void *arg)
{
	struct pool *pool = arg;
	int64_t kernel = kernel_ns();

	while (!is_done(pool)) {
		struct task *first = take_task(pool);
		struct task *second = take_task(pool);

		/* Another worker is as likely to be the next. */
		if (first)
			give_task(pool, first, run_hop(first));
		if (second)
			give_task(pool, second, run_hop(second));
		if (!first)
			sched_yield();
	}
	kernel = kernel_ns() - kernel;
	pthread_mutex_lock(&pool->mutex);
	pool->kernel_ns += kernel;
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

static void ten_thousand_spans_hop_through_a_pool(void **state)
{
	struct pool pool = {PTHREAD_MUTEX_INITIALIZER, NULL, N_TASKS, 0};
	struct task *tasks = calloc(N_TASKS, sizeof(*tasks));
	pthread_t threads[N_WORKERS];
	struct cpuclock_span parent;
	int64_t sum = 0, of_children = 0;

	(void)state;
	assert_non_null(tasks);
	/* Half of them are children of one span, on other threads than it. */
	start(&parent, NULL);
	for (int i = 0; i < N_TASKS; i++) {
		tasks[i].dice = (uint32_t)i + 1;
		tasks[i].parent = i % 2 ? &parent : NULL;
		tasks[i].next = pool.ready;
		pool.ready = &tasks[i];
	}
	for (int i = 0; i < N_WORKERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, work_in_pool, &pool),
			0);
	for (int i = 0; i < N_WORKERS; i++)
		pthread_join(threads[i], NULL);
	stop(&parent);

	for (int i = 0; i < N_TASKS && !failures; i++) {
		int64_t total = inclusive_of(&tasks[i].span);

		CHECK_WITHIN(total, tasks[i].inner_ns, tasks[i].outer_ns);
		sum += total;
		if (tasks[i].parent)
			of_children += total;
	}
	CHECK(sum <= pool.kernel_ns + N_WORKERS * TOLERANCE_NS);
	CHECK_EQUAL(inclusive_of(&parent), self_of(&parent) + of_children);
	free(tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ten_thousand_threads_each_have_their_own_spans),
		TEST(signal_handlers_use_spans_of_their_own),
		TEST(ten_thousand_spans_hop_through_a_pool),
	};

	return cmocka_run_group_tests_name("span stress", tests, NULL, NULL);
}
