/* SPDX-License-Identifier: MIT */
/*
 * New processes and threads, by every call that makes one: each is told its own
 * time from the first read on, and its parent is told the truth afterwards.
 *
 * Public reports: ClickHouse #3198, async-profiler #475 and #875,
 * dial9-rs/dial9 #314 (descriptors and locked memory run out), facebook/hhvm
 * #9811 (a time that lacks what was used before; a descriptor for each thread).
 */
#include "fasttest.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

/* What a parent has used: no child can have, by the time it reads. */
#define PARENT_US 30000

static void be_a_parent(void **state)
{
	need_epoch(state);
	while (kernel_ns() < PARENT_US * INT64_C(1000))
		;
	get_fast();
}

/* Of a child, as its exit status: 0 if it is told the truth. */
static int check_child(void)
{
	struct cpuclock_times times, before = {0};
	struct errors errors = {0};
	int i;

	for (i = 0; i < 20; i++) {
		take_error(&errors);
		if (cpuclock_self(&times) != 0)
			return 2;
		if (times.total_ns > kernel_ns() + WINDOW_NS ||
		    times.user_ns + times.system_ns != times.total_ns)
			return 3;
		if (times.total_ns < before.total_ns ||
		    times.user_ns < before.user_ns ||
		    times.system_ns < before.system_ns)
			return 4;
		before = times;
		if (i % 4 == 3)
			sleep_us(100);
	}
	if (errors.backward || errors.worst_ns > WINDOW_NS)
		return 5;
	/* A hypervisor can take time, but not at every read. */
	return errors.ahead > 10 ? 6 : 0;
}

static void check_exit(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	if (status != 0)
		printf("# status of the child: %#x\n", (unsigned int)status);
	assert_int_equal(status, 0);
}

/* The parent, right after the call. */
static void check_parent(void)
{
	struct errors errors = {0};
	int i;

	for (i = 0; i < 20; i++) {
		take_error(&errors);
		if (i % 4 == 3)
			sleep_us(100);
	}
	if (!errors_are_noise(&errors, 200))
		report_errors("parent", &errors);
	assert_true(errors_are_noise(&errors, 200));
}

/* ---- Copies of the process
 * ---------------------------------------------------
 */

static pid_t by_fork(void)
{
	return fork();
}

static pid_t by_fork_without_handlers(void)
{
#if __GLIBC_PREREQ(2, 34)
	return _Fork();
#else
	return (pid_t)syscall(SYS_fork);
#endif
}

static pid_t by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t by_clone3(void)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void check_copies(void **state, pid_t (*make)(void))
{
	int i;

	be_a_parent(state);
	fflush(stdout);
	for (i = 0; i < 50; i++) {
		pid_t pid;

		cpuclock_total();
		pid = make();
		if (pid == 0)
			_exit(check_child());
		if (pid < 0)
			SKIP("%s", strerror(errno));
		check_parent();
		check_exit(pid);
	}
	get_fast();
}

static void child_of_fork_is_told_its_own_time(void **state)
{
	check_copies(state, by_fork);
}

static void child_of__Fork_is_told_its_own_time(void **state)
{
	check_copies(state, by_fork_without_handlers);
}

static void child_of_clone_is_told_its_own_time(void **state)
{
	check_copies(state, by_clone);
}

static void child_of_clone3_is_told_its_own_time(void **state)
{
	check_copies(state, by_clone3);
}

static const struct cpuclock__verdict *probe_nothing(void)
{
	static const struct cpuclock__verdict nothing = {-EOPNOTSUPP,
							 "for a test"};

	return &nothing;
}

/* Where no epoch works, there is a bound to forget too. */
static void child_is_told_its_own_time_without_an_epoch(void **state)
{
	struct cpuclock__epoch nothing = *need_epoch(state);
	pid_t pid;

	be_a_parent(state);
	nothing.probe = probe_nothing;
	cpuclock__epoch_use(&nothing);
	assert_null(epoch_name());
	cpuclock_total();
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(check_child());
	check_exit(pid);
}

static int check_down_to(int depth)
{
	int result = check_child();
	int status;
	pid_t pid;

	if (result || depth == 0)
		return result;
	pid = depth % 2 ? fork() : by_clone();
	if (pid == 0)
		_exit(check_down_to(depth - 1));
	if (waitpid(pid, &status, 0) != pid)
		return 20;
	return status ? 21 : check_child();
}

static void child_of_a_child_is_told_its_own_time(void **state)
{
	pid_t pid;

	be_a_parent(state);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(check_down_to(6));
	check_parent();
	check_exit(pid);
}

/* ---- Children that share the memory
 * ------------------------------------------
 */

/* Its own reads are its parent's, by up to a window; nothing else may break. */
static void parent_is_told_the_truth_after_vfork(void **state)
{
	int i;

	be_a_parent(state);
	if (UNDER_TSAN || UNDER_ASAN)
		SKIP("the sanitizer turns vfork into fork, or objects to it");
	for (i = 0; i < 50; i++) {
		struct cpuclock_times times;
		pid_t pid;

		cpuclock_self(&times);
		pid = vfork();
		if (pid == 0) {
			int64_t until = wall_ns() + (i % 3) * WINDOW_NS;

			do {
				cpuclock_total();
				cpuclock_self(&times);
			} while (wall_ns() < until);
			_exit(0);
		}
		take_error(&(struct errors){0});
		sleep_us(100);
		check_exit(pid);
		/* What the child was told may still be ahead. */
		assert_true(cpuclock_total() <=
			    kernel_ns() + WINDOW_NS + NOISE_NS);
		spin_us(i % 5 == 0 ? 2 * WINDOW_NS / 1000 : 1);
	}
	/* No child that blocked or read made the kernel look like a liar. */
	assert_non_null(epoch_name());
	spin_us(2 * WINDOW_NS / 1000);
	check_parent();
	get_fast();
}

static void parent_is_told_the_truth_after_posix_spawn(void **state)
{
	int i;

	be_a_parent(state);
	for (i = 0; i < 20; i++) {
		char *argv[] = {(char *)(uintptr_t) "true", NULL};
		pid_t pid;

		cpuclock_total();
		assert_int_equal(posix_spawn(&pid, "/bin/true", NULL, NULL,
					     argv, environ),
				 0);
		check_parent();
		check_exit(pid);
	}
	get_fast();
}

static int read_in_shared_memory(void *unused)
{
	struct cpuclock_times times;
	int i;

	(void)unused;
	for (i = 0; i < 3000; i++) {
		cpuclock_total();
		if (i % 100 == 0)
			cpuclock_self(&times);
	}
	_exit(0);
}

/*
 * Two tasks, one set of thread-local variables: what libc itself forbids. The
 * parent must be told the truth once the child is gone.
 */
static void parent_is_told_the_truth_after_clone_vm(void **state)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid;
	int i;

	be_a_parent(state);
	if (UNDER_TSAN || UNDER_ASAN)
		SKIP("the sanitizer shares more than the clock does");
	for (i = 0; i < 20; i++) {
		cpuclock_total();
		pid = clone(read_in_shared_memory, stack + sizeof(stack),
			    CLONE_VM | SIGCHLD, NULL);
		check_exit(pid);
		spin_us(2 * WINDOW_NS / 1000);
		check_parent();
	}
	assert_non_null(epoch_name());
}

/* ---- Processes of several threads
 * ----------------------------------------------
 */

static atomic_bool readers_stop;

static void *read_until_told(void *unused)
{
	struct cpuclock_times times;

	(void)unused;
	while (!readers_stop) {
		cpuclock_total();
		cpuclock_self(&times);
	}
	return NULL;
}

static void child_of_a_process_with_threads_is_told_its_own_time(void **state)
{
	pthread_t threads[3];
	size_t i;

	be_a_parent(state);
	readers_stop = false;
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_create(&threads[i], NULL, read_until_told, NULL);
	sleep_us(2000);
	check_copies(state, by_fork);
	check_copies(state, by_clone);
	readers_stop = true;
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
}

static void *check_thread(void *ret_result)
{
	*(int *)ret_result = check_child();
	return NULL;
}

/* Threads that the child makes before it reads itself. */
static void threads_of_a_child_are_told_their_own_time(void **state)
{
	pid_t pid;

	be_a_parent(state);
	if (UNDER_TSAN)
		SKIP("no threads in a child of a process with threads");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		pthread_t threads[4];
		int results[4];
		size_t i;

		for (i = 0; i < ARRAY_SIZE(threads); i++)
			pthread_create(&threads[i], NULL, check_thread,
				       &results[i]);
		for (i = 0; i < ARRAY_SIZE(threads); i++) {
			pthread_join(threads[i], NULL);
			if (results[i])
				_exit(10 + results[i]);
		}
		_exit(check_child());
	}
	check_exit(pid);
}

static void program_after_exec_is_told_its_own_time(void **state)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const struct cpuclock__epoch *epoch = need_epoch(state);
	pid_t pid;

	if (length < 0)
		SKIP("no /proc");
	self[length] = '\0';
	be_a_parent(state);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		cpuclock_total();
		execl(self, self, "--child", epoch->name, (char *)NULL);
		_exit(127);
	}
	check_exit(pid);
}

/* ---- Threads that come and go
 * --------------------------------------------------
 */

static unsigned int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int count = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static unsigned int count_perf_pages(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int count = 0;
	char line[512];

	if (!maps)
		return 0;
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "perf_event") != NULL;
	fclose(maps);
	return count;
}

static unsigned int count_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int count = 0;
	int c;

	if (!maps)
		return 0;
	while ((c = getc(maps)) != EOF)
		count += c == '\n';
	fclose(maps);
	return count;
}

static void *read_once(void *unused)
{
	(void)unused;
	int64_t total_ns = cpuclock_total(), user_ns = cpuclock_user();

	/* The kernel's may be 0 yet, where a hypervisor took all of the time.
	 */
	if (total_ns < 0 || user_ns < 0)
		printf("# total %lld, user %lld ns\n", (long long)total_ns,
		       (long long)user_ns);
	return (void *)(intptr_t)(total_ns >= 0 && user_ns >= 0);
}

static void *read_often_enough(void *ret_fast)
{
	bool fast = gets_fast();

	if (ret_fast)
		*(bool *)ret_fast = fast;
	return (void *)(intptr_t)fast;
}

static bool run_thread(void *(*start)(void *), void *arg, size_t stack_size)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *result;
	int err;

	pthread_attr_init(&attr);
	if (stack_size)
		pthread_attr_setstacksize(&attr, stack_size);
	err = pthread_create(&thread, &attr, start, arg);
	pthread_attr_destroy(&attr);
	if (err) {
		printf("# no thread: %s\n", strerror(err));
		return false;
	}
	pthread_join(thread, &result);
	return result != NULL;
}

static void ten_thousand_threads_leave_nothing_behind(void **state)
{
	unsigned int files, maps, pages, i;
	bool fast;

	be_a_parent(state);
	assert_true(run_thread(read_often_enough, &fast, 0));
	files = count_entries("/proc/self/fd");
	maps = count_maps();
	pages = count_perf_pages();
	for (i = 0; i < (UNDER_TSAN ? 500 : 10000); i++)
		assert_true(run_thread(read_once, NULL, 0));
	/* Those that get an epoch which has a cost. */
	for (i = 0; i < 100; i++)
		assert_true(run_thread(read_often_enough, &fast, 0));
	printf("# %u descriptors, %u mappings, %u pages of perf\n",
	       count_entries("/proc/self/fd"), count_maps(),
	       count_perf_pages());
	assert_int_equal(count_entries("/proc/self/fd"), files);
	assert_int_equal(count_perf_pages(), pages);
	/* The thread sanitizer maps memory of its own. */
	assert_true(UNDER_TSAN || count_maps() <= maps + 4);
}

static atomic_int at_once;
static atomic_bool all_may_end;

static void *read_and_wait(void *unused)
{
	struct errors errors = {0};
	int i;

	(void)unused;
	for (i = 0; i < 1500; i++)
		cpuclock_total();
	take_error(&errors);
	at_once++;
	while (!all_may_end)
		sleep_us(1000);
	take_error(&errors);
	return (void *)(intptr_t)(errors.backward == 0 &&
				  errors.worst_ns <= WINDOW_NS);
}

/* 0 if all are right, also those that there was no page left for. */
static int run_many(const struct cpuclock__epoch *epoch)
{
	const struct rlimit few = {64, 64}, none = {0, 0};
	pthread_t threads[500];
	size_t i, made;
	void *right;

	setrlimit(RLIMIT_NOFILE, &few);
	setrlimit(RLIMIT_MEMLOCK, &none);
	/* root may lock as much as it likes */
	if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		return 40;
	if (cpuclock__epoch_use(epoch)->status)
		return 77;
	for (made = 0; made < ARRAY_SIZE(threads); made++) {
		if (pthread_create(&threads[made], NULL, read_and_wait, NULL))
			break;
	}
	while (at_once < (int)made)
		sleep_us(1000);
	printf("# %zu threads, %u descriptors, %u pages of perf\n", made,
	       count_entries("/proc/self/fd"), count_perf_pages());
	fflush(stdout);
	if (made < 100 || count_entries("/proc/self/fd") > 32)
		return 41;
	all_may_end = true;
	for (i = 0; i < made; i++) {
		pthread_join(threads[i], &right);
		if (!right)
			return 42;
	}
	return check_child();
}

static void threads_without_locked_memory_or_descriptor_are_right(void **state)
{
	const struct cpuclock__epoch *epoch = need_epoch(state);
	int status;
	pid_t pid;

	if (UNDER_TSAN)
		SKIP("no threads in a child of a process with threads");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(run_many(epoch));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("an unprivileged user has no %s", epoch->name);
	assert_int_equal(status, 0);
}

static void small_stacks_are_enough(void **state)
{
	be_a_parent(state);
	if (UNDER_ASAN || UNDER_TSAN)
		SKIP("a sanitizer needs more stack");
	assert_true(run_thread(read_once, NULL, PTHREAD_STACK_MIN));
	assert_true(run_thread(read_once, NULL, 16384));
	assert_true(run_thread(read_often_enough, NULL, 16384));
}

/* ---- The clock in a destructor
 * --------------------------------------------------
 */

static pthread_key_t late_key;
static bool destructor_was_right;

/* Runs in every round of destructors, so also after all others have run. */
static void read_in_destructor(void *round)
{
	struct errors errors = {0};
	struct cpuclock_times times;

	take_error(&errors);
	cpuclock_self(&times);
	sleep_us(200);
	take_error(&errors);
	destructor_was_right = errors.ahead == 0 && errors.backward == 0;
	if ((intptr_t)round < 3)
		pthread_setspecific(late_key, (void *)((intptr_t)round + 1));
}

static void *leave_a_destructor(void *unused)
{
	bool fast = gets_fast();

	(void)unused;
	pthread_setspecific(late_key, (void *)1);
	cpuclock_total();
	return (void *)(intptr_t)fast;
}

static void destructor_of_a_thread_may_read(void **state)
{
	be_a_parent(state);
	pthread_key_create(&late_key, read_in_destructor);
	destructor_was_right = false;
	assert_true(run_thread(leave_a_destructor, NULL, 0));
	assert_true(destructor_was_right);
	pthread_key_delete(late_key);
}

static void check_page_in_destructor(void *page)
{
	unsigned char resident;

	_exit(mincore(page, 1, &resident) == 0 ? 0 : 7);
}

/* The pages of perf are not its child's, who has something else there. */
static void *exit_thread_in_child(void *unused)
{
	unsigned long start = 0, end;
	char line[512];
	FILE *maps;
	void *page;
	pid_t pid;
	int status;

	(void)unused;
	if (!gets_fast())
		return NULL;
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "perf_event"))
			sscanf(line, "%lx-%lx", &start, &end);
	}
	if (maps)
		fclose(maps);
	if (start == 0)
		return (void *)1; /* rseq has no page */
	fflush(stdout);
	pid = by_fork_without_handlers();
	if (pid == 0) {
		page = mmap((void *)start, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			    -1, 0);
		if (page != (void *)start)
			_exit(8);
		*(volatile char *)page = 1;
		pthread_setspecific(late_key, page);
		pthread_exit(NULL);
	}
	waitpid(pid, &status, 0);
	if (status)
		printf("# status of the child: %#x\n", (unsigned int)status);
	return (void *)(intptr_t)(status == 0);
}

static void thread_of_a_child_unmaps_nothing_of_others(void **state)
{
	be_a_parent(state);
	if (UNDER_ASAN || UNDER_TSAN)
		SKIP("a sanitizer objects to the end of a thread of a child");
	pthread_key_create(&late_key, check_page_in_destructor);
	assert_true(run_thread(exit_thread_in_child, NULL, 0));
	pthread_key_delete(late_key);
}

/* ---- The library loaded, and loaded twice
 * --------------------------------------
 */

typedef int64_t (*total_fn)(void);
typedef int (*self_fn)(struct cpuclock_times *);

struct copy {
	void *handle;
	total_fn total;
	self_fn self;
};

static bool load(const char *path, struct copy *copy)
{
	copy->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!copy->handle) {
		printf("# %s\n", dlerror());
		return false;
	}
	*(void **)&copy->total = dlsym(copy->handle, "cpuclock_total");
	*(void **)&copy->self = dlsym(copy->handle, "cpuclock_self");
	return copy->total && copy->self;
}

static void take_errors_of(struct copy *copy, struct errors *errors, int count)
{
	struct cpuclock_times times;
	int i;

	for (i = 0; i < count; i++) {
		int64_t now_ns = copy->total();

		errors->count++;
		errors->backward += now_ns < errors->last_ns;
		errors->last_ns = now_ns;
		now_ns -= kernel_ns();
		if (now_ns > errors->worst_ns)
			errors->worst_ns = now_ns;
		errors->ahead += now_ns > NOISE_NS;
		copy->self(&times);
		errors->backward += times.total_ns < errors->last_ns;
		errors->last_ns = times.total_ns;
	}
}

static void shared_library_stays_loaded(void **state)
{
	struct copy copy;
	struct errors errors = {0};
	int i;

	need_epoch(state);
	if (UNDER_ASAN || UNDER_TSAN)
		SKIP("the sanitizer must come first");
	assert_true(load(SHARED_LIBRARY, &copy));
	take_errors_of(&copy, &errors, 1000);
	assert_int_equal(dlclose(copy.handle), 0);
	assert_non_null(dlopen(SHARED_LIBRARY, RTLD_NOW | RTLD_NOLOAD));
	for (i = 0; i < 20; i++) {
		sleep_us(300);
		take_errors_of(&copy, &errors, 2);
	}
	assert_true(errors_are_noise(&errors, errors.count));
}

static void two_copies_are_both_right(void **state)
{
	struct copy copies[2];
	struct errors errors[3] = {{0}, {0}, {0}};
	int i;

	be_a_parent(state);
	if (UNDER_ASAN || UNDER_TSAN)
		SKIP("the sanitizer must come first");
	assert_true(load(SHARED_LIBRARY, &copies[0]));
	assert_true(load(PLUGIN, &copies[1]));
	for (i = 0; i < 3000; i++) {
		take_errors_of(&copies[0], &errors[0], 1 + i % 3);
		take_errors_of(&copies[1], &errors[1], 1 + i % 5);
		take_error(&errors[2]);
		if (i % 8 == 0)
			sleep_us(100);
	}
	for (i = 0; i < 3; i++) {
		report_errors("copy", &errors[i]);
		assert_true(errors_are_noise(&errors[i], 3000));
	}
	dlclose(copies[1].handle);
}

static struct copy plugin;
static atomic_int plugin_phase;

/* Is armed by a plugin that goes, is preempted and ends. */
static void *outlive_plugin(void *unused)
{
	struct errors errors = {0};
	int i;

	(void)unused;
	take_errors_of(&plugin, &errors, 3000);
	plugin_phase = 1;
	while (plugin_phase != 2)
		;
	spin_us(20000);
	for (i = 0; i < 10; i++)
		sleep_us(300);
	return (void *)(intptr_t)(errors.backward == 0);
}

static void plugin_may_go_while_a_thread_is_armed(void **state)
{
	pthread_t thread;
	void *right;

	need_epoch(state);
	if (UNDER_ASAN || UNDER_TSAN)
		SKIP("the sanitizer must come first");
	assert_true(load(PLUGIN, &plugin));
	plugin_phase = 0;
	assert_int_equal(pthread_create(&thread, NULL, outlive_plugin, NULL),
			 0);
	while (plugin_phase != 1)
		sleep_us(1000);
	assert_int_equal(dlclose(plugin.handle), 0);
	if (dlopen(PLUGIN, RTLD_NOW | RTLD_NOLOAD))
		printf("# the plugin stayed loaded\n");
	plugin_phase = 2;
	pthread_join(thread, &right);
	assert_non_null(right);
}

/* As above, in a program where the plugin gets no epoch but perf. */
static void plugin_may_go_while_a_thread_has_its_page(void **state)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	pid_t pid;

	if (need_epoch(state) != &cpuclock__epoch_perf)
		SKIP("for perf only");
	if (length < 0 || UNDER_ASAN || UNDER_TSAN)
		SKIP("no /proc, or under a sanitizer");
	self[length] = '\0';
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		execl(self, self, "--plugin", (char *)NULL);
		_exit(127);
	}
	check_exit(pid);
}

/* ---- Before main ------------------------------------------------------------
 */

static int64_t early_total_ns = -1;
static const char *early_name;

/* Runs before the constructors of the library, as it is linked here. */
__attribute__((constructor)) static void read_early(void)
{
	early_total_ns = cpuclock_total();
}

static void read_before_main_spoils_nothing(void **state)
{
	(void)state;
	assert_true(early_total_ns >= 0);
	cpuclock__epoch_use(NULL);
	if (!epoch_name())
		SKIP("no epoch at all here: %s",
		     cpuclock__epoch_verdict()->why);
	assert_non_null(early_name);
}

/* ---- What this program is when it executes itself
 * --------------------------------
 */

static int run_child(const char *epoch)
{
	const struct cpuclock__epoch *which = strcmp(epoch, "fast:perf") == 0
						      ? &cpuclock__epoch_perf
						      : &cpuclock__epoch_rseq;
	int result = check_child();

	if (result)
		return result;
	if (cpuclock__epoch_use(which)->status)
		return 30;
	return check_child();
}

static int run_plugin(void)
{
	pthread_t thread;
	void *right;

	if (!load(PLUGIN, &plugin))
		return 31;
	pthread_create(&thread, NULL, outlive_plugin, NULL);
	while (plugin_phase != 1)
		sleep_us(1000);
	if (count_perf_pages() == 0)
		return 32;
	dlclose(plugin.handle);
	if (dlopen(PLUGIN, RTLD_NOW | RTLD_NOLOAD))
		return 33;
	plugin_phase = 2;
	pthread_join(thread, &right);
	return right ? 0 : 34;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_before_main_spoils_nothing),
		FOR_EACH_EPOCH(child_of_fork_is_told_its_own_time),
		FOR_EACH_EPOCH(child_of__Fork_is_told_its_own_time),
		FOR_EACH_EPOCH(child_of_clone_is_told_its_own_time),
		FOR_EACH_EPOCH(child_of_clone3_is_told_its_own_time),
		FOR_EACH_EPOCH(child_is_told_its_own_time_without_an_epoch),
		FOR_EACH_EPOCH(child_of_a_child_is_told_its_own_time),
		FOR_EACH_EPOCH(parent_is_told_the_truth_after_vfork),
		FOR_EACH_EPOCH(parent_is_told_the_truth_after_posix_spawn),
		FOR_EACH_EPOCH(parent_is_told_the_truth_after_clone_vm),
		FOR_EACH_EPOCH(
			child_of_a_process_with_threads_is_told_its_own_time),
		FOR_EACH_EPOCH(threads_of_a_child_are_told_their_own_time),
		FOR_EACH_EPOCH(program_after_exec_is_told_its_own_time),
		FOR_EACH_EPOCH(ten_thousand_threads_leave_nothing_behind),
		FOR_EACH_EPOCH(
			threads_without_locked_memory_or_descriptor_are_right),
		FOR_EACH_EPOCH(small_stacks_are_enough),
		FOR_EACH_EPOCH(destructor_of_a_thread_may_read),
		FOR_EACH_EPOCH(thread_of_a_child_unmaps_nothing_of_others),
		FOR_EACH_EPOCH(shared_library_stays_loaded),
		FOR_EACH_EPOCH(two_copies_are_both_right),
		FOR_EACH_EPOCH(plugin_may_go_while_a_thread_is_armed),
		FOR_EACH_EPOCH(plugin_may_go_while_a_thread_has_its_page),
	};

	/* Why is not known; without them all of it runs. */
	if (UNDER_TSAN || UNDER_ASAN) {
		puts("1..0 # SKIP under sanitizers threads cannot be started");
		return 0;
	}

	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return run_child(argv[2]);
	if (argc == 2 && strcmp(argv[1], "--plugin") == 0)
		return run_plugin();
	cpuclock__epoch_verdict();
	early_name = epoch_name();
	return cmocka_run_group_tests_name("fast_fork", tests, NULL, NULL);
}
