/* SPDX-License-Identifier: BSD-3-Clause */
/* outfile.h - opens a file that the user named to be written. */
#ifndef SWITCH_IO_OUTFILE_H
#define SWITCH_IO_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

/* NULL and errno, ENXIO for a pipe that nobody reads: it is not waited for. */
FILE *outfile_open(const char *path, bool truncate);
/* errno in words, for what outfile_open() said. */
const char *outfile_error(int why);

#endif
