// SPDX-License-Identifier: BSD-3-Clause
// replay.c - runs a fuzz target over files or folders; without arguments over its committed corpus.
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 1 << 20, PATH_ROOM = 1024 };

static const char corpus[] = "tests/fuzz/corpus/";
static char current[2 * PATH_ROOM];

static void crashed(int sig)
{
	static const char text[] = "replay: crashed on ";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0 &&
	    write(STDERR_FILENO, current, strlen(current)) > 0 && write(STDERR_FILENO, "\n", 1) > 0)
		raise(sig);
	_exit(1);
}

static int replay_file(const char *path)
{
	static uint8_t input[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	uint8_t *copy;
	size_t size;

	if (!file) {
		fprintf(stderr, "replay: cannot read %s\n", path);
		return -1;
	}
	size = fread(input, 1, sizeof(input), file);
	fclose(file);
	snprintf(current, sizeof(current), "%s", path);
	copy = fuzz_copy(input, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	return 1;
}

/* How many files it ran, -1: one could not be read. */
static int replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int nr = 0;

	if (!dir) {
		fprintf(stderr, "replay: cannot read %s; run it from the root of the sources\n",
			path);
		return -1;
	}
	while (nr >= 0 && (entry = readdir(dir)) != NULL) {
		char file[PATH_ROOM + sizeof(entry->d_name) + 2];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		nr = replay_file(file) < 0 ? -1 : nr + 1;
	}
	closedir(dir);
	return nr;
}

static int replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return replay_file(path);
	return replay_folder(path);
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = crashed, .sa_flags = (int)SA_RESETHAND };
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	char own[PATH_ROOM];
	int total = 0;

	sigaction(SIGABRT, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	snprintf(own, sizeof(own), "%s%s", corpus,
		 strncmp(name, "fuzz_", 5) == 0 ? name + 5 : name);
	for (int i = 1; i < argc || total == 0; i++) {
		int nr = replay(argc > 1 ? argv[i] : own);

		if (nr <= 0)
			return 1;
		total += nr;
		if (argc == 1)
			break;
	}
	printf("%s: %d inputs, no finding\n", name, total);
	return 0;
}
