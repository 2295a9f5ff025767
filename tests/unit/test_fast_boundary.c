/* SPDX-License-Identifier: MIT */
/*
 * Every instruction boundary of a read, one for each pass: something happens
 * right there, and what the thread, its handlers and its children read is held
 * against the promises.
 *
 * The boundaries are listed once, by a single-step through the call. Then a
 * breakpoint is put at one of them: the thread's own handler of SIGTRAP, which
 * is no switch and lets a perf epoch go on, or a tracer that stops it.
 */
#include "fasttest.h"
#include "forkguard.h"

#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#ifdef __x86_64__

#define TRAP_FLAG   0x100
#define BREAKPOINT  0xcc
#define SYSCALL_END 64 /* of libc's function of that name */
#define MAX_PLACES  4000
#define MIN_REACHED 30 /* instructions of the shortest way */

extern char __executable_start[], etext[];

/* What is called at which a breakpoint is set. */
enum call { CALL_TOTAL, CALL_SELF };

/* In which state the thread calls. */
enum state {
	HOLDS,	  /* the anchor is good */
	SWITCHED, /* the thread has been off its CPU */
	EXPIRED,  /* the epoch holds, but the window is over */
	FIRST,	  /* in a child of fork that has not read yet */
};

/* What happens at the boundary. */
enum action {
	READ,
	SLEEP,
	READ_SLEEP_READ,
	FORK_AND_READ,	 /* the child reads in the handler, and ends there */
	FORK_AND_RETURN, /* ... and goes on with the interrupted call */
	FORK_SILENTLY,	 /* as before, but does not read in the handler */
	JUMP,		 /* out of the handler */
};

static const char *const call_names[] = {"total", "self"};
static const char *const state_names[] = {"holds", "switched", "expired",
					  "first"};
static const char *const action_names[] = {
	"read", "sleep",	"read, sleep, read",
	"fork", "fork, return", "fork silently, return",
	"jump"};

struct places {
	size_t count;
	uintptr_t at[MAX_PLACES];
};

/* What one pass saw. */
struct pass {
	const char *wrong; /* NULL: nothing is */
	int64_t by_ns;
	struct cpuclock_times last; /* the highest of each */
	unsigned int ahead;
	bool reached;
	bool in_child;
	pid_t child;
};

static struct pass pass;
static bool counter_lags;
static enum action action;
static unsigned char *breakpoint;
static unsigned char replaced;
static sigjmp_buf way_out;

/* ---- Holding a read against the promises -----------------------------------
 */

static void note(const char *wrong, int64_t by_ns)
{
	if (pass.wrong)
		return;
	pass.wrong = wrong;
	pass.by_ns = by_ns;
}

static void note_ahead(int64_t ns)
{
	if (ns > WINDOW_NS + NOISE_NS)
		note("more than a window ahead of the kernel", ns);
	pass.ahead += ns > NOISE_NS;
}

static void hold(int64_t *last_ns, int64_t ns, const char *backward)
{
	if (ns < *last_ns)
		note(backward, *last_ns - ns);
	else
		*last_ns = ns;
}

/* A call that began when the highest answers were those of since. */
static void hold_self(const struct cpuclock_times *since,
		      const struct cpuclock_times *times, int64_t kernel)
{
	struct cpuclock_times last = *since;

	hold(&last.total_ns, times->total_ns, "total went backwards");
	hold(&last.user_ns, times->user_ns, "user went backwards");
	hold(&last.system_ns, times->system_ns, "system went backwards");
	if (times->user_ns + times->system_ns != times->total_ns)
		note("user + system is not total", times->total_ns);
	note_ahead(times->total_ns - kernel);
	/* A nested call may have been answered more. */
	if (pass.last.total_ns < last.total_ns)
		pass.last.total_ns = last.total_ns;
	if (pass.last.user_ns < last.user_ns)
		pass.last.user_ns = last.user_ns;
	if (pass.last.system_ns < last.system_ns)
		pass.last.system_ns = last.system_ns;
}

static void hold_total(const struct cpuclock_times *since, int64_t total_ns,
		       int64_t kernel)
{
	if (total_ns < since->total_ns)
		note("total went backwards", since->total_ns - total_ns);
	note_ahead(total_ns - kernel);
	if (pass.last.total_ns < total_ns)
		pass.last.total_ns = total_ns;
}

static void read_both(void)
{
	struct cpuclock_times since = pass.last;
	struct cpuclock_times times;
	int64_t total_ns = cpuclock_total();

	hold_total(&since, total_ns, kernel_ns());
	since = pass.last;
	if (cpuclock_self(&times) != 0)
		note("cpuclock_self failed", 0);
	hold_self(&since, &times, kernel_ns());
}

/* ---- At the boundary
 * ---------------------------------------------------------
 */

static void begin_child(void)
{
	pass.in_child = true;
	/* cmocka's handler would go on with the next test. */
	signal(SIGSEGV, SIG_DFL);
	pass.last = (struct cpuclock_times){0};
}

static void __attribute__((noreturn)) end_child(void)
{
	if (pass.wrong)
		printf("# in the child: %s, by %lld ns\n", pass.wrong,
		       (long long)pass.by_ns);
	fflush(stdout);
	_exit(pass.wrong ? 1 : pass.ahead ? 2 : 0);
}

static void act(void)
{
	pass.reached = true;
	switch (action) {
	case READ:
	case JUMP:
		read_both();
		break;
	case SLEEP:
		sleep_us(150);
		break;
	case READ_SLEEP_READ:
		read_both();
		sleep_us(150);
		read_both();
		break;
	case FORK_AND_READ:
	case FORK_AND_RETURN:
	case FORK_SILENTLY:
		pass.child = fork();
		if (pass.child != 0)
			break;
		begin_child();
		if (action != FORK_SILENTLY) {
			read_both();
			read_both();
		}
		if (action == FORK_AND_READ)
			end_child();
		break;
	}
	if (action == JUMP)
		siglongjmp(way_out, 1);
}

static void on_breakpoint(int sig, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)sig;
	(void)info;
	*breakpoint = replaced;
	interrupted->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)breakpoint;
	act();
}

static void set_breakpoint(uintptr_t place)
{
	breakpoint = (unsigned char *)place;
	replaced = *breakpoint;
	*breakpoint = BREAKPOINT;
}

static bool make_code_writable(void)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)__executable_start & ~(page - 1);
	uintptr_t libc = (uintptr_t)syscall & ~(page - 1);

	return mprotect((void *)start, (uintptr_t)etext - start, all) == 0 &&
	       mprotect((void *)libc, 2 * page, all) == 0;
}

static void handle_trap(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction new = {.sa_sigaction = handler,
				.sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGTRAP, &new, NULL);
}

/* ---- Listing the boundaries -------------------------------------------------
 */

static struct places *listed;

static void add_place(uintptr_t place)
{
	size_t i;

	for (i = 0; i < listed->count; i++) {
		if (listed->at[i] == place)
			return;
	}
	if (listed->count < MAX_PLACES)
		listed->at[listed->count++] = place;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	uintptr_t at =
		(uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	if ((at >= (uintptr_t)__executable_start && at < (uintptr_t)etext) ||
	    (at >= (uintptr_t)syscall && at < (uintptr_t)syscall + SYSCALL_END))
		add_place(at);
}

static void set_trap_flag(bool on)
{
	if (on)
		__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::
					 : "memory", "cc");
	else
		__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::
					 : "memory", "cc");
}

static int64_t make_call(enum call call, struct cpuclock_times *ret_times)
{
	if (call == CALL_TOTAL)
		return cpuclock_total();
	return cpuclock_self(ret_times);
}

static void prepare(enum state state)
{
	struct cpuclock_times times;
	int i;

	if (state == FIRST)
		return;
	for (i = 0; i < 3; i++) {
		cpuclock_self(&times);
		cpuclock_total();
	}
	if (state == SWITCHED)
		sleep_us(60);
	if (state == EXPIRED)
		spin_us(WINDOW_NS / 1000 + 50);
}

/* The pushes on the stack of set_trap_flag need a frame without a red zone. */
static __attribute__((noinline)) void
step_through(enum call call, enum state state, struct places *ret_places)
{
	struct cpuclock_times times;

	listed = ret_places;
	handle_trap(on_step);
	prepare(state);
	set_trap_flag(true);
	make_call(call, &times);
	set_trap_flag(false);
}

/*
 * With perf a step is no switch; with rseq each is one, as it is a signal, so
 * that what is listed as HOLDS is more than what a call then visits. The union
 * of some tries, as any can be preempted.
 */
static void list_places(enum call call, enum state state,
			struct places *ret_places)
{
	int i;

	ret_places->count = 0;
	for (i = 0; i < 3; i++)
		step_through(call, state, ret_places);
}

/* ---- Passes
 * ------------------------------------------------------------------
 */

struct tally {
	unsigned int passes;
	unsigned int reached;
	unsigned int wrong;
	unsigned int ahead;
};

static void tell_wrong(enum call call, enum state state, uintptr_t place)
{
	printf("# %s, %s, %s at %s+%#lx: %s, by %lld ns\n", call_names[call],
	       state_names[state], action_names[action],
	       place < (uintptr_t)etext ? "executable" : "syscall",
	       place < (uintptr_t)etext
		       ? (unsigned long)(place - (uintptr_t)__executable_start)
		       : (unsigned long)(place - (uintptr_t)syscall),
	       pass.wrong, (long long)pass.by_ns);
	fflush(stdout);
}

static void wait_for_child(void)
{
	int status;

	if (waitpid(pass.child, &status, 0) != pass.child)
		note("no child", 0);
	else if (WIFSIGNALED(status))
		note("the child was killed by signal", WTERMSIG(status));
	else if (WEXITSTATUS(status) == 1)
		note("the child read wrong", 0);
	else if (WEXITSTATUS(status) == 2)
		pass.ahead++;
	pass.child = 0;
}

/*
 * What is carried forward is behind the kernel's clock from here to the next
 * anchor: then what handlers are told by the kernel is a bound that counts.
 */
static void make_counter_lag(void)
{
	cpuclock__process->rate /= 2;
	spin_us(300);
}

/* One call, at whose boundary something happens. */
static void call_once(enum call call, uintptr_t place)
{
	struct cpuclock_times since = pass.last;
	struct cpuclock_times times;
	volatile bool jumped = true;
	volatile int64_t result = 0;

	set_breakpoint(place);
	if (sigsetjmp(way_out, 1) == 0) {
		result = make_call(call, &times);
		jumped = false;
	}
	*breakpoint = replaced;

	if (jumped || (pass.in_child && pass.reached)) {
		/* The call, begun in the parent, may answer for it. */
	} else if (call == CALL_TOTAL) {
		hold_total(&since, result, kernel_ns());
	} else if (result == 0) {
		hold_self(&since, &times, kernel_ns());
	} else {
		note("cpuclock_self failed", result);
	}
	read_both();
	sleep_us(60);
	read_both();
}

static void run_pass(enum call call, enum state state, uintptr_t place,
		     struct tally *tally)
{
	bool was_child = pass.in_child;

	pass = (struct pass){.in_child = was_child};
	prepare(state);
	if (state != FIRST) {
		struct cpuclock_times times;

		cpuclock_self(&times);
		pass.last = times;
		/* That was a read: back to the state. */
		prepare(state);
	}
	if (counter_lags)
		make_counter_lag();
	call_once(call, place);
	if (pass.in_child && !was_child)
		end_child();
	if (pass.child > 0)
		wait_for_child();

	tally->passes++;
	tally->reached += pass.reached;
	tally->ahead += pass.ahead > 0;
	if (pass.wrong && tally->wrong++ < 5)
		tell_wrong(call, state, place);
}

static void tell_tally(enum call call, enum state state,
		       const struct tally *tally)
{
	printf("# %s, %s, %s: %u boundaries, %u reached, %u wrong, %u ahead\n",
	       call_names[call], state_names[state], action_names[action],
	       tally->passes, tally->reached, tally->wrong, tally->ahead);
	fflush(stdout);
}

static struct places places;

/* Every boundary of a call in a state; false if a promise was broken. */
static bool visit(enum call call, enum state state)
{
	struct tally tally = {0};
	size_t i;

	list_places(call, state, &places);
	handle_trap(on_breakpoint);
	fflush(stdout);
	for (i = 0; i < places.count; i++) {
		run_pass(call, state, places.at[i], &tally);
	}
	tell_tally(call, state, &tally);
	return tally.wrong == 0 && tally.reached >= MIN_REACHED &&
	       tally.ahead <= 2 + tally.passes / 20;
}

static void need_breakpoints(void **state)
{
	need_epoch(state);
	if (UNDER_ASAN || UNDER_TSAN)
		SKIP("the sanitizer's own code is in between");
	if (!make_code_writable())
		SKIP("code cannot be made writable: %s", strerror(errno));
	get_fast();
}

static void visit_all(void **state, enum action what, enum call switched,
		      bool expired)
{
	bool right;

	need_breakpoints(state);
	action = what;
	right = visit(CALL_TOTAL, HOLDS);
	right &= visit(CALL_SELF, HOLDS);
	right &= visit(switched, SWITCHED);
	if (expired)
		right &= visit(!switched, EXPIRED);
	assert_true(right);
	get_fast();
}

static void handler_may_read(void **state)
{
	visit_all(state, READ, CALL_SELF, true);
}

static void handler_may_read_while_the_counter_lags(void **state)
{
	bool right;

	need_breakpoints(state);
	action = READ;
	counter_lags = true;
	right = visit(CALL_TOTAL, HOLDS);
	right &= visit(CALL_SELF, HOLDS);
	counter_lags = false;
	assert_true(right);
}

static void handler_may_sleep(void **state)
{
	visit_all(state, SLEEP, CALL_TOTAL, true);
}

static void handler_may_read_sleep_and_read(void **state)
{
	visit_all(state, READ_SLEEP_READ, CALL_TOTAL, true);
}

static void handler_may_fork_and_the_child_read(void **state)
{
	visit_all(state, FORK_AND_READ, CALL_TOTAL, false);
}

static void child_forked_in_a_handler_may_return_from_it(void **state)
{
	visit_all(state, FORK_AND_RETURN, CALL_SELF, false);
}

static void child_forked_in_a_handler_may_first_read_later(void **state)
{
	visit_all(state, FORK_SILENTLY, CALL_TOTAL, false);
}

/* ---- The first read of a process --------------------------------------------
 */

/* In a child of fork each time, as a process enters once. */
static bool visit_first(enum call call)
{
	struct places *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tally tally = {0};
	size_t i;
	pid_t pid;
	int status;

	assert_ptr_not_equal(shared, MAP_FAILED);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		step_through(call, FIRST, shared);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	handle_trap(on_breakpoint);
	for (i = 0; i < shared->count; i++) {
		pid = fork();
		if (pid == 0) {
			struct tally one = {0};

			pass.in_child = false;
			run_pass(call, FIRST, shared->at[i], &one);
			fflush(stdout);
			_exit(one.wrong ? 1 : one.ahead ? 2 : 0);
		}
		pass = (struct pass){.child = pid};
		wait_for_child();
		tally.passes++;
		tally.reached++;
		tally.ahead += pass.ahead;
		if (pass.wrong && tally.wrong++ < 5)
			tell_wrong(call, FIRST, shared->at[i]);
	}
	tell_tally(call, FIRST, &tally);
	munmap(shared, sizeof(*shared));
	return tally.passes > 50 && tally.wrong == 0 &&
	       tally.ahead <= 2 + tally.passes / 20;
}

static void handler_may_read_within_the_first_read(void **state)
{
	need_breakpoints(state);
	action = READ_SLEEP_READ;
	assert_true(visit_first(CALL_SELF));
}

static void handler_may_fork_within_the_first_read(void **state)
{
	need_breakpoints(state);
	action = FORK_AND_RETURN;
	assert_true(visit_first(CALL_TOTAL));
}

/* ---- A handler that does not return -----------------------------------------
 */

/* Every boundary in a child of its own: what follows is right, also slowly. */
static bool jump_everywhere(enum call call, enum state state)
{
	struct tally tally = {0};
	size_t i;

	list_places(call, state, &places);
	handle_trap(on_breakpoint);
	fflush(stdout);
	for (i = 0; i < places.count; i += state == HOLDS ? 1 : 4) {
		pid_t pid = fork();

		if (pid == 0) {
			struct tally one = {0};

			pass.in_child = false;
			run_pass(call, state, places.at[i], &one);
			/* And the child of one that never came back. */
			pass = (struct pass){.child = fork()};
			if (pass.child == 0) {
				pass = (struct pass){.in_child = true};
				read_both();
				end_child();
			}
			wait_for_child();
			if (pass.wrong)
				tell_wrong(call, state, places.at[i]);
			fflush(stdout);
			_exit(one.wrong || pass.wrong ? 1 : 0);
		}
		pass = (struct pass){.child = pid};
		wait_for_child();
		tally.passes++;
		tally.reached++;
		tally.wrong += pass.wrong != NULL;
	}
	tell_tally(call, state, &tally);
	return tally.wrong == 0;
}

static void handler_may_jump_out_of_a_read(void **state)
{
	need_breakpoints(state);
	action = JUMP;
	assert_true(jump_everywhere(CALL_TOTAL, HOLDS));
	assert_true(jump_everywhere(CALL_SELF, SWITCHED));
}

/* ---- A handler's answer, long after
 * ------------------------------------------ */

/* In about the middle of the short way, where the thread is within a call. */
#define MIDDLE 22

static int64_t user_apart_ns(void)
{
	struct cpuclock_times times, kernels;

	cpuclock_self(&times);
	cpuclock__rusage_self(&kernels);
	return llabs(times.user_ns - kernels.user_ns);
}

static int64_t worst_apart_ns;

static void compare_at_breakpoint(int sig, siginfo_t *info, void *context)
{
	int64_t apart_ns;

	(void)sig;
	(void)info;
	*breakpoint = replaced;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] =
		(greg_t)(uintptr_t)breakpoint;
	pass.reached = true;
	apart_ns = user_apart_ns();
	if (apart_ns > worst_apart_ns)
		worst_apart_ns = apart_ns;
}

/*
 * What a handler was told within a call is a bound for a while only: of it the
 * low halves are kept, which repeat after 4 s.
 */
static void old_answer_of_a_handler_is_no_bound(void **state)
{
	int64_t until;

	need_breakpoints(state);
	if (*state != &cpuclock__epoch_rseq)
		SKIP("as with rseq, and it takes 4 s");
	list_places(CALL_TOTAL, HOLDS, &places);
	assert_true(places.count > MIDDLE);
	handle_trap(compare_at_breakpoint);
	worst_apart_ns = 0;

	pass.reached = false;
	set_breakpoint(places.at[MIDDLE]);
	cpuclock_total();
	assert_true(pass.reached);

	until = kernel_ns() + 3700000000;
	while (kernel_ns() < until) {
		int i;

		/* In user mode, but for the anchors. */
		for (i = 0; i < 1000000; i++)
			cpuclock_total();
	}
	set_breakpoint(places.at[MIDDLE]);
	cpuclock_total();
	printf("# user at most %lld ns away from the kernel's\n",
	       (long long)worst_apart_ns);
	assert_true(worst_apart_ns <= 4 * WINDOW_NS);
	assert_true(user_apart_ns() <= 4 * WINDOW_NS);
}

/* ---- Stopped by a tracer
 * -----------------------------------------------------
 */

struct stopped {
	enum call call;
	enum state state;
	uintptr_t place;
	struct pass pass;
};

static struct stopped *stopped;

static void on_signal_of_tracer(int sig)
{
	(void)sig;
	read_both();
}

/* The tracee: one pass each time that it is let go. */
static void __attribute__((noreturn)) be_traced(void)
{
	signal(SIGUSR1, on_signal_of_tracer);
	if (!gets_fast())
		_exit(3);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
		_exit(4);
	for (;;) {
		raise(SIGSTOP);
		if (stopped->place == 0)
			_exit(0);
		pass = (struct pass){0};
		action = SLEEP;
		prepare(stopped->state);
		cpuclock_self(&pass.last);
		prepare(stopped->state);
		call_once(stopped->call, stopped->place);
		stopped->pass = pass;
	}
}

static bool stops_at(pid_t pid, int sig)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
	       WSTOPSIG(status) == sig;
}

static void poke_byte(pid_t pid, uintptr_t place, unsigned char byte)
{
	long word = ptrace(PTRACE_PEEKTEXT, pid, place, 0);

	ptrace(PTRACE_POKETEXT, pid, place, (word & ~0xffL) | byte);
}

/* Stops the tracee at a boundary for a while, and lets it go with a signal. */
static bool trace_pass(pid_t pid, long us, int sig, bool *ret_reached)
{
	int status;
	unsigned char original = *(unsigned char *)stopped->place;
	struct user_regs_struct regs;

	*ret_reached = false;
	ptrace(PTRACE_CONT, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return false;
	if (WSTOPSIG(status) == SIGSTOP)
		return true;
	*ret_reached = true;
	poke_byte(pid, stopped->place, original);
	ptrace(PTRACE_GETREGS, pid, 0, &regs);
	regs.rip = stopped->place;
	ptrace(PTRACE_SETREGS, pid, 0, &regs);
	if (us < 1000)
		spin_us(us);
	else
		sleep_us(us);
	ptrace(PTRACE_CONT, pid, 0, sig);
	return stops_at(pid, SIGSTOP);
}

static bool trace_places(pid_t pid, enum call call, enum state state, long us,
			 int sig)
{
	struct tally tally = {0};
	bool reached;
	size_t i;

	list_places(call, state, &places);
	for (i = 0; i < places.count; i++) {
		stopped->call = call;
		stopped->state = state;
		stopped->place = places.at[i];
		if (!trace_pass(pid, us, sig, &reached)) {
			printf("# lost the tracee\n");
			return false;
		}
		pass = stopped->pass;
		tally.passes++;
		tally.reached += reached;
		tally.ahead += pass.ahead > 0;
		/* Its strings are those of this program. */
		if (pass.wrong && tally.wrong++ < 5)
			tell_wrong(call, state, places.at[i]);
	}
	tell_tally(call, state, &tally);
	return tally.wrong == 0 && tally.reached >= MIN_REACHED &&
	       tally.ahead <= 2 + tally.passes / 20;
}

static void tracer_may_stop_a_read(void **state)
{
	bool right = true;
	enum call call;
	pid_t pid;
	int status;

	need_breakpoints(state);
	stopped = mmap(NULL, sizeof(*stopped), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(stopped, MAP_FAILED);
	fflush(stdout);
	action = SLEEP;
	pid = fork();
	if (pid == 0)
		be_traced();
	if (!stops_at(pid, SIGSTOP)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		SKIP("a child could not be traced");
	}
	for (call = CALL_TOTAL; call <= CALL_SELF; call++) {
		right &= trace_places(pid, call, HOLDS, 5000, 0);
		right &= trace_places(pid, call, HOLDS, 150, SIGUSR1);
	}
	right &= trace_places(pid, CALL_SELF, SWITCHED, 150, 0);
	right &= trace_places(pid, CALL_TOTAL, SWITCHED, 150, SIGUSR1);
	stopped->place = 0;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	waitpid(pid, &status, 0);
	munmap(stopped, sizeof(*stopped));
	assert_true(right);
}

#else

static void boundaries_are_known_for_x86_64_only(void **state)
{
	(void)state;
	SKIP("written for x86-64 only");
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		FOR_EACH_EPOCH(handler_may_read),
		FOR_EACH_EPOCH(handler_may_read_while_the_counter_lags),
		FOR_EACH_EPOCH(handler_may_sleep),
		FOR_EACH_EPOCH(handler_may_read_sleep_and_read),
		FOR_EACH_EPOCH(handler_may_fork_and_the_child_read),
		FOR_EACH_EPOCH(child_forked_in_a_handler_may_return_from_it),
		FOR_EACH_EPOCH(child_forked_in_a_handler_may_first_read_later),
		FOR_EACH_EPOCH(handler_may_read_within_the_first_read),
		FOR_EACH_EPOCH(handler_may_fork_within_the_first_read),
		FOR_EACH_EPOCH(handler_may_jump_out_of_a_read),
		FOR_EACH_EPOCH(old_answer_of_a_handler_is_no_bound),
		FOR_EACH_EPOCH(tracer_may_stop_a_read),
#else
		cmocka_unit_test(boundaries_are_known_for_x86_64_only),
#endif
	};

	return cmocka_run_group_tests_name("fast_boundary", tests, NULL, NULL);
}
