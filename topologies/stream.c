// SPDX-License-Identifier: BSD-3-Clause
// Takes the output of a program apart into lines.
#include "topologies/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { READ_SIZE = 16384, READS_MAX = 16 };

int stream_open(struct stream *s)
{
	int fd[2];

	s->fd = -1;
	s->len = 0;
	if (pipe2(fd, O_CLOEXEC))
		return -1;
	if (fcntl(fd[0], F_SETFL, O_NONBLOCK)) {
		close(fd[0]);
		close(fd[1]);
		return -1;
	}
	s->fd = fd[0];
	return fd[1];
}

static void line_flush(struct stream *s)
{
	if (s->len && s->line[s->len - 1] == '\r')
		s->len--;
	s->line[s->len] = 0;
	s->len = 0;
	s->line_end(s, s->line);
}

static void stream_split(struct stream *s, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			line_flush(s);
		else if (s->len < STREAM_LINE - 1)
			s->line[s->len++] = text[i];
	}
}

// A few reads at most, so that a program that never stops writing cannot hold up the others.
void stream_input(struct stream *s)
{
	static char text[READ_SIZE]; // a stack may be small
	ssize_t n;

	for (int i = 0; i < READS_MAX && s->fd >= 0; i++) {
		n = read(s->fd, text, sizeof(text));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close(s->fd);
			s->fd = -1;
			return;
		}
		if (s->pass)
			s->pass(s, text, (size_t)n);
		stream_split(s, text, (size_t)n);
		if ((size_t)n < sizeof(text))
			return;
	}
}

void stream_finish(struct stream *s)
{
	stream_input(s);
	if (s->len)
		line_flush(s);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
