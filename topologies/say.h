/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fabric runner says about itself, on stderr. */
#ifndef TOPOLOGIES_SAY_H
#define TOPOLOGIES_SAY_H

#include <stdbool.h>

/* Whether say_note() is heard; with the time since this call. */
void say_init(bool verbose);

/* "tally-fabric: <text>".  Always returns -1, so that a caller can fail with it. */
__attribute__((format(printf, 1, 2))) int say_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void say_line(const char *format, ...);
__attribute__((format(printf, 1, 2))) void say_note(const char *format, ...);
/* strerror(), and what helps where a limit of this user's was met.  Not EAGAIN of what may just be repeated. */
const char *say_errno(int err);

#endif
