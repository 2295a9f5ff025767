/* SPDX-License-Identifier: MIT */
/* The columns of the rows, for each way of grouping. */
#include <string.h>

#include "stat.h"

enum field {
	F_KIND,
	F_PID,
	F_TID,
	F_NAME,
	F_LABEL,
	F_STATE,
	F_CPU,
	F_THREADS,
	F_PERCENT,
	F_TOTAL,
	F_USER,
	F_SYSTEM,
	F_ERROR,
	F_EXITED,
	F_WAIT,
	F_VOLUNTARY,
	F_INVOLUNTARY,
	N_FIELDS,
};

#define IN(by) (1U << (by))
#define IN_ALL (IN(N_BY) - 1)

/*
 * What is left out first on a narrow terminal has the lowest number. The name
 * and what stands in its place in the rows below are one column of text.
 */
static const struct {
	struct output_column column;
	unsigned int in; /* bits: where it makes sense */
} fields[N_FIELDS] = {
	[F_KIND] = {{NULL, "row", OUTPUT_WORD, 0, false}, IN_ALL},
	[F_PID] = {{"pid", "pid", OUTPUT_COUNT, 0, false},
		   IN(BY_THREAD) | IN(BY_PROCESS)},
	[F_TID] = {{"tid", "tid", OUTPUT_COUNT, 0, false}, IN(BY_THREAD)},
	[F_NAME] = {{NULL, "name", OUTPUT_NAME, 0, false},
		    IN(BY_THREAD) | IN(BY_PROCESS) | IN(BY_NAME)},
	[F_LABEL] = {{"name", NULL, OUTPUT_NAME, 0, true}, IN_ALL},
	[F_STATE] = {{"s", "state", OUTPUT_WORD, 5, false},
		     IN(BY_THREAD) | IN(BY_PROCESS) | IN(BY_STATE)},
	[F_CPU] = {{"cpu", "cpu", OUTPUT_COUNT, 1, false}, IN(BY_THREAD)},
	[F_THREADS] = {{"threads", "threads", OUTPUT_COUNT, 4, false},
		       IN(BY_PROCESS) | IN(BY_NAME) | IN(BY_STATE)},
	[F_PERCENT] = {{"%cpu", "percent", OUTPUT_PERCENT, 0, false}, IN_ALL},
	[F_TOTAL] = {{"total", "total_ns", OUTPUT_TIME, 0, false}, IN_ALL},
	[F_USER] = {{"user", "user_ns", OUTPUT_TIME, 0, false}, IN_ALL},
	[F_SYSTEM] = {{"system", "system_ns", OUTPUT_TIME, 0, false}, IN_ALL},
	[F_ERROR] = {{NULL, "split_error_ns", OUTPUT_TIME, 0, false}, IN_ALL},
	[F_EXITED] = {{"exited", "exited_ns", OUTPUT_TIME, 6, false},
		      IN(BY_PROCESS)},
	[F_WAIT] = {{"wait", "wait_ns", OUTPUT_TIME, 7, false}, IN_ALL},
	[F_VOLUNTARY] = {{"vol", "voluntary_switches", OUTPUT_COUNT, 3, false},
			 IN_ALL},
	[F_INVOLUNTARY] = {{"inv", "involuntary_switches", OUTPUT_COUNT, 2,
			    false},
			   IN_ALL},
};

/* In thousandths. One thread cannot use more than one CPU; what is above comes
 * from the time between the moments when it and the others were looked at. */
static int64_t percent_of(const struct report *report, const struct row *row)
{
	int64_t wall_ns = report->account->end_ns - report->account->begin_ns;
	double share;

	if (wall_ns <= 0)
		return -1;
	share = 1e5 * (double)row->usage.times.total_ns / (double)wall_ns;
	if (row->kind == ROW_NORMAL && row->tid && share > 1e5)
		share = 1e5;
	return (int64_t)share;
}

static const char *kind_word(const struct report *report, const struct row *row)
{
	static const char *const words[] = {
		[ROW_MORE] = "more",
		[ROW_EXITED] = "exited",
		[ROW_SUM] = "sum",
	};

	return row->kind == ROW_NORMAL ? by_words[report->options->by]
				       : words[row->kind];
}

static const char *letter_of(char state)
{
	static char letter[2];

	letter[0] = state;
	return state ? letter : NULL;
}

static const char *label_of(const struct report *report, const struct row *row,
			    size_t n_more)
{
	static char more[32];

	switch (row->kind) {
	case ROW_MORE:
		snprintf(more, sizeof(more), "%zu more", n_more);
		return more;
	case ROW_EXITED:
		return report->options->by == BY_PROCESS ? "exited processes"
							 : "exited threads";
	case ROW_SUM:
		return "sum";
	default:
		return row->name;
	}
}

static int64_t or_none(int64_t id)
{
	return id > 0 ? id : OUTPUT_NO_VALUE;
}

static union output_value text_of(const char *text)
{
	return (union output_value){.text = text};
}

static void fill(const struct report *report, const struct row *row,
		 const char *label, union output_value *values)
{
	const struct usage *usage = &row->usage;
	bool has_threads = row->kind != ROW_EXITED;

	values[F_KIND] = text_of(kind_word(report, row));
	values[F_NAME] = text_of(row->kind == ROW_NORMAL ? row->name : NULL);
	values[F_LABEL] = text_of(label);
	values[F_STATE] = text_of(letter_of(row->state));
	values[F_PID].number = or_none(row->pid);
	values[F_TID].number = or_none(row->tid);
	values[F_CPU].number = row->cpu < 0 ? OUTPUT_NO_VALUE : row->cpu;
	values[F_THREADS].number = has_threads ? row->threads : OUTPUT_NO_VALUE;
	values[F_PERCENT].number = percent_of(report, row);
	values[F_TOTAL].number = usage->times.total_ns;
	values[F_USER].number = usage->times.user_ns;
	values[F_SYSTEM].number = usage->times.system_ns;
	values[F_ERROR].number =
		stat_split_error(report, usage->times.total_ns);
	values[F_EXITED].number =
		has_threads ? row->exited.total_ns : OUTPUT_NO_VALUE;
	values[F_WAIT].number = usage->wait_ns;
	values[F_VOLUNTARY].number = usage->voluntary;
	values[F_INVOLUNTARY].number = usage->involuntary;
}

/* What no row knows takes no room from people. */
static bool is_shown(const struct report *report, const struct view *view,
		     size_t field)
{
	const struct usage *sum = &view->sum.usage;

	if (!(fields[field].in & IN(report->options->by)))
		return false;
	if (report->options->format != OUTPUT_TEXT)
		return true;
	return !(field == F_WAIT && sum->wait_ns < 0) &&
	       !(field == F_VOLUNTARY && sum->voluntary < 0) &&
	       !(field == F_INVOLUNTARY && sum->involuntary < 0);
}

static void add_row(const struct report *report, const struct view *view,
		    const struct row *row, struct output *output)
{
	union output_value all[N_FIELDS], values[N_FIELDS];
	size_t n = 0;

	fill(report, row, label_of(report, row, view->n_rows - view->n_shown),
	     all);
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (is_shown(report, view, i))
			values[n++] = all[i];
	}
	output_row(output, values);
}

static void add_rows(const struct report *report, const struct view *view,
		     struct output *output)
{
	bool in_rows =
		report->options->by == BY_PROCESS && !report->final.known;

	for (size_t i = 0; i < view->n_shown; i++)
		add_row(report, view, &view->rows[i], output);
	output_gap(output);
	if (view->n_rows > view->n_shown)
		add_row(report, view, &view->more, output);
	if (!in_rows)
		add_row(report, view, &view->exited, output);
	add_row(report, view, &view->sum, output);
}

bool stat_print_rows(const struct report *report, const struct view *view,
		     struct json *json)
{
	struct output_column columns[N_FIELDS];
	struct output output = {
		.format = report->options->format,
		.columns = columns,
		.stream = report->stream,
		.in_seconds = view_in_seconds(view),
		.json = json,
	};

	for (size_t i = 0; i < N_FIELDS; i++) {
		if (is_shown(report, view, i))
			columns[output.n_columns++] = fields[i].column;
	}
	output_begin(&output, report->number == 1);
	add_rows(report, view, &output);
	return output_end(&output, output_width(report->stream));
}
