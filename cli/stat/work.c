/* SPDX-License-Identifier: MIT */
/* When snapshots are taken, and when they are reported. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmd.h"
#include "../monotonic.h"
#include "work.h"

#define NEVER	 INT64_MAX
#define SECOND	 INT64_C(1000000000)
#define FIRST_NS INT64_C(10000000)

/* ---- Snapshots */

static int64_t interval_of(const struct stat_options *options)
{
	if (options->interval_ns)
		return options->interval_ns;
	return options->duration_ns ? options->duration_ns : SECOND;
}

static int64_t own_cpu_ns(void)
{
	int64_t now_ns = cpuclock_total();

	return now_ns < 0 ? 0 : now_ns;
}

static int take(struct work *work)
{
	struct scans *scans = &work->scans;
	size_t slot = scans->count % MAX_SCANS;
	int64_t cpu_ns = own_cpu_ns();
	struct cpuclock_snapshot_info info;
	int err = cpuclock_snapshot_take(work->snapshot);

	if (err)
		return err;
	cpu_ns = own_cpu_ns() - cpu_ns;
	cpuclock_snapshot_info(work->snapshot, &info);
	scans->durations[slot] = info.duration_ns;
	scans->cpus[slot] = cpu_ns;
	scans->cpu_ns += cpu_ns;
	scans->count++;
	return 0;
}

static int take_and_add(struct work *work)
{
	int err = take(work);

	return err ? err : account_add(&work->account, work->snapshot);
}

static int64_t last_duration(const struct work *work)
{
	return work->scans.durations[(work->scans.count - 1) % MAX_SCANS];
}

/*
 * Each second, so that a source keeps all ends of threads until they are asked
 * for; of a command soon after its start, then less and less often. Where ends
 * are not told of, they are seen the better the more often one looks: as often
 * as takes 1 % of a CPU.
 */
static void schedule_take(struct work *work)
{
	int64_t most_ns = SECOND;

	if (work->next_take_ns == NEVER)
		return;
	if (work->options->command && !work->account.knows_exits)
		most_ns = 100 * last_duration(work);
	if (most_ns > SECOND)
		most_ns = SECOND;
	if (most_ns < FIRST_NS)
		most_ns = FIRST_NS;
	work->step_ns *= 2;
	if (work->step_ns > most_ns)
		work->step_ns = most_ns;
	work->next_take_ns = monotonic_now() + work->step_ns;
}

static void schedule_report(struct work *work)
{
	int64_t interval_ns = work->options->interval_ns;
	int64_t passed_ns = monotonic_now() - work->origin_ns;

	/* One that is over already is left out. */
	work->next_report_ns =
		work->origin_ns + (passed_ns / interval_ns + 1) * interval_ns;
}

/* ---- Reports */

static void fill_final(const struct work *work, struct final *final)
{
	const struct rusage *usage = &work->child.usage;
	struct cpuclock_times *times = &final->usage.times;

	final->known = true;
	final->status = work->child.status;
	times->user_ns = usage->ru_utime.tv_sec * SECOND +
			 usage->ru_utime.tv_usec * 1000;
	times->system_ns = usage->ru_stime.tv_sec * SECOND +
			   usage->ru_stime.tv_usec * 1000;
	times->total_ns = times->user_ns + times->system_ns;
	final->usage.wait_ns = -1;
	final->usage.voluntary = usage->ru_nvcsw;
	final->usage.involuntary = usage->ru_nivcsw;
}

static int print_report(struct work *work, bool last)
{
	struct report report = {
		.options = work->options,
		.account = &work->account,
		.scans = &work->scans,
		.passed_over = work->passed_over,
		.why = work->why,
		.number = ++work->n_reports,
		.stream = work->stream,
	};

	cpuclock_snapshot_info(work->snapshot, &report.info);
	report.info.lost_exits -= work->lost_exits;
	work->lost_exits += report.info.lost_exits;
	if (last && work->options->command && work->child.pid == 0)
		fill_final(work, &report.final);
	if (!stat_print(&report))
		return -ENOMEM;
	/* That it could not be written is said at the end. */
	if (work->stream == stdout)
		cmd_flush();
	else if (!work->options->path)
		fflush(work->stream);
	return 0;
}

/* ---- The end */

static bool has_reported_all(const struct stat_options *options, uint64_t n)
{
	return options->count && n >= (uint64_t)options->count;
}

static bool has_ended(const struct work *work, enum event event, int64_t now_ns)
{
	const struct stat_options *options = work->options;

	if (event == EVENT_STOP || event == EVENT_ENDED)
		return true;
	if (options->command)
		return false;
	return now_ns >= work->end_ns || work->account.live_processes == 0 ||
	       (now_ns >= work->next_report_ns &&
		has_reported_all(options, work->n_reports + 1)) ||
	       ferror(work->stream);
}

/* A snapshot still sees those that have not been waited for, with all that they
 * have used. */
static int look_at_zombies(struct work *work)
{
	struct cpuclock_snapshot_info info;

	cpuclock_snapshot_info(work->snapshot, &info);
	if (work->next_take_ns == NEVER ||
	    (!child_has_ended(&work->child) &&
	     monotonic_now() - info.time_ns < 20 * info.duration_ns))
		return 0;
	return take_and_add(work);
}

static int report_interval(struct work *work)
{
	int err = print_report(work, false);

	account_clear(&work->account);
	schedule_report(work);
	/* The command goes on, but is not looked at. */
	if (has_reported_all(work->options, work->n_reports)) {
		work->next_take_ns = NEVER;
		work->next_report_ns = NEVER;
	}
	return err;
}

/* What is due at an event. *ret_over: it was the last one. */
static int react(struct work *work, enum event event, bool *ret_over)
{
	const struct stat_options *options = work->options;
	int64_t now_ns = monotonic_now();
	int err = 0;

	if (event == EVENT_CHILD) {
		if (!options->command)
			return 0;
		err = look_at_zombies(work);
		if (err || child_reap(&work->child))
			return err;
		work->account.end_ns = monotonic_now();
		*ret_over = true;
	} else if (work->next_take_ns != NEVER || !options->command) {
		err = take_and_add(work);
		*ret_over = has_ended(work, event, now_ns);
	} else {
		*ret_over = event == EVENT_STOP;
	}
	if (err)
		return err;
	if (*ret_over)
		return has_reported_all(options, work->n_reports)
			       ? 0
			       : print_report(work, true);
	if (now_ns >= work->next_report_ns)
		err = report_interval(work);
	schedule_take(work);
	return err;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void schedule_first(struct work *work)
{
	const struct stat_options *options = work->options;

	work->next_take_ns = NEVER;
	work->next_report_ns = NEVER;
	work->end_ns = NEVER;
	work->step_ns = options->command ? FIRST_NS : SECOND;
	if (options->interval_ns)
		work->next_report_ns = work->origin_ns + options->interval_ns;
	else if (!options->command && !options->wait)
		work->end_ns = work->origin_ns + interval_of(options);
	/* Between reports one looks for ends. */
	if (options->command || work->account.knows_exits ||
	    (options->wait && !options->interval_ns))
		work->next_take_ns = work->origin_ns + work->step_ns;
}

static int loop(struct work *work)
{
	bool over = false;
	int err = 0;

	schedule_first(work);
	while (!err && !over) {
		int64_t next_ns = earlier(
			earlier(work->next_take_ns, work->next_report_ns),
			work->end_ns);

		err = react(work, watch_wait(&work->watch, next_ns), &over);
	}
	return err;
}

/* ---- The beginning */

/*
 * The first snapshot can take longer than the others, for it opens files. Then
 * the thread that it comes to last is looked at again too soon, and it is
 * better to begin with another one.
 */
static int take_first(struct work *work)
{
	int err = take(work);

	if (err || last_duration(work) < interval_of(work->options) / 50)
		return err;
	work->origin_ns = monotonic_now();
	return take(work);
}

static int begin(struct work *work)
{
	const struct stat_options *options = work->options;
	int err;

	work->origin_ns = monotonic_now();
	err = options->command ? take_and_add(work) : take_first(work);
	if (err)
		return stat_fail(NULL, err);
	if (!options->command) {
		err = account_begin(&work->account, work->snapshot,
				    options->n_pids > 0);
		return err ? stat_fail(NULL, err)
			   : stat_check_targets(options, work->snapshot);
	}
	work->origin_ns = monotonic_now();
	work->account.begin_ns = work->origin_ns;
	err = child_release(&work->child);
	if (err)
		return child_cannot_execute(&cmd_stat, options->command[0],
					    -err);
	return CMD_OK;
}

/* After an error the command goes on, and has the last word. */
static int wait_out(struct work *work, int status)
{
	while (status && child_reap(&work->child) &&
	       watch_wait(&work->watch, NEVER) != EVENT_STOP)
		;
	return work->child.status ? work->child.status : status;
}

static int work_through(struct work *work)
{
	const struct stat_options *options = work->options;
	int status = work_open(work);
	int err;

	if (!status)
		status = begin(work);
	if (status) {
		if (work->child.pid > 0)
			child_cancel(&work->child);
		return status;
	}
	err = loop(work);
	if (err)
		status = stat_fail(NULL, err);
	if (options->command)
		return wait_out(work, status);
	if (err)
		return status;
	/* Ctrl-C is the way to end it. */
	if (work->watch.signal && work->watch.signal != SIGINT)
		return CMD_SIGNALLED + work->watch.signal;
	return CMD_OK;
}

int stat_run(struct stat_options *options)
{
	struct work work = {.options = options};
	int status = stat_find_names(options);

	if (status)
		return status;
	account_init(&work.account, options->command ? getpid() : 0);
	status = work_close(&work, work_through(&work));
	cpuclock_snapshot_close(work.snapshot);
	account_free(&work.account);
	watch_close(&work.watch);
	return status;
}
