// SPDX-License-Identifier: BSD-3-Clause
// Tests of the line splitter: lines however the bytes come, long ones cut, the last one too.
#include "topologies/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES_MAX = 16, TEXT_MAX = 1 << 16 };

struct record {
	char line[LINES_MAX][STREAM_LINE];
	unsigned int nr;
	char text[TEXT_MAX];
	size_t len;
};

static struct record record;
static struct stream stream;

static void take_pass(struct stream *s, const char *text, size_t len)
{
	struct record *r = s->owner;

	memcpy(r->text + r->len, text, len);
	r->len += len;
}

static void take_line(struct stream *s, const char *line)
{
	struct record *r = s->owner;

	snprintf(r->line[r->nr++ % LINES_MAX], STREAM_LINE, "%s", line);
}

static int begin(void)
{
	int fd;

	memset(&record, 0, sizeof(record));
	stream = (struct stream){ .pass = take_pass, .line_end = take_line, .owner = &record };
	fd = stream_open(&stream);
	assert_true(fd >= 0 && stream.fd >= 0);
	return fd;
}

static void put(int fd, const char *text, size_t len)
{
	assert_int_equal(write(fd, text, len), len);
}

static void stream_input__lines_in_pieces(void **state)
{
	static const char text[] = "first\nsecond line\r\n\nfourth\n";
	static const char *const want[] = { "first", "second line", "", "fourth" };
	int fd = begin();

	(void)state;
	for (size_t i = 0; text[i]; i++) {
		put(fd, text + i, 1);
		stream_input(&stream);
	}
	assert_int_equal(record.nr, 4);
	for (int i = 0; i < 4; i++)
		assert_string_equal(record.line[i], want[i]);
	assert_string_equal(record.text, text);
	close(fd);
	stream_finish(&stream);
	assert_int_equal(record.nr, 4);
}

static void stream_input__several_lines_at_once(void **state)
{
	int fd = begin();

	(void)state;
	put(fd, "a\nb\nc", 5);
	stream_input(&stream);
	assert_int_equal(record.nr, 2);
	assert_string_equal(record.line[1], "b");
	put(fd, "d\n", 2);
	stream_input(&stream);
	assert_int_equal(record.nr, 3);
	assert_string_equal(record.line[2], "cd");
	close(fd);
	stream_finish(&stream);
}

static void stream_input__nothing_there_does_not_wait(void **state)
{
	int fd = begin();

	(void)state;
	stream_input(&stream);
	assert_true(stream.fd >= 0);
	assert_int_equal(record.nr + record.len, 0);
	close(fd);
	stream_finish(&stream);
}

static void stream_input__end_of_file_closes(void **state)
{
	int fd = begin();

	(void)state;
	put(fd, "x\n", 2);
	close(fd);
	stream_input(&stream); /* what was there, then the end */
	stream_input(&stream);
	assert_int_equal(stream.fd, -1);
	assert_int_equal(record.nr, 1);
	stream_input(&stream);
	stream_finish(&stream);
	assert_int_equal(record.nr, 1);
}

static void stream_finish__gives_the_line_without_end(void **state)
{
	int fd = begin();

	(void)state;
	put(fd, "whole\nhalf", 10);
	stream_finish(&stream);
	assert_int_equal(stream.fd, -1);
	assert_int_equal(record.nr, 2);
	assert_string_equal(record.line[1], "half");
	close(fd);
}

static void stream_input__long_line_is_cut_and_passed_whole(void **state)
{
	static char text[3 * STREAM_LINE];
	int fd = begin();

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	text[sizeof(text) - 6] = '\n';
	memcpy(text + sizeof(text) - 5, "next\n", 5);
	put(fd, text, sizeof(text));
	stream_input(&stream);
	assert_int_equal(record.nr, 2);
	assert_int_equal(strlen(record.line[0]), STREAM_LINE - 1);
	assert_memory_equal(record.line[0], text, STREAM_LINE - 1);
	assert_string_equal(record.line[1], "next");
	assert_int_equal(record.len, sizeof(text));
	assert_memory_equal(record.text, text, sizeof(text));
	close(fd);
	stream_finish(&stream);
}

/* A whole pipe, in more than one read. */
static void stream_input__takes_all_of_a_full_pipe(void **state)
{
	static char text[40000];
	int fd = begin();
	unsigned int nr = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = i % 61 == 60 ? '\n' : (char)('A' + i % 29);
		nr += text[i] == '\n';
	}
	put(fd, text, sizeof(text));
	stream_input(&stream);
	assert_int_equal(record.len, sizeof(text));
	assert_memory_equal(record.text, text, sizeof(text));
	assert_int_equal(record.nr, nr);
	close(fd);
	stream_finish(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_input__lines_in_pieces),
		cmocka_unit_test(stream_input__several_lines_at_once),
		cmocka_unit_test(stream_input__nothing_there_does_not_wait),
		cmocka_unit_test(stream_input__end_of_file_closes),
		cmocka_unit_test(stream_finish__gives_the_line_without_end),
		cmocka_unit_test(stream_input__long_line_is_cut_and_passed_whole),
		cmocka_unit_test(stream_input__takes_all_of_a_full_pipe),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
