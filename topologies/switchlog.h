/* SPDX-License-Identifier: BSD-3-Clause */
/* The last lines that a switch printed. */
#ifndef TOPOLOGIES_SWITCHLOG_H
#define TOPOLOGIES_SWITCHLOG_H

#include <stdbool.h>

#include "topologies/stream.h"

enum { SWITCHLOG_LINES = 256 };

struct switchlog_line {
	char text[STREAM_LINE];
	bool warning, shown;
};

struct switchlog {
	struct switchlog_line line[SWITCHLOG_LINES]; /* a ring */
	unsigned int nr;			     /* lines ever */
	unsigned int mark; /* nr when it was asked to end: totals follow */
};

/* Keeps it as the newest; the line is valid until the ring comes round. */
struct switchlog_line *switchlog_add(struct switchlog *l, const char *text, bool from_stderr);
/* The oldest line still kept, at or after `from`; then up to nr - 1 by switchlog_get(). */
unsigned int switchlog_first(const struct switchlog *l, unsigned int from);
struct switchlog_line *switchlog_get(struct switchlog *l, unsigned int i);

#endif
