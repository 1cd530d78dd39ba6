/* SPDX-License-Identifier: BSD-3-Clause */
/* What a recorded run says at its end, DIR/result.txt: the file has this name only when it is whole. */
#ifndef TOPOLOGIES_RESULT_H
#define TOPOLOGIES_RESULT_H

#include <stddef.h>

#include "topologies/record.h"

/*
 * What this process itself prints from now on is also in DIR/result.txt, and in a log, at once: if a signal ends it, both
 * say so, and the former keeps the name that ends in .partial.  0, or -1 after saying why not.
 */
int result_output(const struct record *rec);
/* All of it, and the exit code; 0, or -1 after saying why it is not whole.  Without --record nothing. */
int result_write(const struct record *rec, const char *text, size_t len, int code);
/* After the run, by whoever made the directory: its exit code, unless result_write() has said it. */
void result_close(const struct record *rec, int code);

#endif
