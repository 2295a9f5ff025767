/* SPDX-License-Identifier: MIT */
/*
 * Many threads: a storm of short-lived ones whose TIDs others read; handles
 * that are shared; sources asked for the first time by all at once; and no
 * descriptor left.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpuclock.h"
#include "support.h"

static bool works(const char *source)
{
	struct cpuclock_source_info info;

	return !cpuclock_source_info(source, &info) && !info.status;
}

/* ---- First use ----------------------------------------------------------- */

/*
 * A limit so low that the next descriptor is refused. Those above it stay
 * open, and are what it was before when it is lifted.
 */
static struct rlimit limit_before;
static bool limit_is_low;

static int lift_limit(void **state)
{
	(void)state;
	if (!limit_is_low)
		return 0;
	limit_is_low = false;
	return setrlimit(RLIMIT_NOFILE, &limit_before);
}

static int lower_limit(void)
{
	struct rlimit limit;
	int free_fd = dup(0);

	if (free_fd < 0 || getrlimit(RLIMIT_NOFILE, &limit_before))
		return -1;
	close(free_fd);
	limit = limit_before;
	limit.rlim_cur = (rlim_t)free_fd;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	limit_is_low = true;
	return 0;
}

static int open_and_close(const char *source)
{
	struct cpuclock *clock;
	int r;

	r = cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL, source, &clock);
	if (!r)
		cpuclock_close(clock);
	return r;
}

/*
 * That no descriptor is left for a moment is no fact about the machine: the
 * answer to the first question must not be kept for the life of the process.
 * In a child, where no source has been asked for yet.
 */
static void source_first_asked_for_without_descriptors_recovers(void **state)
{
	static const char *const sources[] = {"proc", "schedstat"};
	pid_t pid = fork();
	int status;
	size_t i;

	(void)state;
	if (!pid) {
		if (lower_limit())
			_exit(64);
		status = 0;
		for (i = 0; i < ARRAY_SIZE(sources); i++)
			status |= open_and_close(sources[i]) != -EMFILE;
		lift_limit(NULL);
		for (i = 0; i < ARRAY_SIZE(sources); i++)
			status |= open_and_close(sources[i]) ? 2 << i : 0;
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!works("proc") || !works("schedstat"))
		skip_because("/proc is not here");
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) & 1)
		fail_msg("the first answer is not EMFILE");
	if (WEXITSTATUS(status))
		fail_msg("later answers are no better (%d)",
			 WEXITSTATUS(status));
}

#define N_ASKERS 8

static pthread_barrier_t barrier;

static bool is_as_said(const char *source)
{
	struct cpuclock_source_info info;

	return !cpuclock_source_info(source, &info) &&
	       open_and_close(source) == info.status;
}

static void *ask_all(void *ret)
{
	const char *source;
	int *wrong = ret;
	size_t i;

	pthread_barrier_wait(&barrier);
	for (i = 0; (source = cpuclock_source_at(i)); i++) {
		/* Where the self-test was disturbed, fast is tried again, and
		 * its answer can come in between. */
		if (!is_as_said(source) && !is_as_said(source))
			++*wrong;
	}
	if (!cpuclock_best_source(CPUCLOCK_SELF, CPUCLOCK_TOTAL))
		++*wrong;
	return NULL;
}

static void sources_first_asked_for_by_all_at_once_answer_alike(void **state)
{
	pthread_t threads[N_ASKERS];
	int wrong[N_ASKERS] = {0};
	size_t i;

	(void)state;
	pthread_barrier_init(&barrier, NULL, N_ASKERS);
	for (i = 0; i < N_ASKERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, ask_all, &wrong[i]),
			0);
	for (i = 0; i < N_ASKERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	for (i = 0; i < N_ASKERS; i++)
		assert_int_equal(wrong[i], 0);
}

/* ---- No descriptor left -------------------------------------------------- */

#define N_SOURCES_MAX 16

struct opened {
	const char *source;
	struct cpuclock *clock;
	bool by_descriptor;
};

static size_t open_all(struct opened opened[N_SOURCES_MAX])
{
	const char *source;
	size_t n = 0, i;

	for (i = 0; (source = cpuclock_source_at(i)); i++) {
		if (!works(source) || n == N_SOURCES_MAX)
			continue;
		opened[n].source = source;
		opened[n].by_descriptor = strcmp(source, "proc") == 0 ||
					  strcmp(source, "schedstat") == 0;
		assert_int_equal(cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL,
					       source, &opened[n].clock),
				 0);
		n++;
	}
	return n;
}

static void no_descriptor_left_is_emfile_until_there_is_one(void **state)
{
	struct opened opened[N_SOURCES_MAX];
	size_t n = open_all(opened);
	size_t i;

	(void)state;
	assert_int_equal(lower_limit(), 0);
	for (i = 0; i < n; i++) {
		int64_t ns = cpuclock_read(opened[i].clock);
		int r = open_and_close(opened[i].source);

		if (opened[i].by_descriptor) {
			assert_int_equal(ns, -EMFILE);
			assert_int_equal(r, -EMFILE);
		} else {
			assert_true(ns >= 0);
			assert_int_equal(r, 0);
		}
	}
	assert_true(cpuclock_total() > 0);
	assert_true(cpuclock_user() >= 0);
	assert_true(cpuclock_system() >= 0);
	lift_limit(NULL);
	for (i = 0; i < n; i++) {
		assert_true(cpuclock_read(opened[i].clock) >= 0);
		assert_int_equal(open_and_close(opened[i].source), 0);
		cpuclock_close(opened[i].clock);
	}
}

/* ---- One handle, many readers -------------------------------------------- */

#define N_SHARERS 4

struct sharer {
	pthread_t thread;
	const struct opened *opened;
	size_t n;
	long wrong;
};

static void *read_shared(void *arg)
{
	struct sharer *sharer = arg;
	int64_t last[N_SOURCES_MAX] = {0};
	size_t i, round;

	for (round = 0; round < 2000; round++) {
		for (i = 0; i < sharer->n; i++) {
			int64_t ns = cpuclock_read(sharer->opened[i].clock);

			sharer->wrong += ns < last[i];
			last[i] = ns;
		}
	}
	return NULL;
}

static void handle_may_be_read_by_many_at_a_time(void **state)
{
	struct opened opened[N_SOURCES_MAX];
	struct sharer sharers[N_SHARERS];
	const char *source;
	size_t n = 0, i;

	(void)state;
	/* Of this thread for all of them, and of whoever reads. */
	for (i = 0; (source = cpuclock_source_at(i)); i++) {
		if (n + 2 <= N_SOURCES_MAX &&
		    !cpuclock_open(CPUCLOCK_THREAD, (pid_t)syscall(SYS_gettid),
				   CPUCLOCK_TOTAL, source, &opened[n].clock))
			n++;
		if (n + 2 <= N_SOURCES_MAX &&
		    !cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL, source,
				   &opened[n].clock))
			n++;
	}
	assert_true(n > 0);
	for (i = 0; i < N_SHARERS; i++) {
		sharers[i] = (struct sharer){.opened = opened, .n = n};
		assert_int_equal(pthread_create(&sharers[i].thread, NULL,
						read_shared, &sharers[i]),
				 0);
	}
	for (i = 0; i < N_SHARERS; i++)
		pthread_join(sharers[i].thread, NULL);
	for (i = 0; i < N_SHARERS; i++)
		assert_int_equal(sharers[i].wrong, 0);
	while (n)
		cpuclock_close(opened[--n].clock);
}

/* ---- The storm ----------------------------------------------------------- */

#define N_READERS   2
#define N_AT_A_TIME 8
#define WARM_UP	    400
#define N_SHORT	    (WITH_THREAD_SANITIZER ? 2000 : 10000)
#define OLD_NS	    (300 * NS_PER_MS)

static const char *const storm_sources[] = {"posix", "proc", "schedstat"};

#define N_STORM_SOURCES ARRAY_SIZE(storm_sources)

/* How a source answered for threads that may end at any time. */
struct tally {
	long opened, open_esrch, open_wrong;
	long read, read_esrch, read_wrong;
	int64_t max_ns;
	int64_t wrong; /* the first wrong answer */
};

struct reader {
	pthread_t thread;
	struct tally tallies[N_STORM_SOURCES];
};

static struct {
	bool here[N_STORM_SOURCES];
	pid_t tids[N_AT_A_TIME];
	int stop;
	int64_t max_ns; /* what a short thread says it had at its end */
} storm;

static void count_open(struct tally *tally, int r)
{
	if (!r)
		tally->opened++;
	else if (r == -ESRCH)
		tally->open_esrch++;
	else if (!tally->open_wrong++)
		tally->wrong = r;
}

static void count_read(struct tally *tally, int64_t ns)
{
	if (ns >= 0)
		tally->read++;
	else if (ns == -ESRCH)
		tally->read_esrch++;
	else if (!tally->read_wrong++)
		tally->wrong = ns;
	if (ns > tally->max_ns)
		tally->max_ns = ns;
}

static void ask_for_thread(struct tally *tally, enum cpuclock_target target,
			   pid_t tid, const char *source)
{
	struct cpuclock *clock;
	int64_t ns = 0;
	int r, i;

	r = cpuclock_open(target, tid, CPUCLOCK_TOTAL, source, &clock);
	count_open(tally, r);
	if (r)
		return;
	/* For as long as it lives, mostly. */
	for (i = 0; i < 20 && ns >= 0; i++) {
		ns = cpuclock_read(clock);
		count_read(tally, ns);
	}
	cpuclock_close(clock);
}

static void *read_in_the_storm(void *arg)
{
	struct reader *reader = arg;
	size_t i, source;

	/* So that its own time is told from that of a short thread. */
	burn_user(OLD_NS);
	for (i = 0; !__atomic_load_n(&storm.stop, __ATOMIC_ACQUIRE); i++) {
		pid_t tid = __atomic_load_n(&storm.tids[i % N_AT_A_TIME],
					    __ATOMIC_ACQUIRE);

		for (source = 0; tid && source < N_STORM_SOURCES; source++) {
			enum cpuclock_target target = i % 2 && source
							      ? CPUCLOCK_FOREIGN
							      : CPUCLOCK_THREAD;

			if (storm.here[source])
				ask_for_thread(&reader->tallies[source], target,
					       tid, storm_sources[source]);
		}
	}
	return NULL;
}

static void *be_short(void *slot)
{
	int64_t ns, max;
	int i;

	__atomic_store_n((pid_t *)slot, (pid_t)syscall(SYS_gettid),
			 __ATOMIC_RELEASE);
	/* Let the readers see it alive. */
	sched_yield();
	for (i = 0; i < 4; i++)
		spin();
	sched_yield();
	ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
	max = __atomic_load_n(&storm.max_ns, __ATOMIC_RELAXED);
	while (ns > max &&
	       !__atomic_compare_exchange_n(&storm.max_ns, &max, ns, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return NULL;
}

static bool run_short_threads(int count)
{
	pthread_t threads[N_AT_A_TIME];
	int i;

	memset(threads, 0, sizeof(threads));
	for (i = 0; i < count + N_AT_A_TIME; i++) {
		int slot = i % N_AT_A_TIME;

		if (i >= N_AT_A_TIME) {
			pthread_join(threads[slot], NULL);
			/* Gone, or about to be: some go on asking for it. */
			if (slot)
				__atomic_store_n(&storm.tids[slot], 0,
						 __ATOMIC_RELEASE);
		}
		if (i < count && pthread_create(&threads[slot], NULL, be_short,
						&storm.tids[slot]))
			return false;
	}
	return true;
}

static bool run_storm(struct reader readers[N_READERS], int count)
{
	bool ok = true;
	size_t i;

	memset(storm.tids, 0, sizeof(storm.tids));
	storm.stop = 0;
	for (i = 0; i < N_READERS; i++)
		ok &= !pthread_create(&readers[i].thread, NULL,
				      read_in_the_storm, &readers[i]);
	ok = ok && run_short_threads(count);
	__atomic_store_n(&storm.stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < N_READERS; i++)
		pthread_join(readers[i].thread, NULL);
	return ok;
}

/* What a process holds, to be compared before and after. */
struct holdings {
	long descriptors;
	long mappings; /* -1 if it cannot be told */
	long bytes;    /* -1 if it cannot be told */
};

static long count_descriptors(void)
{
	long count = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static long count_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	long count = 0;
	int c;

	if (!file)
		return -1;
	while ((c = getc(file)) != EOF)
		count += c == '\n';
	fclose(file);
	return count;
}

static long count_bytes(void)
{
#if defined(__GLIBC__) && !WITH_ADDRESS_SANITIZER && !WITH_THREAD_SANITIZER
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();

	return (long)(info.uordblks + info.hblkhd);
#endif
#endif
	return -1;
}

static struct holdings look_at_holdings(void)
{
	struct holdings holdings = {count_descriptors(), count_mappings(),
				    count_bytes()};

	return holdings;
}

static void assert_nothing_leaked(const struct holdings *before)
{
	struct holdings after = look_at_holdings();

	print_message("# descriptors %ld to %ld, mappings %ld to %ld, "
		      "malloc %ld to %ld bytes\n",
		      before->descriptors, after.descriptors, before->mappings,
		      after.mappings, before->bytes, after.bytes);
	if (before->bytes < 0)
		print_message("# SKIP memory because malloc is a sanitizer's, "
			      "or older than mallinfo2\n");
	if (before->mappings < 0)
		print_message("# SKIP mappings because there is no "
			      "/proc/self/maps\n");
	assert_int_equal(after.descriptors, before->descriptors);
	/* Stacks that libc keeps, two mappings each, and arenas of malloc. */
	if (!WITH_THREAD_SANITIZER)
		assert_true(after.mappings <=
			    before->mappings + 2L * (N_AT_A_TIME + N_READERS));
	assert_true(after.bytes <= before->bytes + 64L * 1024);
}

static void add_tally(struct tally *sum, const struct tally *tally)
{
	sum->opened += tally->opened;
	sum->open_esrch += tally->open_esrch;
	sum->open_wrong += tally->open_wrong;
	sum->read += tally->read;
	sum->read_esrch += tally->read_esrch;
	sum->read_wrong += tally->read_wrong;
	if (tally->max_ns > sum->max_ns)
		sum->max_ns = tally->max_ns;
	if (!sum->wrong)
		sum->wrong = tally->wrong;
}

static bool is_right(size_t source, const struct tally *tally)
{
	print_message("# %s: open %ld, ESRCH %ld, wrong %ld; read %ld, ESRCH "
		      "%ld, wrong %ld; at most %lld ns\n",
		      storm_sources[source], tally->opened, tally->open_esrch,
		      tally->open_wrong, tally->read, tally->read_esrch,
		      tally->read_wrong, (long long)tally->max_ns);
	if (tally->wrong)
		print_error("%s: first wrong answer: %lld\n",
			    storm_sources[source], (long long)tally->wrong);
	/* Some for the way out of the thread; less than anyone else has. */
	return !tally->open_wrong && !tally->read_wrong && tally->read &&
	       tally->max_ns <= storm.max_ns + 10 * NS_PER_MS;
}

static void threads_that_come_and_go_are_read_or_gone(void **state)
{
	static struct reader readers[N_READERS];
	struct tally sum;
	struct holdings before;
	bool right = true;
	size_t i, j;

	(void)state;
	for (i = 0; i < N_STORM_SOURCES; i++) {
		storm.here[i] = works(storm_sources[i]);
		if (!storm.here[i])
			print_message("# SKIP %s because it does not work "
				      "here\n",
				      storm_sources[i]);
	}
	burn_user(OLD_NS);
	assert_true(run_storm(readers, WARM_UP));
	before = look_at_holdings();
	memset(readers, 0, sizeof(readers));
	assert_true(run_storm(readers, N_SHORT));
	print_message("# %d threads, of at most %lld ns\n", N_SHORT,
		      (long long)storm.max_ns);
	assert_true(storm.max_ns < OLD_NS / 2);
	for (i = 0; i < N_STORM_SOURCES; i++) {
		if (!storm.here[i])
			continue;
		memset(&sum, 0, sizeof(sum));
		for (j = 0; j < N_READERS; j++)
			add_tally(&sum, &readers[j].tallies[i]);
		right &= is_right(i, &sum);
	}
	assert_true(right);
	assert_nothing_leaked(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* Before anything else asks for a source. */
		cmocka_unit_test(
			source_first_asked_for_without_descriptors_recovers),
		cmocka_unit_test(
			sources_first_asked_for_by_all_at_once_answer_alike),
		cmocka_unit_test_teardown(
			no_descriptor_left_is_emfile_until_there_is_one,
			lift_limit),
		cmocka_unit_test(handle_may_be_read_by_many_at_a_time),
		cmocka_unit_test(threads_that_come_and_go_are_read_or_gone),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
