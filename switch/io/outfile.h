/* SPDX-License-Identifier: BSD-3-Clause */
/* outfile.h - opens a file that the user named to be written, and keeps it apart from the standard ones. */
#ifndef SWITCH_IO_OUTFILE_H
#define SWITCH_IO_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

/* NULL and errno, ENXIO for a pipe that nobody reads: it is not waited for. */
FILE *outfile_open(const char *path, bool truncate);
/*
 * First thing in a program: what is missing of standard input, output and error is opened, so that no
 * other file becomes it and is written into.  Using it still fails.
 */
void outfile_keep_standard(void);
/* Whether both are one regular file, by whatever names. */
bool outfile_is(const char *path, const char *other);
/*
 * Of an open file or directory, until it is closed or the process ends, however it ends: false if another has it.  A
 * file system without locks has none that does.
 */
bool outfile_lock(int fd);
/* errno in words, for what outfile_open() said. */
const char *outfile_error(int why);

#endif
