// SPDX-License-Identifier: BSD-3-Clause
// digits.c - reads digits.csv: 64 pixels of 0..16 and a label on each line.
#include "host/examples/digits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS_PATH_MAX 4096
#define DIGITS_SPLIT_SEED 20

/* splitmix64: the next of a stream of random numbers. */
static uint64_t digits_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

void digits_shuffle(uint32_t *order, uint32_t nr, uint64_t seed)
{
	uint32_t i, j, swap;

	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr; i > 1; i--) {
		j = (uint32_t)(digits_random(&seed) % i);
		swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
}

static int digits_parse(struct digits *digits, uint32_t sample, const char *line)
{
	uint32_t i, limit;
	unsigned long value;
	char *end;

	for (i = 0; i <= DIGITS_PIXELS; i++) {
		value = strtoul(line, &end, 10);
		limit = i < DIGITS_PIXELS ? 16 : DIGITS_CLASSES - 1;
		if (end == line || value > limit || *line == '-')
			return -1;
		if (i == DIGITS_PIXELS)
			break;
		if (*end != ',')
			return -1;
		digits->pixels[sample][i] = (float)value / 16;
		line = end + 1;
	}
	digits->labels[sample] = (uint8_t)value;
	return *end == '\n' || *end == '\r' || *end == '\0' ? 0 : -1;
}

static int digits_read(struct digits *digits, FILE *file, const char *path)
{
	uint32_t place[DIGITS_ALL], nr = 0;
	char line[512];

	digits_shuffle(place, DIGITS_ALL, DIGITS_SPLIT_SEED);
	for (; fgets(line, sizeof(line), file) != NULL; nr++) {
		if (nr < DIGITS_ALL && digits_parse(digits, place[nr], line) == 0)
			continue;
		fprintf(stderr, "train: %s:%u: want %d lines of %d pixels 0..16 and a label 0..9\n",
			path, (unsigned int)nr + 1, DIGITS_ALL, DIGITS_PIXELS);
		return -1;
	}
	if (nr == DIGITS_ALL && !ferror(file))
		return 0;
	fprintf(stderr, "train: %s: only %u of %d lines could be read\n", path, (unsigned int)nr,
		DIGITS_ALL);
	return -1;
}

/* Beside the program in the build tree, or where `make install` puts it. */
static FILE *digits_find(char path[DIGITS_PATH_MAX])
{
	static const char *const places[] = { "../../host/examples/data",
					      "../../../share/tally/data", "../share/tally/data" };
	char self[DIGITS_PATH_MAX / 2];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *file = NULL;
	char *slash;
	size_t i;

	if (len <= 0)
		return NULL;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return NULL;
	*slash = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]) && file == NULL; i++) {
		snprintf(path, DIGITS_PATH_MAX, "%s/%s/digits.csv", self, places[i]);
		file = fopen(path, "re");
	}
	return file;
}

/* A pipe that nobody writes to is an empty file, not one to wait for. */
static FILE *digits_open(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 || fcntl(fd, F_SETFL, 0) != 0 ? NULL : fdopen(fd, "r");
}

int digits_load(struct digits *digits, const char *path)
{
	char found[DIGITS_PATH_MAX] = "digits.csv";
	FILE *file;
	int err;

	if (path != NULL) {
		file = digits_open(path);
	} else {
		file = digits_find(found);
		path = found;
	}
	if (file == NULL) {
		fprintf(stderr, "train: %s: %s; name the digits with --data FILE\n", path,
			strerror(errno));
		return -1;
	}
	err = digits_read(digits, file, path);
	fclose(file);
	return err;
}
