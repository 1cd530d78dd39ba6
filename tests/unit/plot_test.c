// SPDX-License-Identifier: BSD-3-Clause
// plot_test.c - axes with round ticks and units, and marks where they belong.
#include "topologies/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void plot_axis__ends_at_a_tick(void **state)
{
	static const double most[] = { 7, 13.6, 128, 0.0722, 642390, 2.7e9, 1 };
	struct plot_axis a;

	(void)state;
	for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		a = (struct plot_axis){ .least = -1 };
		plot_axis_zero(&a, most[i]);
		assert_true(a.least >= 0 && a.least <= 0);
		assert_true(a.most >= most[i] && a.most <= 2 * most[i]);
		assert_true(fabs(a.most / a.step - round(a.most / a.step)) < 1e-9);
		assert_true(a.most / a.step >= 2 && a.most / a.step <= 7);
	}
	a = (struct plot_axis){ .log = false };
	plot_axis_log(&a, 1024, 4194304);
	assert_true(a.log && a.least > 999 && a.least < 1001 && a.most > 9.9e6 && a.most < 1.01e7);
	plot_axis_log(&a, 1000, 1000);
	assert_true(a.most > 9 * a.least);
}

/* The caller frees it. */
static char *drawn(struct plot *p, const double *steps, const double (*band)[3], uint32_t nr)
{
	const double dot[3] = { 1, 2, 4 };
	char *text = NULL;
	size_t size;

	p->out = open_memstream(&text, &size);
	plot_begin(p);
	if (steps)
		plot_steps(p, steps, nr, p->x.most / nr, 0);
	if (band)
		plot_band(p, band, nr, p->x.most / nr, 3);
	if (!steps && !band) {
		plot_bar(p, 1, 2, 5, "rank 1: 2");
		plot_dot(p, 3, dot, 6, NULL);
	}
	plot_end(p);
	fclose(p->out);
	return text;
}

static unsigned times(const char *text, const char *word)
{
	unsigned nr = 0;

	for (; (text = strstr(text, word)); text++)
		nr++;
	return nr;
}

static void plot_begin__labels_have_units(void **state)
{
	static const char *const keys[] = { "a<b", "c" };
	struct plot p = { .title = "A <title>",
			  .note = "Note & more.",
			  .x = { .label = "time", .unit = "s", .most = 0.0031 },
			  .y = { .label = "packets", .unit = "" },
			  .key = keys,
			  .nr_keys = 2 };
	char *text;

	(void)state;
	plot_axis_zero(&p.y, 7500);
	text = drawn(&p, NULL, NULL, 0);
	assert_non_null(strstr(text, "<title>A &#60;title&#62;</title>"));
	assert_non_null(strstr(text, "<b>A &#60;title&#62;</b> Note &#38; more."));
	assert_non_null(strstr(text, ">time, ms</text>"));
	assert_non_null(strstr(text, ">packets</text>"));
	assert_non_null(strstr(text, ">8 k</text>"));
	assert_non_null(strstr(text, ">0</text>"));
	assert_non_null(strstr(text, ">3</text>"));
	assert_non_null(strstr(text, "<title>rank 1: 2</title></rect>"));
	assert_non_null(strstr(text, "c1\"></span>c"));
	assert_non_null(strstr(text, "a&#60;b"));
	assert_int_equal(times(text, "<title>"), 2);
	free(text);
	p.y = (struct plot_axis){ .label = "rate", .unit = "elements/s" };
	plot_axis_zero(&p.y, 2.3e9);
	text = drawn(&p, NULL, NULL, 0);
	assert_non_null(strstr(text, ">rate, G elements/s</text>"));
	assert_non_null(strstr(text, ">0.5</text>"));
	free(text);
}

/* A plot of 640 x 250: its marks' coordinates, from the axes' own. */
static void plot_steps__each_value_once(void **state)
{
	const double steps[] = { 3, 3, 0, 10, 5 };
	struct plot p = { .title = "t", .x = { .label = "x", .unit = "", .most = 5 } };
	char *text;

	(void)state;
	p.y = (struct plot_axis){ .label = "y", .unit = "", .most = 10, .step = 2 };
	text = drawn(&p, steps, NULL, 5);
	/* From 70 to 626, and from 206 up to 10. */
	assert_non_null(
		strstr(text,
		       "d=\"M70.0 206.0V147.2H292.4V206.0H403.6V10.0H514.8V108.0H626.0V206.0Z\""));
	free(text);
}

static void plot_band__gaps(void **state)
{
	const double band[][3] = {
		{ 1, 2, 3 }, { 2, 3, 4 }, { NAN, NAN, NAN }, { 1, 1, 1 }, { 1, 5, 9 }
	};
	struct plot p = { .title = "t", .x = { .label = "x", .unit = "", .most = 5 } };
	char *text;

	(void)state;
	p.y = (struct plot_axis){ .label = "y", .unit = "", .most = 10, .step = 2 };
	text = drawn(&p, NULL, band, 5);
	assert_int_equal(times(text, "band"), 2);
	assert_int_equal(times(text, "c3 line"), 2);
	assert_null(strstr(text, "nan"));
	assert_non_null(strstr(text, "d=\"M181.2 166.8L292.4 147.2\""));
	assert_non_null(strstr(text, "d=\"M514.8 186.4L626.0 108.0\""));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plot_axis__ends_at_a_tick),
		cmocka_unit_test(plot_begin__labels_have_units),
		cmocka_unit_test(plot_steps__each_value_once),
		cmocka_unit_test(plot_band__gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
