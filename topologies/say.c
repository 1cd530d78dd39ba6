// SPDX-License-Identifier: BSD-3-Clause
// What the fabric runner says about itself, on stderr.
#include "topologies/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool verbose; // written once, before there are other processes
static struct timespec start;

void say_init(bool be_verbose)
{
	verbose = be_verbose;
	clock_gettime(CLOCK_MONOTONIC, &start);
}

static void line_print(const char *format, va_list ap)
{
	fputs("tally-fabric: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
}

int say_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	line_print(format, ap);
	va_end(ap);
	return -1;
}

void say_line(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	line_print(format, ap);
	va_end(ap);
}

const char *say_errno(int err)
{
	switch (err) {
	case EMFILE:
		return "too many open files: raise the limit, as by `ulimit -n 4096`";
	case EAGAIN:
		return "too many processes of this user: end some, or raise `ulimit -u`";
	case ENOMEM:
		return "not enough memory: end other programs, or raise `ulimit -v`";
	case E2BIG:
		return "its arguments and environment are too large: make them smaller, or raise "
		       "`ulimit -s`";
	default:
		return strerror(err);
	}
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
