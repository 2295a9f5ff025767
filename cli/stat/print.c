/* SPDX-License-Identifier: MIT */
/* A report in each of its formats, and what all of them say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

int64_t stat_split_error(const struct report *report, int64_t total_ns)
{
	double error =
		sqrt((double)total_ns * (double)report->info.tick_ns) / 2;

	return error < (double)total_ns ? (int64_t)error : total_ns;
}

static int compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

int64_t scans_median(const struct scans *scans, const int64_t *values)
{
	size_t n = scans->count < MAX_SCANS ? scans->count : MAX_SCANS;
	int64_t sorted[MAX_SCANS];

	if (n == 0)
		return 0;
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	return sorted[n / 2];
}

bool stat_print(const struct report *report)
{
	struct view view;
	bool ok = view_build(&view, report->options, report->account,
			     &report->final);

	if (!ok)
		return false;
	switch (report->options->format) {
	case OUTPUT_TEXT:
		stat_print_head(report);
		ok = stat_print_rows(report, &view, NULL);
		stat_print_foot(report, &view);
		break;
	case OUTPUT_JSON:
		stat_print_json(report, &view);
		break;
	case OUTPUT_CSV:
		ok = stat_print_rows(report, &view, NULL);
		break;
	}
	view_free(&view);
	return ok;
}
