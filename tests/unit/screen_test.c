// SPDX-License-Identifier: BSD-3-Clause
// Tests of the screen: whole lines stay whole, and the progress line gives way.
#include "topologies/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture.h"

enum { OUT = 1, ERR = 2, LONG = 2000 };

struct output {
	struct capture capture[2];
	char *out, *err;
};

static void output_begin(struct output *o)
{
	capture_begin(&o->capture[0], OUT);
	capture_begin(&o->capture[1], ERR);
}

static void output_end(struct output *o)
{
	o->err = capture_end(&o->capture[1]);
	o->out = capture_end(&o->capture[0]);
}

static void output_check(struct output *o, const char *out, const char *err)
{
	assert_string_equal(o->out, out);
	assert_string_equal(o->err, err);
	free(o->out);
	free(o->err);
}

static void screen_pass__is_passed_as_it_is(void **state)
{
	struct screen s = { 0 };
	struct output o;

	(void)state;
	output_begin(&o);
	screen_pass(&s, OUT, "a\tb\033[1m\r", 8);
	screen_pass(&s, OUT, "", 0);
	screen_pass(&s, ERR, "more\n", 5);
	output_end(&o);
	output_check(&o, "a\tb\033[1m\r", "more\n");
	assert_false(s.midline);
}

static void screen_line__has_prefix_and_end(void **state)
{
	struct screen s = { 0 };
	struct output o;

	(void)state;
	output_begin(&o);
	screen_line(&s, OUT, "[h1] ", "text");
	screen_line(&s, ERR, "", "");
	screen_say(&s, "%d of %s", 3, "them");
	output_end(&o);
	output_check(&o, "[h1] text\n", "\ntally-fabric: 3 of them\n");
}

static void screen_line__begins_below_a_line_without_end(void **state)
{
	struct screen s = { 0 };
	struct output o;

	(void)state;
	output_begin(&o);
	screen_pass(&s, OUT, "half", 4);
	screen_line(&s, OUT, "[h2] ", "whole");
	screen_line(&s, OUT, "[h2] ", "next");
	output_end(&o);
	output_check(&o, "half\n[h2] whole\n[h2] next\n", "");
}

static void screen_line__long_one_is_cut_and_ends(void **state)
{
	static char text[LONG + 1];
	struct screen s = { 0 };
	struct output o;
	size_t len;

	(void)state;
	memset(text, 'x', LONG);
	output_begin(&o);
	screen_line(&s, OUT, "[h1] ", text);
	screen_say(&s, "%s", text);
	output_end(&o);
	len = strlen(o.out);
	assert_in_range(len, 1000, 1200);
	assert_int_equal(strspn(o.out + 5, "x"), len - 6);
	assert_int_equal(o.out[len - 1], '\n');
	assert_int_equal(o.err[strlen(o.err) - 1], '\n');
	assert_false(s.midline);
	free(o.out);
	free(o.err);
}

static void screen_progress__gives_way_to_lines(void **state)
{
	struct screen s = { .progress = true };
	struct output o;

	(void)state;
	output_begin(&o);
	screen_progress(&s, "1 of 4");
	screen_progress(&s, "2 of 4");
	screen_line(&s, OUT, "", "line");
	screen_line(&s, OUT, "", "next");
	screen_progress(&s, "3 of 4");
	screen_clear(&s);
	screen_clear(&s);
	output_end(&o);
	output_check(&o, "line\nnext\n",
		     "\r1 of 4\033[K\r2 of 4\033[K\r\033[K\r3 of 4\033[K\r\033[K");
}

static void screen_progress__not_without_terminal_nor_within_a_line(void **state)
{
	struct screen s;
	struct output o;

	(void)state;
	output_begin(&o); /* stderr is a file now */
	screen_init(&s);
	screen_progress(&s, "hidden");
	s.progress = true;
	screen_pass(&s, OUT, "half", 4);
	screen_progress(&s, "hidden");
	screen_pass(&s, OUT, "\n", 1);
	screen_progress(&s, "shown");
	output_end(&o);
	output_check(&o, "half\n", "\rshown\033[K");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(screen_pass__is_passed_as_it_is),
		cmocka_unit_test(screen_line__has_prefix_and_end),
		cmocka_unit_test(screen_line__begins_below_a_line_without_end),
		cmocka_unit_test(screen_line__long_one_is_cut_and_ends),
		cmocka_unit_test(screen_progress__gives_way_to_lines),
		cmocka_unit_test(screen_progress__not_without_terminal_nor_within_a_line),
	};

	return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
