/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over the files, and the files in the folders, that are
 * named as arguments, without libFuzzer. Prints TAP; 1 if a file could not be
 * read, or if there was none. A target that finds a fault aborts.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int count;
static bool failed;

static void report(const char *path, int error)
{
	count++;
	if (error) {
		failed = true;
		errno = error;
		printf("not ok %u - %s: %m\n", count, path);
	} else {
		printf("ok %u - %s\n", count, path);
	}
}

/* One input, in a block of its size: a byte read too many is seen. */
static int replay_open_file(FILE *file)
{
	struct stat status;
	uint8_t *block;
	size_t size;
	int error = 0;

	if (fstat(fileno(file), &status) < 0)
		return errno;
	size = (size_t)status.st_size;
	block = malloc(size ? size : 1);
	if (!block)
		return ENOMEM;
	if (fread(block, 1, size, file) != size)
		error = EIO;
	else
		LLVMFuzzerTestOneInput(size ? block : block + 1, size);
	free(block);
	return error;
}

static void replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file) {
		report(path, errno);
		return;
	}
	report(path, replay_open_file(file));
	fclose(file);
}

/* Not the folders in it. */
static void replay_folder(const char *path)
{
	struct dirent **entries;
	int i, n;

	n = scandir(path, &entries, NULL, alphasort);
	if (n < 0) {
		report(path, errno);
		return;
	}
	for (i = 0; i < n; i++) {
		char *below;

		if (entries[i]->d_name[0] != '.') {
			if (asprintf(&below, "%s/%s", path,
				     entries[i]->d_name) < 0)
				abort();
			replay_file(below);
			free(below);
		}
		free(entries[i]);
	}
	free(entries);
}

static void replay(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		report(path, errno);
	else if (S_ISDIR(status.st_mode))
		replay_folder(path);
	else
		replay_file(path);
}

int main(int argc, char **argv)
{
	int i;

	/* What was run must be seen when the next input aborts. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 1; i < argc; i++)
		replay(argv[i]);
	printf("1..%u\n", count);
	if (!count)
		fprintf(stderr, "replay: no input\n");
	return failed || !count;
}
