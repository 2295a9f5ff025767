/* SPDX-License-Identifier: MIT */
/* What spans count: alone, on many threads, and nested. */
#include "spantest.h"

/* ---- One span ------------------------------------------------------------ */

static void span_counts_what_the_kernel_counts(void **state)
{
	struct cpuclock_span span;
	int64_t kernel;

	(void)state;
	kernel = kernel_ns();
	start(&span, NULL);
	burn(30 * MS);
	stop(&span);
	kernel = kernel_ns() - kernel;
	CHECK_WITHIN(inclusive_of(&span), kernel - TOLERANCE_NS,
		     kernel + TOLERANCE_NS);
	CHECK_EQUAL(self_of(&span), inclusive_of(&span));
}

static void span_is_what_the_clock_says_between_its_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct cpuclock_span span;
		int64_t outer = own_ns(), inner, after_inner, total;

		start(&span, NULL);
		inner = own_ns();
		if (i % 16 == 0)
			spin();
		after_inner = own_ns();
		total = stop(&span);
		if (!CHECK_WITHIN(total, after_inner - inner, own_ns() - outer))
			break;
	}
}

static void sleep_is_not_counted(void **state)
{
	struct cpuclock_span span;
	int64_t kernel = kernel_ns();

	(void)state;
	start(&span, NULL);
	for (int i = 0; i < 4; i++) {
		spin();
		sleep_ns(50 * MS);
		CHECK(inclusive_of(&span) >= 0);
	}
	stop(&span);
	kernel = kernel_ns() - kernel;
	CHECK_WITHIN(inclusive_of(&span), 0, kernel + TOLERANCE_NS);
	CHECK(inclusive_of(&span) < 50 * MS);
}

static void pause_is_not_counted(void **state)
{
	struct cpuclock_span span;
	int64_t outer = own_ns(), paused, paused_outer;

	(void)state;
	start(&span, NULL);
	burn(5 * MS);
	paused_outer = own_ns();
	stand(&span);
	paused = own_ns();
	burn(40 * MS);
	paused = own_ns() - paused;
	go_on(&span);
	paused_outer = own_ns() - paused_outer;
	burn(5 * MS);
	stop(&span);
	outer = own_ns() - outer;
	CHECK_WITHIN(inclusive_of(&span), 9 * MS, outer - paused);
	CHECK(paused_outer >= paused);
}

static void read_follows_the_clock_and_the_result_stays(void **state)
{
	struct cpuclock_span span;
	int64_t last = 0, result;

	(void)state;
	start(&span, NULL);
	for (int i = 0; i < 10000; i++) {
		int64_t now = inclusive_of(&span);

		if (!CHECK(now >= last))
			break;
		last = now;
	}
	CHECK(last > 0);
	stand(&span);
	result = inclusive_of(&span);
	CHECK(result >= last);
	burn(2 * MS);
	CHECK_EQUAL(inclusive_of(&span), result);
	go_on(&span);
	result = stop(&span);
	burn(2 * MS);
	CHECK_EQUAL(inclusive_of(&span), result);
	CHECK_EQUAL(self_of(&span), result);
}

static void user_and_system_are_minus_one_unless_asked_for(void **state)
{
	struct cpuclock_span span;
	struct cpuclock_span_times times;

	(void)state;
	start(&span, NULL);
	stop(&span);
	times = times_of(&span);
	CHECK_EQUAL(times.self.user_ns, -1);
	CHECK_EQUAL(times.self.system_ns, -1);
	CHECK_EQUAL(times.inclusive.user_ns, -1);
	CHECK_EQUAL(times.inclusive.system_ns, -1);
}

#define CHECK_SUM(times)                                         \
	do {                                                     \
		CHECK((times).user_ns >= 0);                     \
		CHECK((times).system_ns >= 0);                   \
		CHECK_EQUAL((times).user_ns + (times).system_ns, \
			    (times).total_ns);                   \
	} while (0)

static struct cpuclock_times self_now(void)
{
	struct cpuclock_times times = {0, 0, 0};

	CHECK_EQUAL(cpuclock_self(&times), 0);
	return times;
}

static void user_and_system_are_those_of_the_clock(void **state)
{
	struct cpuclock_times outer, outer_end, inner, inner_end;
	struct cpuclock_span root, child;
	struct cpuclock_span_times got, part;

	(void)state;
	outer = self_now();
	CHECK_EQUAL(cpuclock_span_start(&root, NULL, CPUCLOCK_SPAN_SPLIT), 0);
	inner = self_now();
	for (int i = 0; i < 200; i++) {
		burn(MS / 10);
		/* A child counts both without being told. */
		start(&child, &root);
		spin();
		part = times_of(&child);
		CHECK_SUM(part.self);
		stop(&child);
		part = times_of(&child);
		CHECK_SUM(part.inclusive);
		part = times_of(&root);
		CHECK_SUM(part.self);
		CHECK_SUM(part.inclusive);
	}
	inner_end = self_now();
	stop(&root);
	outer_end = self_now();
	got = times_of(&root);
	CHECK_SUM(got.self);
	CHECK_SUM(got.inclusive);
	CHECK_WITHIN(got.inclusive.user_ns, inner_end.user_ns - inner.user_ns,
		     outer_end.user_ns - outer.user_ns);
	CHECK_WITHIN(got.inclusive.system_ns,
		     inner_end.system_ns - inner.system_ns,
		     outer_end.system_ns - outer.system_ns);
}

/* ---- Threads ------------------------------------------------------------- */

static void legs_on_many_threads_add_up_to_the_kernels_clocks(void **state)
{
	struct cpuclock_span span;
	int64_t kernel = kernel_ns();

	(void)state;
	start(&span, NULL);
	burn(10 * MS);
	stand(&span);
	kernel = kernel_ns() - kernel;
	for (int i = 0; i < 5; i++) {
		struct leg leg = {&span, (i + 1) * 4 * MS, 0};

		on_other_thread(run_leg, &leg);
		kernel += leg.kernel_ns;
	}
	CHECK_EQUAL(stop(&span), inclusive_of(&span));
	CHECK_WITHIN(inclusive_of(&span), kernel - 6 * TOLERANCE_NS,
		     kernel + 6 * TOLERANCE_NS);
	CHECK(inclusive_of(&span) >= 70 * MS - 6 * TOLERANCE_NS);
}

static void paused_span_is_stopped_and_read_on_any_thread(void **state)
{
	struct cpuclock_span span;
	int64_t before;

	(void)state;
	start(&span, NULL);
	spin();
	stand(&span);
	before = inclusive_of(&span);
	on_other_thread(stop_it, &span);
	CHECK_EQUAL(inclusive_of(&span), before);
}

/* ---- Nesting ------------------------------------------------------------- */

static void self_times_add_up_to_the_inclusive_time_of_the_root(void **state)
{
	struct cpuclock_span root, child, grandchild, second;
	int64_t kernel = kernel_ns();

	(void)state;
	start(&root, NULL);
	burn(4 * MS);
	start(&child, &root);
	burn(8 * MS);
	start(&grandchild, &child);
	burn(16 * MS);
	stop(&grandchild);
	burn(8 * MS);
	stop(&child);
	burn(4 * MS);
	start(&second, &root);
	burn(12 * MS);
	stop(&second);
	stop(&root);
	kernel = kernel_ns() - kernel;

	CHECK_EQUAL(inclusive_of(&grandchild), self_of(&grandchild));
	CHECK_EQUAL(inclusive_of(&child),
		    self_of(&child) + self_of(&grandchild));
	CHECK_EQUAL(inclusive_of(&root), self_of(&root) + self_of(&child) +
						 self_of(&grandchild) +
						 self_of(&second));
	CHECK_WITHIN(inclusive_of(&root), kernel - TOLERANCE_NS,
		     kernel + TOLERANCE_NS);
	/* Each got its own: the rest of the kernel's time is in the others. */
	CHECK_WITHIN(self_of(&root), 8 * MS - TOLERANCE_NS,
		     kernel - 44 * MS + TOLERANCE_NS);
	CHECK_WITHIN(self_of(&child), 16 * MS - TOLERANCE_NS,
		     kernel - 36 * MS + TOLERANCE_NS);
	CHECK_WITHIN(self_of(&grandchild), 16 * MS - TOLERANCE_NS,
		     kernel - 36 * MS + TOLERANCE_NS);
	CHECK_WITHIN(self_of(&second), 12 * MS - TOLERANCE_NS,
		     kernel - 40 * MS + TOLERANCE_NS);
}

static void covered_span_is_read_without_its_open_children(void **state)
{
	struct cpuclock_span root, child;
	int64_t before;

	(void)state;
	start(&root, NULL);
	spin();
	start(&child, &root);
	before = inclusive_of(&root);
	burn(2 * MS);
	CHECK_EQUAL(inclusive_of(&root), before);
	stop(&child);
	CHECK_WITHIN(inclusive_of(&root), before + inclusive_of(&child),
		     INT64_MAX);
	stop(&root);
	CHECK_EQUAL(inclusive_of(&root), self_of(&root) + inclusive_of(&child));
}

static void spans_nest_a_thousand_deep(void **state)
{
	static struct cpuclock_span spans[1000];
	int64_t sum = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++)
		start(&spans[i], i ? &spans[i - 1] : NULL);
	stand(&spans[0]);
	go_on(&spans[0]);
	for (size_t i = ARRAY_SIZE(spans); i-- > 0;) {
		stop(&spans[i]);
		sum += self_of(&spans[i]);
		CHECK_EQUAL(inclusive_of(&spans[i]), sum);
	}
}

static void *run_child(void *arg)
{
	struct cpuclock_span *parent = arg;
	struct cpuclock_span child;

	start(&child, parent);
	burn(30 * MS);
	stop(&child);
	return NULL;
}

static void child_on_another_thread_takes_nothing_from_its_parent(void **state)
{
	struct cpuclock_span root;
	pthread_t thread;
	int64_t before = kernel_ns(), used;

	(void)state;
	start(&root, NULL);
	assert_int_equal(pthread_create(&thread, NULL, run_child, &root), 0);
	burn(20 * MS);
	pthread_join(thread, NULL);
	stop(&root);
	used = kernel_ns() - before;
	CHECK_WITHIN(self_of(&root), used - TOLERANCE_NS, used + TOLERANCE_NS);
	CHECK_WITHIN(inclusive_of(&root) - self_of(&root),
		     30 * MS - TOLERANCE_NS, INT64_MAX);
}

#define N_CREW	 4
#define N_ROUNDS 500

struct crew {
	struct cpuclock_span *parent;
	atomic_llong sum_ns; /* of the children, inclusive */
	atomic_llong user_ns;
	bool is_split;
};

static void note_child(struct crew *crew, struct cpuclock_span *child)
{
	crew->sum_ns += stop(child);
	if (crew->is_split) {
		CHECK_SUM(times_of(child).inclusive);
		crew->user_ns += times_of(child).inclusive.user_ns;
	}
}

static void *run_crew(void *arg)
{
	struct crew *crew = arg;

	for (int i = 0; i < N_ROUNDS; i++) {
		struct cpuclock_span child, grandchild;

		start(&child, crew->parent);
		start(&grandchild, &child);
		spin();
		stop(&grandchild);
		if (i % 2)
			stand(&child);
		note_child(crew, &child);
	}
	return NULL;
}

/* The parent's thread uses the parent meanwhile, and nests spans in it. */
static void fan_out(unsigned int flags)
{
	struct cpuclock_span root, child;
	struct crew crew = {.parent = &root, .is_split = flags};
	pthread_t threads[N_CREW];
	struct cpuclock_span_times times;
	int64_t last = 0;

	CHECK_EQUAL(cpuclock_span_start(&root, NULL, flags), 0);
	for (int i = 0; i < N_CREW; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, run_crew, &crew), 0);
	for (int i = 0; i < N_ROUNDS; i++) {
		start(&child, &root);
		spin();
		note_child(&crew, &child);
		stand(&root);
		go_on(&root);
		times = times_of(&root);
		CHECK(times.inclusive.total_ns >= last);
		last = times.inclusive.total_ns;
		if (flags)
			CHECK_SUM(times.inclusive);
	}
	for (int i = 0; i < N_CREW; i++)
		pthread_join(threads[i], NULL);
	stop(&root);
	times = times_of(&root);
	CHECK_EQUAL(times.inclusive.total_ns,
		    times.self.total_ns + crew.sum_ns);
	if (flags) {
		CHECK_SUM(times.inclusive);
		CHECK_EQUAL(times.inclusive.user_ns,
			    times.self.user_ns + crew.user_ns);
	}
}

static void children_on_many_threads_at_once_add_up(void **state)
{
	(void)state;
	fan_out(0);
	fan_out(CPUCLOCK_SPAN_SPLIT);
}

/* As in a pool whose threads take up other work of a request while they wait.
 */
static void
sibling_started_on_top_of_a_sibling_is_not_counted_twice(void **state)
{
	struct cpuclock_span root, first, second;
	int64_t outer, inner;

	(void)state;
	start(&root, NULL);
	stand(&root);
	outer = own_ns();
	start(&first, &root);
	burn(4 * MS);
	start(&second, &root);
	inner = own_ns();
	burn(16 * MS);
	inner = own_ns() - inner;
	CHECK_EQUAL(cpuclock_span_stop(&first), -EBUSY);
	stop(&second);
	burn(4 * MS);
	stop(&first);
	outer = own_ns() - outer;
	CHECK(inclusive_of(&second) >= inner);
	CHECK(inclusive_of(&first) <= outer - inner);
	CHECK(inclusive_of(&first) >= 8 * MS - TOLERANCE_NS);
	go_on(&root);
	stop(&root);
	CHECK_EQUAL(inclusive_of(&root) - self_of(&root),
		    inclusive_of(&first) + inclusive_of(&second));
	CHECK(inclusive_of(&root) - self_of(&root) <= outer);
}

struct helper {
	struct cpuclock_span root;
	struct cpuclock_span task; /* of the root, on the other thread */
	struct cpuclock_span subtask;
	pthread_barrier_t barrier;
};

static void *run_task(void *arg)
{
	struct helper *helper = arg;

	start(&helper->task, &helper->root);
	burn(2 * MS);
	pthread_barrier_wait(&helper->barrier);
	pthread_barrier_wait(&helper->barrier);
	stop(&helper->task);
	return NULL;
}

static void
grandchild_that_its_roots_thread_helps_with_goes_on_top(void **state)
{
	struct helper helper;
	pthread_t thread;
	int64_t outer = own_ns();

	(void)state;
	pthread_barrier_init(&helper.barrier, NULL, 2);
	start(&helper.root, NULL);
	assert_int_equal(pthread_create(&thread, NULL, run_task, &helper), 0);
	pthread_barrier_wait(&helper.barrier);
	/* Of a span that runs on another thread, and below it the root here. */
	start(&helper.subtask, &helper.task);
	burn(10 * MS);
	CHECK_EQUAL(cpuclock_span_stop(&helper.root), -EBUSY);
	stop(&helper.subtask);
	pthread_barrier_wait(&helper.barrier);
	pthread_join(thread, NULL);
	stop(&helper.root);
	outer = own_ns() - outer;
	CHECK(self_of(&helper.root) + self_of(&helper.subtask) <= outer);
	CHECK_EQUAL(inclusive_of(&helper.root),
		    self_of(&helper.root) + self_of(&helper.task) +
			    self_of(&helper.subtask));
	pthread_barrier_destroy(&helper.barrier);
}

static void spans_of_different_trees_each_count(void **state)
{
	struct cpuclock_span outer, inner;
	int64_t inside;

	(void)state;
	start(&outer, NULL);
	start(&inner, NULL);
	inside = own_ns();
	burn(5 * MS);
	inside = own_ns() - inside;
	/* In any order. */
	stop(&outer);
	stop(&inner);
	CHECK(inclusive_of(&outer) >= inside);
	CHECK(inclusive_of(&inner) >= inside);
}

static void trees_beyond_what_a_thread_remembers_still_nest(void **state)
{
	struct cpuclock_span roots[20], children[20], grandchildren[20];
	size_t n = ARRAY_SIZE(roots);
	int64_t before, inside;

	(void)state;
	for (size_t i = 0; i < n; i++)
		start(&roots[i], NULL);
	for (size_t i = 0; i < n; i++)
		start(&children[i], &roots[i]);
	for (size_t i = 0; i < n; i++) {
		before = self_of(&roots[i]);
		start(&grandchildren[i], &children[i]);
		inside = own_ns();
		burn(MS);
		inside = own_ns() - inside;
		CHECK_EQUAL(self_of(&roots[i]), before);
		CHECK_EQUAL(cpuclock_span_stop(&children[i]), -EBUSY);
		stop(&grandchildren[i]);
		CHECK(inclusive_of(&grandchildren[i]) >= inside);
	}
	for (size_t i = 0; i < n; i++) {
		stop(&children[i]);
		stop(&roots[i]);
		CHECK_EQUAL(inclusive_of(&roots[i]),
			    self_of(&roots[i]) + self_of(&children[i]) +
				    self_of(&grandchildren[i]));
	}
}

static void trees_that_ended_are_forgotten_before_one_that_runs(void **state)
{
	struct cpuclock_span root, first, second, other;

	(void)state;
	start(&root, NULL);
	stand(&root);
	start(&first, &root);
	for (int i = 0; i < 20; i++) {
		start(&other, NULL);
		stop(&other);
	}
	start(&second, &root);
	CHECK_EQUAL(cpuclock_span_stop(&first), -EBUSY);
	stop(&second);
	stop(&first);
	stop(&root);
}

static void pausing_a_child_lets_its_parent_go_on(void **state)
{
	struct cpuclock_span root, child;
	int64_t paused, before;

	(void)state;
	start(&root, NULL);
	start(&child, &root);
	spin();
	stand(&child);
	before = self_of(&root);
	paused = own_ns();
	burn(5 * MS);
	paused = own_ns() - paused;
	CHECK(self_of(&root) >= before + paused);
	go_on(&child);
	before = self_of(&root);
	burn(2 * MS);
	CHECK_EQUAL(self_of(&root), before);
	stop(&child);
	stop(&root);
}

static void *run_deep_leg(void *arg)
{
	struct cpuclock_span *spans = arg;
	int64_t self = self_of(&spans[0]), middle = self_of(&spans[1]);
	int64_t inside;

	go_on(&spans[0]);
	inside = own_ns();
	burn(6 * MS);
	inside = own_ns() - inside;
	/* Only the one on top counts, as before. */
	CHECK_EQUAL(self_of(&spans[0]), self);
	CHECK_EQUAL(self_of(&spans[1]), middle);
	CHECK(self_of(&spans[2]) >= inside);
	stop(&spans[2]);
	burn(MS);
	CHECK(self_of(&spans[1]) > middle);
	stand(&spans[0]);
	return NULL;
}

static void pausing_a_root_moves_all_that_is_on_top_of_it(void **state)
{
	struct cpuclock_span spans[3];
	int64_t paused;

	(void)state;
	start(&spans[0], NULL);
	start(&spans[1], &spans[0]);
	start(&spans[2], &spans[1]);
	spin();
	stand(&spans[0]);
	paused = self_of(&spans[2]);
	burn(2 * MS);
	CHECK_EQUAL(self_of(&spans[2]), paused);

	/* They are paused as one. */
	CHECK_EQUAL(cpuclock_span_pause(&spans[0]), -EALREADY);
	CHECK_EQUAL(cpuclock_span_pause(&spans[2]), -EALREADY);
	CHECK_EQUAL(cpuclock_span_resume(&spans[2]), -EBUSY);
	CHECK_EQUAL(cpuclock_span_resume(&spans[1]), -EBUSY);
	CHECK_EQUAL(cpuclock_span_stop(&spans[2]), -EBUSY);
	CHECK_EQUAL(cpuclock_span_stop(&spans[1]), -EBUSY);
	CHECK_EQUAL(cpuclock_span_stop(&spans[0]), -EBUSY);

	on_other_thread(run_deep_leg, spans);
	go_on(&spans[0]);
	stop(&spans[1]);
	stop(&spans[0]);
	CHECK_EQUAL(inclusive_of(&spans[0]), self_of(&spans[0]) +
						     self_of(&spans[1]) +
						     self_of(&spans[2]));
}

static void *go_on_beside(void *arg)
{
	struct cpuclock_span *child = arg;

	go_on(child);
	burn(5 * MS);
	stop(child);
	return NULL;
}

static void
child_that_began_on_its_parents_thread_may_end_on_another(void **state)
{
	struct cpuclock_span root, child;
	pthread_t thread;

	(void)state;
	start(&root, NULL);
	start(&child, &root);
	spin();
	stand(&child);
	assert_int_equal(pthread_create(&thread, NULL, go_on_beside, &child),
			 0);
	burn(5 * MS);
	pthread_join(thread, NULL);
	stop(&root);
	CHECK(inclusive_of(&child) >= 5 * MS - TOLERANCE_NS);
	CHECK_EQUAL(inclusive_of(&root), self_of(&root) + inclusive_of(&child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(span_counts_what_the_kernel_counts),
		TEST(span_is_what_the_clock_says_between_its_ends),
		TEST(sleep_is_not_counted),
		TEST(pause_is_not_counted),
		TEST(read_follows_the_clock_and_the_result_stays),
		TEST(user_and_system_are_minus_one_unless_asked_for),
		TEST(user_and_system_are_those_of_the_clock),
		TEST(legs_on_many_threads_add_up_to_the_kernels_clocks),
		TEST(paused_span_is_stopped_and_read_on_any_thread),
		TEST(self_times_add_up_to_the_inclusive_time_of_the_root),
		TEST(covered_span_is_read_without_its_open_children),
		TEST(spans_nest_a_thousand_deep),
		TEST(child_on_another_thread_takes_nothing_from_its_parent),
		TEST(children_on_many_threads_at_once_add_up),
		TEST(sibling_started_on_top_of_a_sibling_is_not_counted_twice),
		TEST(grandchild_that_its_roots_thread_helps_with_goes_on_top),
		TEST(spans_of_different_trees_each_count),
		TEST(trees_beyond_what_a_thread_remembers_still_nest),
		TEST(trees_that_ended_are_forgotten_before_one_that_runs),
		TEST(pausing_a_child_lets_its_parent_go_on),
		TEST(pausing_a_root_moves_all_that_is_on_top_of_it),
		TEST(child_that_began_on_its_parents_thread_may_end_on_another),
	};

	return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
