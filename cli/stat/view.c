/* SPDX-License-Identifier: MIT */
/* The rows of a report: grouped, sorted, and what is left out summed up. */
#include <stdlib.h>
#include <string.h>

#include "stat.h"

const char *const by_words[N_BY] = {
	[BY_THREAD] = "thread",
	[BY_PROCESS] = "process",
	[BY_NAME] = "name",
	[BY_STATE] = "state",
};

const char *const sort_words[N_SORTS] = {
	[SORT_TOTAL] = "total",	      [SORT_USER] = "user",
	[SORT_SYSTEM] = "system",     [SORT_WAIT] = "wait",
	[SORT_SWITCHES] = "switches", [SORT_NAME] = "name",
	[SORT_PID] = "pid",	      [SORT_TID] = "tid",
};

static const struct row no_row = {
	.cpu = -1,
	.usage = {.wait_ns = -1, .voluntary = -1, .involuntary = -1},
};

/* Those of proc(5); X and x are not seen there, but mean the same. */
const char *state_word(char state)
{
	static const struct {
		char state;
		const char *word;
	} words[] = {
		{'R', "running"},	  {'S', "sleeping"},
		{'D', "uninterruptible"}, {'T', "stopped"},
		{'t', "traced"},	  {'Z', "zombie"},
		{'X', "ended"},		  {'I', "idle kernel"},
		{'P', "parked"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].state == state)
			return words[i].word;
	}
	return "in another state";
}

/* ---- Order */

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int64_t switches_of(const struct row *row)
{
	return row->usage.voluntary + row->usage.involuntary;
}

/* The most first, ids and names in their own order. */
static int compare_rows(const void *left, const void *right, void *sort)
{
	const struct row *a = left, *b = right;
	int order = 0;

	switch (*(const enum sort *)sort) {
	case SORT_USER:
		order = compare(b->usage.times.user_ns, a->usage.times.user_ns);
		break;
	case SORT_SYSTEM:
		order = compare(b->usage.times.system_ns,
				a->usage.times.system_ns);
		break;
	case SORT_WAIT:
		order = compare(b->usage.wait_ns, a->usage.wait_ns);
		break;
	case SORT_SWITCHES:
		order = compare(switches_of(b), switches_of(a));
		break;
	case SORT_NAME:
		order = strcmp(a->name, b->name);
		break;
	case SORT_PID:
		order = compare(a->pid, b->pid);
		break;
	case SORT_TID:
		order = compare(a->tid, b->tid);
		break;
	default:
		break;
	}
	if (order == 0)
		order = compare(b->usage.times.total_ns,
				a->usage.times.total_ns);
	if (order == 0)
		order = compare(a->pid, b->pid);
	if (order == 0)
		order = compare(a->tid, b->tid);
	return order;
}

static void sort_rows(struct view *view, enum sort sort)
{
	qsort_r(view->rows, view->n_rows, sizeof(*view->rows), compare_rows,
		&sort);
}

/* ---- Rows */

/* What the last snapshot saw as a zombie has been waited for since. */
static char state_of(char state, bool ended, const struct final *final)
{
	if (ended || (final->known && state == 'Z'))
		return 'X';
	return state;
}

static void list_threads(struct view *view, const struct account *account,
			 const struct final *final)
{
	const struct account_thread *thread = account->threads.records;

	for (size_t n = account->threads.count; n; n--, thread++) {
		if (thread->foreign)
			continue;
		view->rows[view->n_rows++] = (struct row){
			.pid = thread->thread.pid,
			.tid = thread->thread.tid,
			.name = thread->thread.name,
			.state = state_of(thread->thread.state, thread->ended,
					  final),
			.cpu = thread->thread.cpu,
			.threads = 1,
			.usage = thread->usage,
		};
	}
}

static void list_processes(struct view *view, const struct account *account,
			   const struct final *final)
{
	const struct account_process *process = account->processes.records;

	for (size_t n = account->processes.count; n; n--, process++) {
		bool ended = process->last_take != account->takes;
		struct row row = {
			.pid = process->process.pid,
			.name = process->process.name,
			.state = state_of(process->process.state, ended, final),
			.cpu = -1,
			.threads = ended ? 0 : process->process.threads,
			.usage = process->seen,
			.exited = account_process_exited(process),
		};

		if (!account_has(account, process))
			continue;
		row.usage.times = account_process_times(process);
		view->rows[view->n_rows++] = row;
	}
}

/* Makes one row of those that have the same name, which stand together. */
static void group_rows(struct view *view, bool keep_state)
{
	size_t n = 0;

	for (size_t i = 0; i < view->n_rows; i++) {
		struct row *row = &view->rows[i];
		struct row *group = n ? &view->rows[n - 1] : NULL;

		if (!group || strcmp(group->name, row->name) != 0) {
			group = &view->rows[n++];
			*group = *row;
			group->pid = group->tid = 0;
			group->cpu = -1;
			if (!keep_state)
				group->state = 0;
			continue;
		}
		usage_add(&group->usage, &row->usage);
		group->threads += row->threads;
	}
	view->n_rows = n;
}

static void group(struct view *view, enum by by)
{
	if (by != BY_NAME && by != BY_STATE)
		return;
	for (size_t i = 0; by == BY_STATE && i < view->n_rows; i++)
		view->rows[i].name = state_word(view->rows[i].state);
	sort_rows(view, SORT_NAME);
	group_rows(view, by == BY_STATE);
}

/* ---- The rows below */

static void add_row(struct row *sum, const struct row *row)
{
	usage_add(&sum->usage, &row->usage);
	sum->threads += row->threads;
	sum->exited.total_ns += row->exited.total_ns;
	sum->exited.user_ns += row->exited.user_ns;
	sum->exited.system_ns += row->exited.system_ns;
}

/* Beyond the rows, by the clocks of the processes. */
static void sum_exited(struct view *view, const struct account *account)
{
	const struct account_process *process = account->processes.records;

	for (size_t n = account->processes.count; n; n--, process++) {
		struct usage usage = {
			.times = account_process_exited(process),
			.wait_ns = -1,
			.voluntary = -1,
			.involuntary = -1,
		};

		if (account_has(account, process))
			usage_add(&view->exited.usage, &usage);
	}
}

/* Of what is not known, nothing has been added up. */
static int64_t known(int64_t value)
{
	return value < 0 ? 0 : value;
}

/* Beyond these, by the kernel's account of a command. */
static void sum_unseen(struct view *view, const struct account *account,
		       const struct final *final)
{
	struct usage unseen = {.wait_ns = -1};
	struct usage sum = view->sum.usage;

	sum.times.total_ns += account->earlier_ns;
	unseen.times = usage_rest(&final->usage.times, &sum.times);
	/* Switches of the intervals before are not added up. */
	unseen.voluntary = final->usage.voluntary - known(sum.voluntary);
	unseen.involuntary = final->usage.involuntary - known(sum.involuntary);
	if (account->earlier_ns || unseen.voluntary < 0)
		unseen.voluntary = -1;
	if (account->earlier_ns || unseen.involuntary < 0)
		unseen.involuntary = -1;
	usage_add(&view->exited.usage, &unseen);
	usage_add(&view->sum.usage, &unseen);
}

static void sum_up(struct view *view, const struct account *account, enum by by,
		   const struct final *final)
{
	view->more = view->exited = view->sum = no_row;
	view->more.kind = ROW_MORE;
	view->exited.kind = ROW_EXITED;
	view->sum.kind = ROW_SUM;
	for (size_t i = 0; i < view->n_rows; i++) {
		add_row(&view->sum, &view->rows[i]);
		if (i >= view->n_shown)
			add_row(&view->more, &view->rows[i]);
	}
	/* Processes have it in their rows. */
	if (by != BY_PROCESS) {
		sum_exited(view, account);
		usage_add(&view->sum.usage, &view->exited.usage);
	}
	if (final->known)
		sum_unseen(view, account, final);
}

bool view_build(struct view *view, const struct stat_options *options,
		const struct account *account, const struct final *final)
{
	size_t most = options->by == BY_PROCESS ? account->processes.count
						: account->threads.count;

	*view = (struct view){
		.rows = calloc(most ? most : 1, sizeof(*view->rows))};
	if (!view->rows)
		return false;
	if (options->by == BY_PROCESS)
		list_processes(view, account, final);
	else
		list_threads(view, account, final);
	group(view, options->by);
	sort_rows(view, options->sort);
	view->n_shown = view->n_rows;
	if (options->top > 0 && (size_t)options->top < view->n_rows)
		view->n_shown = (size_t)options->top;
	sum_up(view, account, options->by, final);
	return true;
}

void view_free(struct view *view)
{
	free(view->rows);
	*view = (struct view){0};
}

bool view_in_seconds(const struct view *view)
{
	return view->sum.usage.times.total_ns >= 10000000000;
}
