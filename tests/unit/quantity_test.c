// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units: what is one, what is none, and the same in every locale.
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "switch/quantity.h"

static const struct quantity_unit times[] = { { "s", 9, 1 },
					      { "ms", 6, 1 },
					      { "us", 3, 1 },
					      { "ns", 0, 1 },
					      { NULL, 0, 0 } };

static void quantity_parse__cases(void **state)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {
		{ "2ms", 2e6 },
		{ "1.5ms", 1.5e6 },
		{ "0.25us", 250 },
		{ ".5s", 5e8 },
		{ "5.s", 5e9 },
		{ "1e3ns", 1000 },
		{ "1E-3s", 1e6 },
		{ "0ns", 0 },
		{ "007ns", 7 },
		{ "1e+2us", 100000 },
		{ "1e999ns", 1e300 },
		{ "1e-999ns", 1e-300 },
		{ "12345678901234567890ns", 12345678901234567890.0 },
	};
	static const char *const bad[] = { "",	    "ms",      "2",    "2 ms", " 2ms",
					   "-2ms",  "+2ms",    "2m",   "2MS",  "2msx",
					   "1,5ms", "0x10ms",  "nans", "infs", ".",
					   ".ms",   "1.2.3ms", "1ems", "e3ms", "2ms2ms" };
	double value;

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(quantity_parse(good[i].text, times, &value), 0);
		if (!(fabs(value - good[i].value) <= 1e-12 * good[i].value))
			fail_msg("%s: %.17g", good[i].text, value);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (quantity_parse(bad[i], times, &value) == 0)
			fail_msg("%s: %.17g", bad[i], value);
}

/* As the C library's own, to the last bit, for what people write. */
static void quantity_parse_fraction__as_strtod(void **state)
{
	double value;
	char text[32];

	(void)state;
	for (unsigned i = 0; i <= 10000; i++) {
		snprintf(text, sizeof(text), "%u.%04u", i / 10000, i % 10000);
		assert_int_equal(quantity_parse_fraction(text, &value), 0);
		assert_true(value == strtod(text, NULL));
		snprintf(text, sizeof(text), "%u.%02u%%", i / 100, i % 100);
		assert_int_equal(quantity_parse_fraction(text, &value), 0);
		assert_true(value == (double)i / 10000);
	}
	assert_int_equal(quantity_parse_fraction("1.0001", &value), -1);
	assert_int_equal(quantity_parse_fraction("101%", &value), -1);
	assert_int_equal(quantity_parse_fraction("1%%", &value), -1);
	assert_int_equal(quantity_parse_fraction("nan", &value), -1);
	assert_int_equal(quantity_parse_fraction("-0", &value), -1);
}

static void quantity_parse_whole__cases(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(quantity_parse_whole("17", 1, 20, &value), 0);
	assert_int_equal(value, 17);
	assert_int_equal(quantity_parse_whole("0", 1, 20, &value), -1);
	assert_int_equal(quantity_parse_whole("21", 1, 20, &value), -1);
	assert_int_equal(quantity_parse_whole("", 0, 20, &value), -1);
	assert_int_equal(quantity_parse_whole("0x10", 0, 20, &value), -1);
	assert_int_equal(quantity_parse_whole("18446744073709551615", 0, UINT64_MAX, &value), 0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(quantity_parse_whole("18446744073709551616", 0, UINT64_MAX, &value), -1);
	assert_int_equal(quantity_parse_whole("18446744073709551617", 0, UINT64_MAX, &value), -1);
	assert_int_equal(quantity_parse_whole("-1", 0, UINT64_MAX, &value), -1);
}

static void quantity_print__largest_whole_unit(void **state)
{
	static const struct {
		uint64_t value;
		const char *text;
	} cases[] = { { 0, "0ns" },	  { 1, "1ns" },		 { 1500, "1500ns" },
		      { 2000000, "2ms" }, { 1500000, "1500us" }, { 60000000000, "60s" } };
	char text[32];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		quantity_print(text, sizeof(text), times, cases[i].value);
		assert_string_equal(text, cases[i].text);
	}
}

static void quantity_print_fraction__reads_back(void **state)
{
	static const char *const texts[] = { "1%", "0.1%", "100%",   "0%",
					     "7%", "50%",  "12.34%", "0.0000001%" };
	double value, again;
	char text[32];

	(void)state;
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(quantity_parse_fraction(texts[i], &value), 0);
		quantity_print_fraction(text, sizeof(text), value);
		assert_string_equal(text, texts[i]);
	}
	for (unsigned i = 0; i < 1000; i++) {
		value = 1.0 / (i + 3);
		quantity_print_fraction(text, sizeof(text), value);
		assert_int_equal(quantity_parse_fraction(text, &again), 0);
		assert_true(fabs(value - again) <= 1e-15);
	}
}

/* A locale as glibc keeps it in a file: a decimal comma, and nothing else. */
struct comma {
	uint32_t magic, nr, offsets[6];
	char point[4], separator[4], grouping[4];
	uint32_t wide_point, wide_separator;
	char codeset[8];
};

/* So that none need be installed. */
static void comma_write(const char *path)
{
	struct comma comma = {
		.magic = UINT32_C(0x20031115) ^ LC_NUMERIC,
		.nr = 6,
		.offsets = { offsetof(struct comma, point), offsetof(struct comma, separator),
			     offsetof(struct comma, grouping), offsetof(struct comma, wide_point),
			     offsetof(struct comma, wide_separator),
			     offsetof(struct comma, codeset) },
		.point = ",",
		.grouping = "\377",
		.wide_point = ',',
		.codeset = "UTF-8"
	};
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(&comma, sizeof(comma), 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

static void quantity__ignores_the_locale(void **state)
{
	char top[] = "/tmp/tally-test.XXXXXX", folder[64], path[80], text[32];
	double value;

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(folder, sizeof(folder), "%s/comma", top);
	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(path, sizeof(path), "%s/LC_NUMERIC", folder);
	comma_write(path);
	setenv("LOCPATH", top, 1);
	assert_non_null(setlocale(LC_NUMERIC, "comma"));
	assert_true(unlink(path) == 0 && rmdir(folder) == 0 && rmdir(top) == 0);
	/* It is in force. */
	snprintf(text, sizeof(text), "%.1f", 0.5);
	assert_string_equal(text, "0,5");
	assert_int_equal(quantity_parse_fraction("12.5%", &value), 0);
	assert_true(value == 0.125);
	assert_int_equal(quantity_parse_fraction("12,5%", &value), -1);
	quantity_print_fraction(text, sizeof(text), value);
	setlocale(LC_NUMERIC, "C");
	unsetenv("LOCPATH");
	assert_string_equal(text, "12.5%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantity_parse__cases),
		cmocka_unit_test(quantity_parse_fraction__as_strtod),
		cmocka_unit_test(quantity_parse_whole__cases),
		cmocka_unit_test(quantity_print__largest_whole_unit),
		cmocka_unit_test(quantity_print_fraction__reads_back),
		cmocka_unit_test(quantity__ignores_the_locale),
	};

	return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
