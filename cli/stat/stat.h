/* SPDX-License-Identifier: MIT */
/* The parts of `cpuclock stat`. */
#ifndef CPUCLOCK_STAT_H
#define CPUCLOCK_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../child.h"
#include "../output.h"
#include "cpuclock.h"
#include "snapshot.h"

/* ---- Options */

enum by { BY_THREAD, BY_PROCESS, BY_NAME, BY_STATE, N_BY };

enum sort {
	SORT_TOTAL,
	SORT_USER,
	SORT_SYSTEM,
	SORT_WAIT,
	SORT_SWITCHES,
	SORT_NAME,
	SORT_PID,
	SORT_TID,
	N_SORTS,
};

extern const char *const by_words[N_BY];
extern const char *const sort_words[N_SORTS];

struct stat_options {
	char **command; /* NULL: processes that run already */
	pid_t *pids;	/* those of the names behind those given */
	size_t n_pids;
	size_t n_given;
	const char **names;
	size_t n_names;
	bool all;
	bool wait;
	int64_t duration_ns; /* 0: not given, as the next ones */
	int64_t interval_ns;
	int64_t count;
	int64_t top; /* -1: not given; 0: all */
	enum by by;
	enum sort sort;
	const char *source; /* NULL: the best one */
	enum output_format format;
	const char *path; /* of the report, or NULL */
};

/* CMD_OK, an exit status, or -1 after --help. */
int stat_parse(int argc, char **argv, struct stat_options *options);

void stat_free_options(struct stat_options *options);

/* ---- Targets */

/* Adds the processes of the names given. CMD_OK, or says what is wrong. */
int stat_find_names(struct stat_options *options);

/* Says which of the PIDs given is not in the snapshot, and why. */
int stat_check_targets(const struct stat_options *options,
		       const struct cpuclock_snapshot *snapshot);

/* Sorts PIDs and drops repeated ones; returns how many are left. */
size_t stat_unique_pids(pid_t *pids, size_t n_pids);

/* The error of a call for snapshots, in words; returns CMD_FAILURE. */
int stat_fail(const char *source, int err);

/* ---- Privileges */

/*
 * Gives up all capabilities but those that are needed from here on: to signal
 * a child, to see what hidepid hides where source proc saw it, and to put a
 * file in place.
 */
void stat_drop_privileges(bool has_child, bool reads_proc, bool writes_file);

/* ---- Usage */

struct usage {
	struct cpuclock_times times;
	int64_t wait_ns; /* -1: not known, as the next ones */
	int64_t voluntary;
	int64_t involuntary;
};

extern const struct usage no_usage;

void times_add(struct cpuclock_times *sum, const struct cpuclock_times *times);
void times_subtract(struct cpuclock_times *sum,
		    const struct cpuclock_times *times);

/* Of the sum what is known of the parts. */
void usage_add(struct usage *sum, const struct usage *usage);

/* What is in the sum beyond a part, where it is; the total decides. */
struct cpuclock_times usage_rest(const struct cpuclock_times *sum,
				 const struct cpuclock_times *part);

/* Of a thread since it was @before; of all its time if that is NULL. */
struct usage usage_since(const struct cpuclock_thread *now,
			 const struct cpuclock_thread *before);

/* Cuts the times, in proportion; the rest is then not known. */
void usage_limit(struct usage *usage, int64_t most_ns);

/* ---- Account: who has used how much since it was begun */

struct account_thread {
	struct cpuclock_thread thread; /* its latest; first, for the list */
	struct usage usage;
	bool ended;
	bool foreign; /* of such a process */
};

struct account_process {
	struct cpuclock_process process; /* its latest; first, for the list */
	struct cpuclock_times times;	 /* used, by its own clock */
	struct cpuclock_times latest;	 /* of that, since the last take */
	struct usage seen;		 /* used by the threads seen */
	int64_t older; /* index of the last holder of this PID; -1 */
	uint64_t last_take;
	bool foreign; /* was not asked for: it has the PID of one that was */
};

struct account {
	struct cpuclock__list threads;
	struct cpuclock__list processes;
	struct cpuclock__list latest; /* by PID alone: the youngest process */
	pid_t hidden;		      /* this command itself, or 0 */
	uint64_t takes;
	uint64_t first_take;		  /* that this account begins with */
	bool closed;			  /* no process is added */
	int live_threads, live_processes; /* in the last snapshot */
	int gone;	 /* processes that were there, and are not */
	int gone_unseen; /* of those, not seen with all that they have used */
	bool knows_exits;
	int64_t spread_ns; /* that looks of a take, and the last, can differ */
	int64_t stale_ns;  /* the most of any thread, in the last snapshot */
	int64_t begin_ns, end_ns;
	int64_t scan_ns;    /* that the last take took */
	int64_t earlier_ns; /* used before account_clear */
};

void account_init(struct account *account, pid_t hidden);

/* Begins with a snapshot. If @closed, processes that it does not have, with a
 * PID that was given anew, are not to be counted. 0, or -ENOMEM. */
int account_begin(struct account *account,
		  const struct cpuclock_snapshot *snapshot, bool closed);

/* Is it to be shown? */
bool account_has(const struct account *account,
		 const struct account_process *process);

/* Adds what was used since the snapshot before. 0, or -ENOMEM. */
int account_add(struct account *account,
		const struct cpuclock_snapshot *snapshot);

/* Begins anew at the last snapshot. */
void account_clear(struct account *account);

void account_free(struct account *account);

/* Used by a process, in all, and by those of its threads that ended unseen. */
struct cpuclock_times
account_process_times(const struct account_process *process);
struct cpuclock_times
account_process_exited(const struct account_process *process);

/* What the kernel says of a command, if it has ended. */
struct final {
	bool known;
	struct usage usage; /* of all that was waited for */
	int status;
};

/* ---- View: the rows, as they are asked for */

enum row_kind { ROW_NORMAL, ROW_MORE, ROW_EXITED, ROW_SUM };

struct row {
	enum row_kind kind;
	char state; /* 0: none */
	pid_t pid, tid;
	int cpu; /* -1: none */
	int64_t threads;
	const char *name;
	struct usage usage;
	struct cpuclock_times exited; /* of a process: part of its times */
};

struct view {
	struct row *rows; /* sorted; the first n_shown of n_rows are shown */
	size_t n_rows;
	size_t n_shown;
	struct row more, exited, sum;
};

/* False if memory is short. */
bool view_build(struct view *view, const struct stat_options *options,
		const struct account *account, const struct final *final);
void view_free(struct view *view);

/* Are its times too large for milliseconds? */
bool view_in_seconds(const struct view *view);

const char *state_word(char state);

/* ---- Report */

#define MAX_SCANS 1024

/* What the scans cost. Of the latest ones, for medians. */
struct scans {
	uint64_t count;
	int64_t cpu_ns; /* of all */
	int64_t durations[MAX_SCANS];
	int64_t cpus[MAX_SCANS];
};

int64_t scans_median(const struct scans *scans, const int64_t *values);

struct report {
	const struct stat_options *options;
	const struct account *account;
	const struct scans *scans;
	struct cpuclock_snapshot_info info;
	const char *passed_over; /* the better source that does not work ... */
	const char *why;	 /* ... and why not; NULL: none is better */
	struct final final;
	uint64_t number; /* of this report, from 1 */
	FILE *stream;
};

/* False if memory was short. */
bool stat_print(const struct report *report);

/* The standard error of user and system: half a tick by the root of the ticks
 * seen, and not more than the total. */
int64_t stat_split_error(const struct report *report, int64_t total_ns);

/* The parts of the report for people. */
void stat_print_head(const struct report *report);
void stat_print_foot(const struct report *report, const struct view *view);

void stat_print_json(const struct report *report, const struct view *view);

/* The rows in JSON go into an array that is open; in CSV, with a line of keys
 * for the first report. */
bool stat_print_rows(const struct report *report, const struct view *view,
		     struct json *json);

/* ---- The work */

int stat_run(struct stat_options *options);

#endif
