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

static void child(const struct bench *bench, struct bench_cell *cell)
{
	struct sleeper *sleeper;
	pid_t other_tid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
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
	int status = 0;
	pid_t pid;

	pid = fork();
	if (pid < 0) {
		cell->error = -errno;
		return;
	}
	if (pid == 0)
		child(bench, cell);
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
			  const struct bench_cell *cell, size_t n_planned,
			  FILE *progress)
{
	if (!progress)
		return;
	fprintf(progress, "\r\033[K[%zu/%zu] %s, %s, %d thread%s",
		bench->n_cells, n_planned, bench->rows[cell->row].name,
		bench_mode_words[cell->mode], cell->threads,
		cell->threads == 1 ? "" : "s");
	fflush(progress);
}

static bool run_cell(struct bench *bench, size_t row, enum bench_mode mode,
		     int threads, size_t n_planned, FILE *progress)
{
	struct bench_cell *cell = &bench->cells[bench->n_cells];

	cell->row = row;
	cell->mode = mode;
	cell->threads = threads;
	if (!cell_allocate(cell, &bench->settings))
		return false;
	bench->n_cells++;
	show_progress(bench, cell, n_planned, progress);
	for (int i = 0; i < bench->settings.forks && !interrupted; i++) {
		run_fork(bench, cell);
		if (cell->error || cell->end_signal)
			break;
	}
	return true;
}

static bool run_row(struct bench *bench, size_t row, size_t n_planned,
		    FILE *progress)
{
	for (int i = 0; i < bench->settings.n_thread_counts; i++) {
		for (int mode = 0; mode < N_MODES; mode++) {
			if (!bench->settings.modes[mode] || interrupted)
				continue;
			if (!run_cell(bench, row, (enum bench_mode)mode,
				      bench->settings.thread_counts[i],
				      n_planned, progress))
				return false;
		}
	}
	return true;
}

static size_t count_planned(const struct bench *bench)
{
	size_t rows = 0;
	size_t modes = 0;

	for (size_t i = 0; i < bench->n_rows; i++)
		rows += bench->rows[i].selected;
	for (int i = 0; i < N_MODES; i++)
		modes += bench->settings.modes[i];
	return rows * modes * (size_t)bench->settings.n_thread_counts;
}

bool bench_run(struct bench *bench, FILE *progress)
{
	struct sigaction action = {.sa_handler = on_interrupt};
	struct sigaction old_int, old_term;
	size_t n_planned = count_planned(bench);
	bool ok = true;

	bench->cells =
		mmap(NULL, (n_planned + 1) * sizeof(*bench->cells),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bench->cells == MAP_FAILED) {
		bench->cells = NULL;
		return false;
	}

	/* No SA_RESTART: the wait for the child must see it. */
	sigaction(SIGINT, &action, &old_int);
	sigaction(SIGTERM, &action, &old_term);
	for (size_t i = 0; i < bench->n_rows && ok && !interrupted; i++) {
		if (bench->rows[i].selected)
			ok = run_row(bench, i, n_planned, progress);
	}
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	if (progress) {
		fputs("\r\033[K", progress);
		fflush(progress);
	}
	bench->interrupted = interrupted;
	return ok;
}

/* The shared memory of the cells goes with the process. */
void bench_free(struct bench *bench)
{
	free(bench->rows);
	bench->rows = NULL;
}
