// SPDX-License-Identifier: BSD-3-Clause
// What the fabric runner says about itself, on stderr.
#include "topologies/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static bool verbose; // written once, before there are other processes
static struct timespec start;

void say_init(bool be_verbose)
{
	verbose = be_verbose;
	clock_gettime(CLOCK_MONOTONIC, &start);
}

int say_error(const char *format, ...)
{
	va_list ap;

	fputs("tally-fabric: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}

void say_note(const char *format, ...)
{
	struct timespec t;
	va_list ap;

	if (!verbose)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	fprintf(stderr, "tally-fabric: %6.3f s  ",
		(double)(t.tv_sec - start.tv_sec) + (double)(t.tv_nsec - start.tv_nsec) / 1e9);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}
