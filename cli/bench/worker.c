/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "worker.h"

/* A batch this long makes the timer's own cost vanish: below 0.05 %. */
#define BATCH_NS 100000.0

struct worker {
	pthread_t thread;
	struct crew *crew;
	struct bench_call call;
	uint64_t batch; /* calls between two looks at the timer */
	struct bench_iteration result;
	struct histogram *histogram; /* of one iteration */
	int error;
};

/* All threads of a cell, and the thread that leads them. */
struct crew {
	const struct bench *bench;
	const struct bench_row *row;
	enum bench_mode mode;
	pid_t other_tid;
	pthread_barrier_t barrier;
	int n_workers;
	/* Of an iteration: workers that are at work, that are done, and the
	 * moment at which the last one was at work. */
	atomic_int n_ready;
	atomic_int n_done;
	_Atomic uint64_t start;
	struct worker *workers;
};

/* Keeps the calls from being optimised away. */
static volatile int64_t sink;

static int64_t involuntary_switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static int64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t to_ns(const struct timer *timer, uint64_t steps)
{
	return (uint64_t)((double)steps * timer->ns_per_step + 0.5);
}

static int64_t call_batch(const struct bench_call *call, uint64_t n)
{
	int64_t mixed = 0;
	int64_t worst = 0;

	for (uint64_t i = 0; i < n; i++) {
		int64_t result = call->call(call->arg);

		mixed ^= result;
		worst = result < worst ? result : worst;
	}
	sink = mixed;
	return worst;
}

/*
 * The window of an iteration is one for all threads, and they call before and
 * after it too: so a thread that waits for a CPU counts as one that calls, and
 * each has all others beside it all the time.
 */
static uint64_t join_crew(struct worker *worker)
{
	struct crew *crew = worker->crew;
	uint64_t start;

	if (atomic_fetch_add(&crew->n_ready, 1) + 1 == crew->n_workers)
		crew->start = timer_read(&crew->bench->timer);
	while (!(start = crew->start))
		call_batch(&worker->call, worker->batch);
	return start;
}

static void leave_crew(struct worker *worker)
{
	struct crew *crew = worker->crew;

	atomic_fetch_add(&crew->n_done, 1);
	while (crew->n_done < crew->n_workers)
		call_batch(&worker->call, worker->batch);
}

static uint64_t run_batches(struct worker *worker, uint64_t end)
{
	const struct timer *timer = &worker->crew->bench->timer;
	uint64_t now;

	do {
		int64_t worst = call_batch(&worker->call, worker->batch);

		if (worst < 0 && !worker->error)
			worker->error = (int)worst;
		worker->result.calls += worker->batch;
		now = timer_read(timer);
	} while (now < end);
	return now;
}

static uint64_t run_samples(struct worker *worker, uint64_t end)
{
	const struct timer *timer = &worker->crew->bench->timer;
	const struct bench_call *call = &worker->call;
	uint64_t before, after;

	do {
		int64_t result;

		before = timer_read(timer);
		result = call->call(call->arg);
		after = timer_read(timer);
		if (result < 0 && !worker->error)
			worker->error = (int)result;
		histogram_record(worker->histogram,
				 to_ns(timer, after - before));
		worker->result.calls++;
	} while (after < end);
	return after;
}

static void run_iteration(struct worker *worker)
{
	const struct bench *bench = worker->crew->bench;
	uint64_t length = (uint64_t)((double)bench->settings.time_ns /
				     bench->timer.ns_per_step);
	uint64_t start = join_crew(worker);
	int64_t switches = involuntary_switches();
	int64_t cpu = cpu_now();
	uint64_t end;

	worker->result = (struct bench_iteration){0};
	if (worker->crew->mode == BENCH_SAMPLE)
		end = run_samples(worker, start + length);
	else
		end = run_batches(worker, start + length);
	worker->result.wall_ns = (int64_t)to_ns(&bench->timer, end - start);
	worker->result.cpu_ns = cpu_now() - cpu;
	worker->result.involuntary_switches = involuntary_switches() - switches;
	leave_crew(worker);
}

static double time_batch(struct worker *worker)
{
	const struct timer *timer = &worker->crew->bench->timer;
	double best = INFINITY;

	/* One interruption must not make a batch look long. */
	for (int i = 0; i < 3; i++) {
		uint64_t start = timer_read(timer);
		double length;

		call_batch(&worker->call, worker->batch);
		length = (double)(timer_read(timer) - start) *
			 timer->ns_per_step;
		best = length < best ? length : best;
	}
	return best;
}

/* Long enough that the timer's own cost vanishes. */
static void size_batch(struct worker *worker)
{
	worker->batch = 1;
	while (worker->batch < 1U << 30 && time_batch(worker) < BATCH_NS)
		worker->batch *= 2;
}

/* In place of a call that could not be prepared: the others wait for it. */
static int64_t fail(const void *arg)
{
	(void)arg;
	return -ECANCELED;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct crew *crew = worker->crew;
	const struct bench_settings *settings = &crew->bench->settings;

	/* Own clocks are those of this thread, so it prepares the call. */
	worker->error =
		bench_row_prepare(crew->row, crew->other_tid, &worker->call);
	if (worker->error)
		worker->call.call = fail;
	size_batch(worker);
	for (int i = 0; i < settings->warmup + settings->iterations; i++) {
		pthread_barrier_wait(&crew->barrier);
		run_iteration(worker);
		pthread_barrier_wait(&crew->barrier);
	}
	if (worker->call.release)
		worker->call.release(worker->call.arg);
	return NULL;
}

/* Adds up what the threads did in an iteration, while they wait. */
static int collect(struct crew *crew, struct bench_cell *cell, bool counts)
{
	struct bench_iteration *sum = &cell->iterations[cell->n_done];

	for (int i = 0; i < crew->n_workers; i++) {
		struct worker *worker = &crew->workers[i];

		if (worker->error)
			return worker->error;
		if (counts) {
			sum->calls += worker->result.calls;
			sum->wall_ns += worker->result.wall_ns;
			sum->cpu_ns += worker->result.cpu_ns;
			sum->involuntary_switches +=
				worker->result.involuntary_switches;
			if (cell->histograms)
				histogram_add(&cell->histograms[cell->n_done],
					      worker->histogram);
		}
		if (worker->histogram)
			memset(worker->histogram, 0,
			       sizeof(*worker->histogram));
	}
	cell->n_done += counts;
	return 0;
}

static int lead(struct crew *crew, struct bench_cell *cell)
{
	const struct bench_settings *settings = &crew->bench->settings;
	int error = 0;

	/* After an error the threads still need their barriers, to end. */
	for (int i = 0; i < settings->warmup + settings->iterations; i++) {
		crew->n_ready = 0;
		crew->n_done = 0;
		crew->start = 0;
		pthread_barrier_wait(&crew->barrier);
		pthread_barrier_wait(&crew->barrier);
		if (!error)
			error = collect(crew, cell, i >= settings->warmup);
	}
	return error;
}

int workers_run(const struct bench *bench, struct bench_cell *cell,
		pid_t other_tid)
{
	struct crew crew = {
		.bench = bench,
		.row = &bench->rows[cell->row],
		.mode = cell->mode,
		.other_tid = other_tid,
		.n_workers = cell->threads,
	};
	int error;

	/*
	 * The process ends after this, and its memory with it; at once if not
	 * all threads could be started, as the others wait for them here.
	 */
	crew.workers = calloc((size_t)cell->threads, sizeof(*crew.workers));
	if (!crew.workers)
		return -ENOMEM;
	pthread_barrier_init(&crew.barrier, NULL,
			     (unsigned int)cell->threads + 1);
	for (int i = 0; i < cell->threads; i++) {
		struct worker *worker = &crew.workers[i];

		worker->crew = &crew;
		if (cell->mode == BENCH_SAMPLE)
			worker->histogram =
				calloc(1, sizeof(*worker->histogram));
		if (cell->mode == BENCH_SAMPLE && !worker->histogram)
			error = ENOMEM;
		else
			error = pthread_create(&worker->thread, NULL, work,
					       worker);
		if (error) {
			cell->error = -error;
			_exit(EXIT_FAILURE);
		}
	}
	error = lead(&crew, cell);
	for (int i = 0; i < cell->threads; i++)
		pthread_join(crew.workers[i].thread, NULL);
	free(crew.workers);
	return error;
}
