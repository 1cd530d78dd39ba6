/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the output of a program apart into lines. */
#ifndef TOPOLOGIES_STREAM_H
#define TOPOLOGIES_STREAM_H

#include <stdbool.h>
#include <stddef.h>

enum { STREAM_LINE = 1000 };

struct stream {
	int fd; /* reading end of a pipe, non-blocking; -1: closed */
	char line[STREAM_LINE];
	size_t len;
	/* The bytes as they come; may be NULL. */
	void (*pass)(struct stream *s, const char *text, size_t len);
	/* A line without its end, cut at STREAM_LINE - 1. */
	void (*line_end)(struct stream *s, const char *line);
	void *owner;
};

/* Returns the writing end, for the program, or -1. */
int stream_open(struct stream *s);
/* Reads what is there; closes at the end of the file. */
void stream_input(struct stream *s);
/* The program is gone: what is there, also a line without end, and then no more. */
void stream_finish(struct stream *s);

#endif
