/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the picture of a topology where the user wants it. */
#ifndef TOPOLOGIES_DRAW_FILE_H
#define TOPOLOGIES_DRAW_FILE_H

#include "topologies/draw.h"

/* By `format`, "svg" or "dot", or else by the end of the path; both may be NULL.  -1: another format. */
int draw_format_choose(const char *format, const char *path, enum draw_format *to);
/* To standard output if path is NULL.  0, or -1 after saying why. */
int draw_file(struct topology *t, enum draw_format format, const char *path);

#endif
