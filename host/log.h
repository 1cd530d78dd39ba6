/* SPDX-License-Identifier: BSD-3-Clause */
/* log.h - the only place from which the library speaks by itself. */
#ifndef HOST_LOG_H
#define HOST_LOG_H

#include "host/include/tally.h"

/*
 * Process-wide; the last communicator opened decides.  pattern: NULL or "" for stderr, else a file
 * name with %h (host), %p (process) and %%.  Returns 0, or -errno if the file cannot be opened; the
 * sink then stays what it was.
 */
int log_setup(int level, const char *pattern);
int log_level(void);

/* One line; level is one of enum tally_log_level. */
void log_print(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
