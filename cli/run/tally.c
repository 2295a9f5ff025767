/* SPDX-License-Identifier: MIT */
/* The report: its file, and what is said of it at the end. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../json.h"
#include "../table.h"
#include "run.h"

static const struct {
	const char *key;
	const char *label;
} paths[REPORT_PATHS] = {
	[REPORT_PROGRAMS] = {"programs", NULL},
	[REPORT_CARRIED] = {"clock_gettime_without_call",
			    "clock_gettime, without a system call"},
	[REPORT_ASKED] = {"clock_gettime_with_call",
			  "clock_gettime, with a system call"},
	[REPORT_USAGE] = {"getrusage", "getrusage of the thread"},
	[REPORT_OTHER_CPU_CLOCK] = {"passed_on_cpu_clocks",
				    "passed on: other CPU clocks"},
	[REPORT_OTHER_USAGE] = {"passed_on_getrusage",
				"passed on: other getrusage"},
	[REPORT_OTHER_CLOCK] = {"passed_on_clocks", "passed on: other clocks"},
	[REPORT_JAVA_CURRENT] = {"java_current", "Java: the current thread"},
	[REPORT_JAVA_OTHER] = {"java_other", "Java: another thread"},
	[REPORT_JAVA_ORIGINAL] = {"java_original",
				  "Java: the way of the JVM itself"},
};

/* Where programs find it that change their folder: an absolute path. */
static int make_file(const char *folder, char *path)
{
	char resolved[PATH_MAX];

	if (!folder || !realpath(folder, resolved) ||
	    (size_t)snprintf(path, PATH_MAX, "%s/cpuclock-XXXXXX", resolved) >=
		    PATH_MAX)
		return -1;
	return mkostemp(path, O_CLOEXEC);
}

static struct report *map(int fd)
{
	struct report *mapped;

	if (ftruncate(fd, sizeof(*mapped)) != 0)
		return NULL;
	mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	return mapped == MAP_FAILED ? NULL : mapped;
}

int run_make_file(char *ret_path)
{
	int fd = make_file("/dev/shm", ret_path);

	if (fd < 0)
		fd = make_file(getenv("TMPDIR"), ret_path);
	return fd < 0 ? make_file("/tmp", ret_path) : fd;
}

int tally_open(struct tally *tally)
{
	int fd = run_make_file(tally->path);
	int err;

	if (fd < 0)
		return -errno;
	tally->report = map(fd);
	err = errno;
	close(fd);
	if (!tally->report || setenv(REPORT_VARIABLE, tally->path, 1) != 0) {
		tally_remove(tally);
		return -err;
	}
	tally->report->magic = REPORT_MAGIC;
	return 0;
}

void tally_remove(const struct tally *tally)
{
	unlink(tally->path);
}

static uint64_t count_of(const struct tally *tally, size_t path)
{
	return atomic_load_explicit(&tally->report->counts[path],
				    memory_order_relaxed);
}

static bool print_counts(const struct tally *tally, FILE *stream)
{
	static const struct table_column columns[] = {{"read", false},
						      {"times", true}};
	struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]));
	bool ok;

	if (!table)
		return false;
	for (size_t i = REPORT_PROGRAMS + 1; i < REPORT_PATHS; i++) {
		/* Of Java only where there is any. */
		if (i >= REPORT_JAVA_CURRENT && count_of(tally, i) == 0)
			continue;
		table_cell(table, "%s", paths[i].label);
		table_cell(table, "%" PRIu64, count_of(tally, i));
	}
	ok = table_print(table, stream);
	table_free(table);
	return ok;
}

bool tally_print(const struct tally *tally, FILE *stream)
{
	uint64_t programs = count_of(tally, REPORT_PROGRAMS);

	if (programs == 0) {
		fputs("cpuclock run: no program loaded the shim, so nothing "
		      "was counted: it does not get into\n"
		      "static and setuid programs, nor into those of another "
		      "user\n",
		      stream);
		return true;
	}
	fprintf(stream, "cpuclock run: reads in %" PRIu64 " program%s\n",
		programs, programs == 1 ? "" : "s");
	return print_counts(tally, stream);
}

void tally_print_json(const struct tally *tally, FILE *stream)
{
	struct json json = {.stream = stream};

	json_begin_object(&json, NULL);
	for (size_t i = 0; i < REPORT_PATHS; i++)
		json_integer(&json, paths[i].key, (int64_t)count_of(tally, i));
	json_end_object(&json);
}
