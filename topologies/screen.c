// SPDX-License-Identifier: BSD-3-Clause
// Stdout and stderr of the runner, with one progress line that gives way to everything else.
#include "topologies/screen.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void screen_init(struct screen *s)
{
	*s = (struct screen){ .progress = isatty(STDERR_FILENO) };
}

static void fd_write(struct screen *s, int fd, const char *text, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EAGAIN) { // someone outside made it non-blocking
			(void)poll(&p, 1, 1000);
		} else if (n < 0 && errno != EINTR) {
			s->unread |= fd == STDOUT_FILENO && errno == EPIPE;
			return;
		}
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
}

void screen_clear(struct screen *s)
{
	if (s->shown)
		fd_write(s, STDERR_FILENO, "\r\033[K", 4);
	s->shown = false;
}

void screen_pass(struct screen *s, int fd, const char *text, size_t len)
{
	if (!len)
		return;
	screen_clear(s);
	fd_write(s, fd, text, len);
	s->midline = text[len - 1] != '\n';
}

void screen_line(struct screen *s, int fd, const char *prefix, const char *text)
{
	char line[1200];
	int len = snprintf(line, sizeof(line) - 1, "%s%s", prefix, text);
	size_t n = (size_t)len < sizeof(line) - 1 ? (size_t)len : sizeof(line) - 2;

	line[n++] = '\n'; // in one write: other runs may share the terminal
	screen_clear(s);
	if (s->midline)
		fd_write(s, fd, "\n", 1);
	screen_pass(s, fd, line, n);
}

void screen_say(struct screen *s, const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	screen_line(s, STDERR_FILENO, "tally-fabric: ", text);
}

void screen_progress(struct screen *s, const char *text)
{
	if (!s->progress || s->midline)
		return;
	fd_write(s, STDERR_FILENO, "\r", 1);
	fd_write(s, STDERR_FILENO, text, strlen(text));
	fd_write(s, STDERR_FILENO, "\033[K", 3);
	s->shown = true;
}
