/* SPDX-License-Identifier: MIT */
/*
 * Measures the rows. Each fork is a fresh child process, so that rows do not
 * disturb each other; its results go to memory shared with the parent, so that
 * what was complete survives a crash or Ctrl-C.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "worker.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = signal;
}

static size_t cell_memory(const struct bench_settings *settings,
			  enum bench_mode mode)
{
	size_t n = (size_t)settings->forks * (size_t)settings->iterations;
	size_t size = n * sizeof(struct bench_iteration);

	if (mode == BENCH_SAMPLE)
		size += n * sizeof(struct histogram);
	return size;
}

/* The cell itself is in shared memory too: the child writes n_done and error.
 */
static bool cell_allocate(struct bench_cell *cell,
			  const struct bench_settings *settings)
{
	size_t n = (size_t)settings->forks * (size_t)settings->iterations;
	void *memory = mmap(NULL, cell_memory(settings, cell->mode),
			    PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	cell->iterations = memory;
	if (cell->mode == BENCH_SAMPLE)
		cell->histograms = (struct histogram *)(cell->iterations + n);
	return true;
}

static void child(const struct bench *bench, struct bench_cell *cell,
		  pid_t parent)
{
	struct sleeper *sleeper;
	pid_t other_tid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	if (signal(SIGINT, SIG_DFL) == SIG_IGN)
		signal(SIGINT, SIG_IGN);
	sleeper = sleeper_start(&other_tid);
	if (!sleeper) {
		cell->error = -EAGAIN;
		_exit(EXIT_FAILURE);
	}
	cell->error = workers_run(bench, cell, other_tid);
	sleeper_end(sleeper);
	_exit(EXIT_SUCCESS);
}

static void run_fork(const struct bench *bench, struct bench_cell *cell)
{
	pid_t parent = getpid();
	int status = 0;
	pid_t pid = fork();

	if (pid < 0) {
		cell->error = -errno;
		return;
	}
	if (pid == 0)
		child(bench, cell, parent);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
		/* Ctrl-C reaches the child by itself, a signal to this
		 * process alone does not. */
		if (interrupted)
			kill(pid, SIGINT);
	}
	if (WIFSIGNALED(status) && !interrupted)
		cell->end_signal = WTERMSIG(status);
}

static void show_progress(const struct bench *bench,
			  const struct bench_cell *cell, size_t done,
			  FILE *progress)
{
	if (!progress)
		return;
	fprintf(progress, "\r\033[K[%zu/%zu] %s, %s, %d thread%s", done + 1,
		bench->n_cells * (size_t)bench->settings.forks,
		bench->rows[cell->row].name, bench_mode_words[cell->mode],
		cell->threads, cell->threads == 1 ? "" : "s");
	fflush(progress);
}

static bool plan_cell(struct bench *bench, size_t row, enum bench_mode mode,
		      int threads)
{
	struct bench_cell *cell = &bench->cells[bench->n_cells];

	cell->row = row;
	cell->mode = mode;
	cell->threads = threads;
	bench->n_cells++;
	return cell_allocate(cell, &bench->settings);
}

static bool plan_row(struct bench *bench, size_t row)
{
	const struct bench_settings *settings = &bench->settings;
	bool ok = true;

	for (int i = 0; i < settings->n_thread_counts; i++) {
		for (int mode = 0; mode < N_MODES && ok; mode++) {
			if (settings->modes[mode])
				ok = plan_cell(bench, row,
					       (enum bench_mode)mode,
					       settings->thread_counts[i]);
		}
	}
	return ok;
}

static bool plan(struct bench *bench)
{
	size_t most = bench->n_rows * N_MODES * MAX_THREAD_COUNTS;
	bool ok = true;

	bench->cells =
		mmap(NULL, most * sizeof(*bench->cells), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bench->cells == MAP_FAILED) {
		bench->cells = NULL;
		return false;
	}
	for (size_t i = 0; i < bench->n_rows && ok; i++) {
		if (bench->rows[i].selected)
			ok = plan_row(bench, i);
	}
	return ok;
}

/* The forks of a row lie far apart, so that a change of the machine's speed
 * shows as a difference between them. */
bool bench_run(struct bench *bench, FILE *progress)
{
	size_t done = 0;

	if (!plan(bench))
		return false;
	for (int fork = 0; fork < bench->settings.forks; fork++) {
		for (size_t i = 0; i < bench->n_cells && !interrupted; i++) {
			struct bench_cell *cell = &bench->cells[i];

			show_progress(bench, cell, done++, progress);
			if (!cell->error && !cell->end_signal)
				run_fork(bench, cell);
		}
	}
	if (progress) {
		fputs("\r\033[K", progress);
		fflush(progress);
	}
	bench->interrupted = interrupted;
	return true;
}

/* What ends the work early, but not before the report. */
void bench_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	/* No SA_RESTART: the wait for the child must see it. */
	struct sigaction action = {.sa_handler = on_interrupt};
	struct sigaction old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

/* The shared memory of the cells goes with the process. */
void bench_free(struct bench *bench)
{
	free(bench->rows);
	bench->rows = NULL;
}
