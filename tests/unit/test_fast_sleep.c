/* SPDX-License-Identifier: MIT */
/*
 * Sleep is never billed, by whatever way the thread leaves its CPU. What
 * matters are short blocks, as an anchor is carried forward for 1 ms only: a
 * long one would hide a lie.
 *
 * Public reports: scylladb/seastar #416 and #1521, cockroachdb/cockroach
 * #95529, google/benchmark #96 (negative or backward values); google/tcmalloc
 * #292 (a kernel that no longer shows every switch).
 */
#include "fasttest.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#define HELPER_SPINS_US 150

/* How a thread blocks for about so long. */
typedef void (*block_fn)(long us);

static long voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void read_often(unsigned int count)
{
	while (count--)
		cpuclock_total();
}

/* False if it did not block often enough to tell. */
static bool try_blocks(const char *what, block_fn block, long us,
		       unsigned int count)
{
	struct errors errors = {0};
	long switches = voluntary_switches();
	int64_t fast_ns, before_ns = 0;
	int64_t kernel, kernel_before = 0;
	unsigned int i;

	for (i = 0; i < count; i++) {
		long before;

		read_often(8);
		kernel = kernel_ns();
		fast_ns = cpuclock_total();
		if (i == 0) {
			kernel_before = kernel;
			before_ns = fast_ns;
		}
		before = voluntary_switches();
		block(us);
		/* A hypervisor may have served it before the thread slept. */
		if (voluntary_switches() != before)
			take_error(&errors);
	}
	kernel = kernel_ns() - kernel_before;
	fast_ns = cpuclock_total() - before_ns;
	switches = voluntary_switches() - switches;
	printf("# %s of %ld us: %ld switches, kernel %lld ns, fast %lld ns\n",
	       what, us, switches, (long long)kernel, (long long)fast_ns);
	report_errors(what, &errors);
	/* Time that a hypervisor took shows too, but not at every block. */
	assert_true(errors_are_noise(&errors, 10 * count));
	/* Nothing adds up; what a hypervisor took may be in the last answer. */
	assert_true(llabs(fast_ns - kernel) <=
		    (switches < (long)count ? WINDOW_NS : 2 * NOISE_NS));
	return switches >= (long)count / 2;
}

static void check_blocks(const char *what, block_fn block, long us,
			 unsigned int count)
{
	assert_true(try_blocks(what, block, us, count));
}

static void check_way(void **state, const char *what, block_fn block)
{
	need_epoch(state);
	get_fast();
	check_blocks(what, block, 50, 1000);
	check_blocks(what, block, 200, 200);
	check_blocks(what, block, 500, 60);
	check_blocks(what, block, 50000, 2);
	get_fast();
}

/* ---- Ways of the thread itself ---------------------------------------------
 */

static void nanosleep_is_not_billed(void **state)
{
	check_way(state, "nanosleep", sleep_us);
}

static void block_in_futex(long us)
{
	const struct timespec timeout = {us / 1000000, us % 1000000 * 1000};
	static int word;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &timeout, NULL, 0);
}

static void futex_is_not_billed(void **state)
{
	check_way(state, "futex", block_in_futex);
}

static void block_in_poll(long us)
{
	const struct timespec timeout = {us / 1000000, us % 1000000 * 1000};

	ppoll(NULL, 0, &timeout, NULL);
}

static void poll_is_not_billed(void **state)
{
	check_way(state, "poll", block_in_poll);
}

/* A thread that answers each request after a while. */
static int request[2], answer[2];

static void *answer_late(void *unused)
{
	long us;

	(void)unused;
	while (read(request[0], &us, sizeof(us)) == sizeof(us) && us >= 0) {
		sleep_us(us);
		if (write(answer[1], "", 1) != 1)
			break;
	}
	return NULL;
}

static void block_in_read(long us)
{
	char byte;

	assert_int_equal(write(request[1], &us, sizeof(us)), sizeof(us));
	assert_int_equal(read(answer[0], &byte, 1), 1);
}

static void read_of_a_pipe_is_not_billed(void **state)
{
	const long stop = -1;
	pthread_t thread;

	need_epoch(state);
	assert_int_equal(pipe(request) | pipe(answer), 0);
	assert_int_equal(pthread_create(&thread, NULL, answer_late, NULL), 0);
	check_way(state, "read", block_in_read);
	assert_int_equal(write(request[1], &stop, sizeof(stop)), sizeof(stop));
	pthread_join(thread, NULL);
	close(request[0]), close(request[1]);
	close(answer[0]), close(answer[1]);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t lock_it, locked;
static atomic_long lock_us;

static void *hold_mutex(void *unused)
{
	(void)unused;
	for (;;) {
		sem_wait(&lock_it);
		if (lock_us < 0)
			return NULL;
		pthread_mutex_lock(&mutex);
		sem_post(&locked);
		sleep_us(lock_us);
		pthread_mutex_unlock(&mutex);
	}
}

static void block_in_mutex(long us)
{
	lock_us = us;
	sem_post(&lock_it);
	sem_wait(&locked);
	read_often(4);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void wait_for_a_mutex_is_not_billed(void **state)
{
	pthread_t thread;

	need_epoch(state);
	sem_init(&lock_it, 0, 0);
	sem_init(&locked, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, hold_mutex, NULL), 0);
	check_way(state, "mutex", block_in_mutex);
	lock_us = -1;
	sem_post(&lock_it);
	pthread_join(thread, NULL);
}

/* ---- Page faults that are handled late -------------------------------------
 */

#define FAULTS 2000

static int fault_fd = -1;
static char *fault_page;
static atomic_long fault_us;
static long page_size;

static void *handle_faults_late(void *unused)
{
	struct uffd_msg message;

	(void)unused;
	while (read(fault_fd, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_zeropage zero = {
			.range.start = message.arg.pagefault.address &
				       ~(uint64_t)(page_size - 1),
			.range.len = (uint64_t)page_size,
		};
		/* Once served, the thread may ask for the end. */
		long us = fault_us;

		sleep_us(us);
		ioctl(fault_fd, UFFDIO_ZEROPAGE, &zero);
		if (us < 0)
			break;
	}
	return NULL;
}

static void block_in_fault(long us)
{
	fault_us = us;
	(void)*(volatile char *)fault_page;
	fault_page += page_size;
}

static void page_fault_handled_late_is_not_billed(void **state)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	size_t size;
	pthread_t thread;
	void *area;

	need_epoch(state);
	page_size = sysconf(_SC_PAGESIZE);
	size = FAULTS * (size_t)page_size;
	fault_fd =
		(int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (fault_fd < 0)
		SKIP("userfaultfd(2): %s", strerror(errno));
	area = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(area, MAP_FAILED);
	assert_int_equal(ioctl(fault_fd, UFFDIO_API, &api), 0);
	range.range.start = (uintptr_t)area;
	range.range.len = size;
	assert_int_equal(ioctl(fault_fd, UFFDIO_REGISTER, &range), 0);
	fault_page = area;
	assert_int_equal(
		pthread_create(&thread, NULL, handle_faults_late, NULL), 0);
	check_way(state, "page fault", block_in_fault);
	block_in_fault(-1);
	pthread_join(thread, NULL);
	munmap(area, size);
	close(fault_fd);
}

#define FILE_PAGES 512

static int file_fd;
static char *file_map;

/* Reads a page of a file that is in no cache. */
static void block_in_page_in(long us)
{
	static unsigned int n;
	off_t page = (off_t)(n++ * 37 % FILE_PAGES) * page_size;

	(void)us;
	madvise(file_map + page, (size_t)page_size, MADV_DONTNEED);
	posix_fadvise(file_fd, page, page_size, POSIX_FADV_DONTNEED);
	read_often(4);
	(void)*(volatile char *)(file_map + page);
}

static void page_in_of_a_file_is_not_billed(void **state)
{
	char path[] = "/var/tmp/cpuclock-page-in-XXXXXX";
	char block[4096] = {1};
	bool waited;
	size_t size;
	int i;

	need_epoch(state);
	page_size = sysconf(_SC_PAGESIZE);
	size = FILE_PAGES * (size_t)page_size;
	file_fd = mkstemp(path);
	if (file_fd < 0)
		SKIP("no file in /var/tmp: %s", strerror(errno));
	unlink(path);
	for (i = 0; i < (int)(size / sizeof(block)); i++)
		assert_int_equal(write(file_fd, block, sizeof(block)),
				 sizeof(block));
	fsync(file_fd);
	file_map = mmap(NULL, size, PROT_READ, MAP_SHARED, file_fd, 0);
	assert_ptr_not_equal(file_map, MAP_FAILED);
	madvise(file_map, size, MADV_RANDOM);

	get_fast();
	waited = try_blocks("page-in", block_in_page_in, 0, 400);
	munmap(file_map, size);
	close(file_fd);
	if (!waited)
		SKIP("/var/tmp is on no disk that one has to wait for");
}

/* ---- A process made and waited for -----------------------------------------
 */

static void block_in_vfork(long us)
{
	int status;
	pid_t pid = vfork();

	(void)us;
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	read_often(4);
	waitpid(pid, &status, 0);
}

static void vfork_exec_and_wait_are_not_billed(void **state)
{
	need_epoch(state);
	if (UNDER_TSAN)
		SKIP("the thread sanitizer turns vfork into fork");
	get_fast();
	check_blocks("vfork", block_in_vfork, 0, 100);
	get_fast();
}

/* ---- The CPU taken away -----------------------------------------------------
 */

static atomic_bool hog_stops;
static int hog_cpu;

static bool run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static int first_cpu(int n)
{
	cpu_set_t set;
	int cpu;

	sched_getaffinity(0, sizeof(set), &set);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set) && n-- == 0)
			return cpu;
	}
	return -1;
}

static void *hog(void *unused)
{
	(void)unused;
	run_on(hog_cpu);
	while (!hog_stops)
		;
	return NULL;
}

static void *hog_and_yield(void *unused)
{
	(void)unused;
	run_on(hog_cpu);
	while (!hog_stops) {
		spin_us(HELPER_SPINS_US);
		sched_yield();
	}
	return NULL;
}

static void *hog_by_fits(void *unused)
{
	const struct sched_param param = {.sched_priority = 1};
	atomic_bool *allowed = unused;

	run_on(hog_cpu);
	*allowed =
		pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == 0;
	while (*allowed && !hog_stops) {
		sleep_us(300);
		spin_us(HELPER_SPINS_US);
	}
	return NULL;
}

/* What the calling thread reads while something takes its CPU away. */
static void read_for(const char *what, int64_t ns, unsigned int events)
{
	struct errors errors = {0};
	int64_t until = wall_ns() + ns;

	while (wall_ns() < until) {
		read_often(30);
		take_error(&errors);
	}
	report_errors(what, &errors);
	(void)events;
	assert_true(errors_are_noise(&errors, errors.count));
}

static void check_hog(void **state, const char *what, void *(*start)(void *),
		      block_fn block)
{
	atomic_bool allowed = true;
	cpu_set_t before;
	pthread_t thread;

	need_epoch(state);
	sched_getaffinity(0, sizeof(before), &before);
	hog_cpu = first_cpu(0);
	run_on(hog_cpu);
	hog_stops = false;
	assert_int_equal(pthread_create(&thread, NULL, start, &allowed), 0);
	sleep_us(2000);
	if (allowed) {
		get_fast();
		if (block)
			check_blocks(what, block, HELPER_SPINS_US, 300);
		else
			read_for(what, 300000000, 300);
		get_fast();
	}
	hog_stops = true;
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	if (!allowed)
		SKIP("SCHED_FIFO is not allowed");
}

static void preemption_by_an_equal_is_not_billed(void **state)
{
	check_hog(state, "preempted by an equal", hog, NULL);
}

static void preemption_in_real_time_is_not_billed(void **state)
{
	check_hog(state, "preempted in real time", hog_by_fits, NULL);
}

static void yield_to_a_competitor(long us)
{
	(void)us;
	sched_yield();
}

static void yield_to_a_competitor_is_not_billed(void **state)
{
	struct errors errors = {0};
	cpu_set_t before;
	pthread_t thread;
	int i;

	need_epoch(state);
	sched_getaffinity(0, sizeof(before), &before);
	hog_cpu = first_cpu(0);
	run_on(hog_cpu);
	hog_stops = false;
	assert_int_equal(pthread_create(&thread, NULL, hog_and_yield, NULL), 0);
	get_fast();
	for (i = 0; i < 500; i++) {
		read_often(8);
		yield_to_a_competitor(0);
		take_error(&errors);
	}
	get_fast();
	hog_stops = true;
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	report_errors("sched_yield", &errors);
	assert_true(errors_are_noise(&errors, 5000));
}

static void migration_is_not_billed(void **state)
{
	struct errors errors = {0};
	cpu_set_t before;
	int i;

	need_epoch(state);
	if (first_cpu(1) < 0)
		SKIP("there is one CPU only");
	sched_getaffinity(0, sizeof(before), &before);
	get_fast();
	for (i = 0; i < 500; i++) {
		read_often(8);
		sched_setaffinity(0, sizeof(before), &before);
		run_on(first_cpu(i % 2));
		take_error(&errors);
	}
	sched_setaffinity(0, sizeof(before), &before);
	report_errors("migration", &errors);
	assert_true(errors_are_noise(&errors, 5000));
	get_fast();
}

/* ---- A process stopped by another -------------------------------------------
 */

struct shared {
	atomic_bool ready;
	atomic_bool stops;
	bool slow;
	struct errors errors;
};

static pid_t start_reader(struct shared **ret_shared)
{
	struct shared *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	assert_ptr_not_equal(shared, MAP_FAILED);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		shared->slow = !gets_fast();
		shared->ready = true;
		while (!shared->stops) {
			read_often(30);
			take_error(&shared->errors);
		}
		shared->slow |= !gets_fast();
		_exit(0);
	}
	assert_true(pid > 0);
	while (!shared->ready)
		sleep_us(1000);
	*ret_shared = shared;
	return pid;
}

static void end_reader(const char *what, pid_t pid, struct shared *shared,
		       unsigned int events)
{
	int status;

	shared->stops = true;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	report_errors(what, &shared->errors);
	assert_false(shared->slow);
	(void)events;
	assert_true(errors_are_noise(&shared->errors, shared->errors.count));
	munmap(shared, sizeof(*shared));
}

static void sigstop_is_not_billed(void **state)
{
	struct shared *shared;
	int status, i;
	pid_t pid;

	need_epoch(state);
	pid = start_reader(&shared);
	for (i = 0; i < 200; i++) {
		kill(pid, SIGSTOP);
		waitpid(pid, &status, WUNTRACED);
		assert_true(WIFSTOPPED(status));
		spin_us(100);
		kill(pid, SIGCONT);
		sleep_us(400);
	}
	end_reader("SIGSTOP", pid, shared, 200);
}

static void ptrace_stop_is_not_billed(void **state)
{
	struct shared *shared;
	int status, i;
	pid_t pid;

	need_epoch(state);
	pid = start_reader(&shared);
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0) {
		end_reader("ptrace", pid, shared, 0);
		SKIP("ptrace(2): %s", strerror(errno));
	}
	for (i = 0; i < 200; i++) {
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
		spin_us(100);
		ptrace(PTRACE_CONT, pid, 0, 0);
		sleep_us(400);
	}
	ptrace(PTRACE_INTERRUPT, pid, 0, 0);
	waitpid(pid, &status, 0);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	end_reader("ptrace", pid, shared, 200);
}

static bool write_text(const char *folder, const char *name, const char *text)
{
	char path[512];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

/* A cgroup that can be frozen, and how. */
struct freezer {
	const char *parent, *file, *freeze, *thaw;
	char folder[64];
};

static bool make_freezer(struct freezer *freezer)
{
	static const struct freezer kinds[] = {
		{"/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED",
		 ""},
		{"/sys/fs/cgroup", "cgroup.freeze", "1", "0", ""},
		{"/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0", ""},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		*freezer = kinds[i];
		snprintf(freezer->folder, sizeof(freezer->folder),
			 "%s/cpuclock-test-%d", kinds[i].parent, (int)getpid());
		if (mkdir(freezer->folder, 0700) != 0)
			continue;
		if (write_text(freezer->folder, freezer->file, freezer->thaw))
			return true;
		rmdir(freezer->folder);
	}
	return false;
}

static void cgroup_freeze_is_not_billed(void **state)
{
	struct freezer freezer;
	struct shared *shared;
	char text[32];
	bool moved;
	pid_t pid;
	int i;

	need_epoch(state);
	if (!make_freezer(&freezer))
		SKIP("no cgroup that may be frozen: %s", strerror(errno));
	pid = start_reader(&shared);
	snprintf(text, sizeof(text), "%d", (int)pid);
	moved = write_text(freezer.folder, "cgroup.procs", text);
	for (i = 0; moved && i < 200; i++) {
		moved = write_text(freezer.folder, freezer.file,
				   freezer.freeze);
		spin_us(200);
		moved &= write_text(freezer.folder, freezer.file, freezer.thaw);
		sleep_us(400);
	}
	end_reader("cgroup freeze", pid, shared, 200);
	for (i = 0; i < 100 && rmdir(freezer.folder) != 0; i++)
		sleep_us(1000);
	if (!moved)
		SKIP("the cgroup could not be frozen");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOR_EACH_EPOCH(nanosleep_is_not_billed),
		FOR_EACH_EPOCH(futex_is_not_billed),
		FOR_EACH_EPOCH(poll_is_not_billed),
		FOR_EACH_EPOCH(read_of_a_pipe_is_not_billed),
		FOR_EACH_EPOCH(wait_for_a_mutex_is_not_billed),
		FOR_EACH_EPOCH(page_fault_handled_late_is_not_billed),
		FOR_EACH_EPOCH(page_in_of_a_file_is_not_billed),
		FOR_EACH_EPOCH(vfork_exec_and_wait_are_not_billed),
		FOR_EACH_EPOCH(yield_to_a_competitor_is_not_billed),
		FOR_EACH_EPOCH(preemption_by_an_equal_is_not_billed),
		FOR_EACH_EPOCH(preemption_in_real_time_is_not_billed),
		FOR_EACH_EPOCH(migration_is_not_billed),
		FOR_EACH_EPOCH(sigstop_is_not_billed),
		FOR_EACH_EPOCH(ptrace_stop_is_not_billed),
		FOR_EACH_EPOCH(cgroup_freeze_is_not_billed),
	};

	return cmocka_run_group_tests_name("fast_sleep", tests, NULL, NULL);
}
