/* SPDX-License-Identifier: MIT */
/*
 * Epochs that lie: they are refused, or found out before they do harm.
 *
 * Public reports: google/tcmalloc #292 (rseq changed its meaning in Linux 6.19;
 * another user of rseq must be lived with).
 */
#include "fasttest.h"

#include <linux/filter.h>
#include <linux/rseq.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/rseq.h>

/* ---- Epochs made for the purpose --------------------------------------------
 */

static __thread volatile uint64_t fake_word;
static _Atomic uint64_t arms;
static bool lies;

static const struct cpuclock__verdict *fake_probe(void)
{
	return &cpuclock__works;
}

static cpuclock__epoch_word *fake_attach(void)
{
	return &fake_word;
}

static void fake_detach(cpuclock__epoch_word *word)
{
	(void)word;
}

static void fake_forget(cpuclock__epoch_word *word, bool in_call)
{
	(void)word;
	(void)in_call;
}

static uint64_t arm_never_changing(cpuclock__epoch_word *word)
{
	(void)word;
	return fake_word;
}

static uint64_t arm_always_changing(cpuclock__epoch_word *word)
{
	(void)word;
	return fake_word - ++arms;
}

static const struct cpuclock__epoch blind = {
	.name = "fast:blind",
	.probe = fake_probe,
	.attach = fake_attach,
	.detach = fake_detach,
	.forget = fake_forget,
	.arm = arm_never_changing,
};

static const struct cpuclock__epoch jumpy = {
	.name = "fast:jumpy",
	.probe = fake_probe,
	.attach = fake_attach,
	.detach = fake_detach,
	.forget = fake_forget,
	.arm = arm_always_changing,
};

/*
 * Honest until told to lie: the word is that of rseq or perf, and then one that
 * never changes.
 */
static const struct cpuclock__epoch *honest;
static __thread cpuclock__epoch_word *honest_word;

static cpuclock__epoch_word *attach_liar(void)
{
	honest_word = honest->attach();
	if (!honest_word)
		return NULL;
	return lies ? &fake_word : honest_word;
}

static void detach_liar(cpuclock__epoch_word *word)
{
	(void)word;
	honest->detach(honest_word);
}

static void forget_liar(cpuclock__epoch_word *word, bool in_call)
{
	if (word == honest_word)
		honest->forget(word, in_call);
}

static uint64_t arm_liar(cpuclock__epoch_word *word)
{
	return word == &fake_word ? fake_word : honest->arm(word);
}

static const struct cpuclock__epoch liar = {
	.name = "fast:liar",
	.probe = fake_probe,
	.attach = attach_liar,
	.detach = detach_liar,
	.forget = forget_liar,
	.arm = arm_liar,
};

static void use_liar(void **state)
{
	honest = need_epoch(state);
	lies = false;
	fake_word = 0;
	assert_int_equal(cpuclock__epoch_use(&liar)->status, 0);
	lies = true;
}

/* ---- Refused
 * -----------------------------------------------------------------
 */

static void assert_answers_by_system_call(void)
{
	int64_t before = kernel_ns();
	int64_t answer = cpuclock_total();

	assert_true(answer >= before && answer <= kernel_ns());
	assert_string_equal(cpuclock_self_source(), "self");
	assert_int_not_equal(reads_without_call(), 1);
}

static void need_counter(void **state)
{
	(void)state;
	cpuclock__epoch_use(NULL);
	if (!epoch_name())
		SKIP("no epoch at all here: %s",
		     cpuclock__epoch_verdict()->why);
}

static void epoch_that_never_changes_is_refused(void **state)
{
	const struct cpuclock__verdict *verdict;

	need_counter(state);
	verdict = cpuclock__epoch_use(&blind);
	printf("# %s\n", verdict->why);
	assert_true(verdict->status < 0);
	assert_non_null(strstr(verdict->why, "slept"));
	assert_answers_by_system_call();
}

static void epoch_that_changes_at_each_call_is_refused(void **state)
{
	const struct cpuclock__verdict *verdict;

	need_counter(state);
	verdict = cpuclock__epoch_use(&jumpy);
	printf("# %s\n", verdict->why);
	assert_true(verdict->status < 0);
	assert_non_null(strstr(verdict->why, "every system call"));
	assert_answers_by_system_call();
}

/* ---- Found out later
 * ---------------------------------------------------------
 */

/* Until the epoch is off: what it billed, and when. */
static void be_lied_to(struct errors *errors, bool with_self)
{
	struct cpuclock_times times;
	int i;

	for (i = 0; i < 2000 && epoch_name(); i++) {
		take_error(errors);
		sleep_us(300);
		take_error(errors);
		if (with_self)
			cpuclock_self(&times);
	}
	printf("# found out after %d sleeps\n", i);
	report_errors("liar", errors);
	assert_null(epoch_name());
	assert_true(i < 100);
}

static void assert_is_found_out(bool with_self)
{
	struct cpuclock_source_info info;
	struct errors errors = {0};
	int i;

	be_lied_to(&errors, with_self);
	assert_int_equal(errors.backward, 0);
	assert_true(errors.worst_ns <= WINDOW_NS + NOISE_NS);
	/* On a busy machine each sleep can outlast the window. */
	if (errors.worst_ns <= NOISE_NS)
		printf("# it told no lie: the sleeps were too long\n");

	assert_int_equal(cpuclock_source_info("fast", &info), 0);
	printf("# %s\n", info.why);
	assert_true(info.status < 0);
	assert_non_null(strstr(info.why, "turned off"));
	assert_string_equal(cpuclock_self_source(), "self");

	/* The clock catches up with what was billed too much, and is right. */
	spin_us(2 * WINDOW_NS / 1000);
	errors = (struct errors){0};
	for (i = 0; i < 100; i++) {
		sleep_us(300);
		take_error(&errors);
	}
	report_errors("afterwards", &errors);
	assert_int_equal(errors.ahead, 0);
	assert_int_equal(errors.backward, 0);
	assert_int_not_equal(reads_without_call(), 1);
}

static void liar_is_found_out_by_reads_of_total(void **state)
{
	use_liar(state);
	assert_is_found_out(false);
}

static void liar_is_found_out_by_reads_of_all(void **state)
{
	use_liar(state);
	assert_is_found_out(true);
}

static void child_of_fork_knows_that_it_was_lied_to(void **state)
{
	struct errors errors = {0};
	int status;
	pid_t pid;

	use_liar(state);
	be_lied_to(&errors, true);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		errors = (struct errors){0};
		take_error(&errors);
		take_error(&errors);
		_exit(epoch_name() || errors.ahead || errors.backward);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A kernel that can be asked to lie: its events stand still from then on. */
static void events_that_are_switched_off_are_found_out(void **state)
{
	struct errors errors = {0};
	int i;

	if (need_epoch(state) != &cpuclock__epoch_perf)
		SKIP("rseq cannot be switched off");
	get_fast();
	if (prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0) != 0)
		SKIP("prctl(2): %s", strerror(errno));
	for (i = 0; i < 2000 && epoch_name(); i++) {
		take_error(&errors);
		sleep_us(300);
		take_error(&errors);
	}
	prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0);
	report_errors("events off", &errors);
	assert_null(epoch_name());
	assert_true(errors.worst_ns <= WINDOW_NS + NOISE_NS);
	assert_int_equal(errors.backward, 0);
}

/* ---- Found out by another thread while this one reads -----------------------
 */

static atomic_bool epoch_is_off;

static void *find_out(void *unused)
{
	struct cpuclock_times times;

	(void)unused;
	while (epoch_name()) {
		cpuclock_self(&times);
		sleep_us(300);
	}
	epoch_is_off = true;
	return NULL;
}

static __thread bool waits_in_attach;

/* The epoch is turned off right when a thread is given its word. */
static cpuclock__epoch_word *attach_and_wait(void)
{
	if (waits_in_attach) {
		while (!epoch_is_off)
			sleep_us(100);
	}
	return attach_liar();
}

static void epoch_turned_off_within_a_read_leaves_its_answer_right(void **state)
{
	struct cpuclock__epoch slow_liar = liar;
	struct cpuclock_times times;
	int64_t before, answer;
	pthread_t thread;

	honest = need_epoch(state);
	slow_liar.attach = attach_and_wait;
	waits_in_attach = lies = false;
	assert_int_equal(cpuclock__epoch_use(&slow_liar)->status, 0);
	lies = waits_in_attach = true;
	epoch_is_off = false;
	assert_int_equal(pthread_create(&thread, NULL, find_out, NULL), 0);
	before = kernel_ns();
	answer = cpuclock_total();
	assert_true(epoch_is_off);
	assert_in_range(answer, before, kernel_ns());
	before = kernel_ns();
	assert_int_equal(cpuclock_self(&times), 0);
	assert_in_range(times.total_ns, before, kernel_ns());
	pthread_join(thread, NULL);
	cpuclock__epoch_use(NULL);
}

/* Threads read while the epoch is turned off, time and again. */
static void *read_until_off(void *result)
{
	struct errors errors = {0};

	while (epoch_name()) {
		take_error(&errors);
		take_error(&errors);
		sched_yield();
	}
	take_error(&errors);
	*(bool *)result =
		errors.backward == 0 && errors.worst_ns <= WINDOW_NS + NOISE_NS;
	return NULL;
}

static void epoch_may_be_turned_off_while_threads_read(void **state)
{
	bool right[3];
	pthread_t threads[ARRAY_SIZE(right)];
	size_t i;
	int round;

	for (round = 0; round < 20; round++) {
		cpuclock__epoch_use(*state);
		use_liar(state);
		for (i = 0; i < ARRAY_SIZE(right); i++)
			pthread_create(&threads[i], NULL, read_until_off,
				       &right[i]);
		find_out(NULL);
		for (i = 0; i < ARRAY_SIZE(right); i++) {
			pthread_join(threads[i], NULL);
			assert_true(right[i]);
		}
	}
}

/* ---- The clock refused from some time on
 * --------------------------------------- */

static bool refuse_clock_gettime(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_SIZE(filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* A call that fails begins an epoch: the anchor before it must not hold in it.
 */
static int read_when_refused(void)
{
	int64_t before;
	int i;

	if (!gets_fast() || !refuse_clock_gettime())
		return 77;
	for (i = 0; i < 50; i++)
		before = cpuclock_total();
	sleep_us(300);
	for (i = 0; i < 10; i++) {
		int64_t now = cpuclock_total();

		/* Less is a failure, as is due; more has the sleep in it. */
		if (before >= 0 && now - before > 200000)
			return 1;
	}
	return cpuclock_total() == -EPERM ? 0 : 2;
}

static void failed_read_makes_no_old_anchor_good(void **state)
{
	int status;
	pid_t pid;

	need_epoch(state);
	if (UNDER_ASAN || UNDER_TSAN)
		SKIP("the sanitizer needs the clock");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(read_when_refused());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no seccomp filter may be set");
	assert_int_equal(status, 0);
}

/* ---- Another user of rseq
 * -----------------------------------------------------
 */

#ifdef RSEQ_SIG

/* A descriptor as librseq and tcmalloc have them: of a section elsewhere. */
static struct {
	struct rseq_cs descriptor;
	uint32_t signature;
	char abort[4];
} other __attribute__((aligned(32)));

static volatile uint64_t *rseq_word(void)
{
	return (volatile uint64_t *)((char *)__builtin_thread_pointer() +
				     __rseq_offset +
				     offsetof(struct rseq, rseq_cs));
}

static void other_user_of_rseq_does_no_harm(void **state)
{
	struct errors errors = {0};
	unsigned int seed = 1;
	int i;

	if (need_epoch(state) != &cpuclock__epoch_rseq)
		SKIP("rseq is not in use here");
	other.signature = RSEQ_SIG;
	other.descriptor.start_ip = (uintptr_t)other.abort;
	other.descriptor.abort_ip = (uintptr_t)other.abort;
	get_fast();
	for (i = 0; i < 20000; i++) {
		switch (rand_r(&seed) % 4) {
		case 0:
			*rseq_word() = (uintptr_t)&other.descriptor;
			break;
		case 1:
			*rseq_word() = 0;
			break;
		case 2:
			if (i % 8 == 0)
				sleep_us(100);
			break;
		}
		take_error(&errors);
	}
	*rseq_word() = 0;
	report_errors("two users", &errors);
	assert_true(errors_are_noise(&errors, 20000));
	assert_non_null(epoch_name());
	get_fast();
}

#else

static void other_user_of_rseq_does_no_harm(void **state)
{
	(void)state;
	SKIP("libc knows nothing of rseq");
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epoch_that_never_changes_is_refused),
		cmocka_unit_test(epoch_that_changes_at_each_call_is_refused),
		FOR_EACH_EPOCH(liar_is_found_out_by_reads_of_total),
		FOR_EACH_EPOCH(liar_is_found_out_by_reads_of_all),
		FOR_EACH_EPOCH(child_of_fork_knows_that_it_was_lied_to),
		FOR_EACH_EPOCH(events_that_are_switched_off_are_found_out),
		FOR_EACH_EPOCH(
			epoch_turned_off_within_a_read_leaves_its_answer_right),
		FOR_EACH_EPOCH(epoch_may_be_turned_off_while_threads_read),
		FOR_EACH_EPOCH(failed_read_makes_no_old_anchor_good),
		FOR_EACH_EPOCH(other_user_of_rseq_does_no_harm),
	};

	return cmocka_run_group_tests_name("fast_liar", tests, NULL, NULL);
}
