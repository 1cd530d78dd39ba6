/* SPDX-License-Identifier: BSD-3-Clause */
/* Stdout and stderr of the runner, with one progress line that gives way to everything else. */
#ifndef TOPOLOGIES_SCREEN_H
#define TOPOLOGIES_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

struct screen {
	bool progress; /* stderr is a terminal */
	bool shown;    /* the progress line stands there now */
	bool midline;  /* what was passed on last did not end a line */
	bool unread;   /* nobody reads stdout any more */
};

void screen_init(struct screen *s);
/* As it is; fd is 1 or 2. */
void screen_pass(struct screen *s, int fd, const char *text, size_t len);
/* A whole line: "<prefix><text>\n". */
void screen_line(struct screen *s, int fd, const char *prefix, const char *text);
__attribute__((format(printf, 2, 3))) void screen_say(struct screen *s, const char *format, ...);
/* Only on a terminal, and only where no line is half written. */
void screen_progress(struct screen *s, const char *text);
void screen_clear(struct screen *s);

#endif
