// SPDX-License-Identifier: BSD-3-Clause
// Tests of the digits' loader: values arrive where the split puts them, and bad files are named.
#include "host/examples/digits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/capture.h"

enum { SPLIT_SEED = 20, NO_LINE = -1, TEXT_SIZE = 512 };

static struct digits digits;

static unsigned int value_of(int sample, int pixel)
{
	return ((unsigned int)sample * 31 + (unsigned int)pixel * 7 + (unsigned int)sample / 17) %
	       17;
}

static unsigned int label_of(int sample)
{
	return (unsigned int)(sample * 7 + sample / 10) % DIGITS_CLASSES;
}

static void line_write(FILE *f, int sample)
{
	for (int i = 0; i < DIGITS_PIXELS; i++)
		fprintf(f, "%u,", value_of(sample, i));
	fprintf(f, "%u\n", label_of(sample));
}

/* A file of so many lines, with `other` in the place of one; loads it and gives what was said. */
static int load(int nr, int line, const char *other, char **said)
{
	struct capture capture;
	char path[64];
	int fd = memfd_create("digits", MFD_CLOEXEC), rc;
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	assert_non_null(f);
	for (int i = 0; i < nr; i++) {
		if (i == line)
			fprintf(f, "%s\n", other);
		else
			line_write(f, i);
	}
	fflush(f);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(&digits, 0xa5, sizeof(digits));
	capture_begin(&capture, 2);
	rc = digits_load(&digits, path);
	*said = capture_end(&capture);
	fclose(f);
	return rc;
}

static void bad_line(int line, const char *other)
{
	char want[64], *said;

	snprintf(want, sizeof(want), ":%d: want 1797 lines of 64 pixels", line + 1);
	if (load(line + 1, line, other, &said) != -1)
		fail_msg("'%s' was taken", other);
	if (strncmp(said, "train: /proc/self/fd/", 21) != 0 || !strstr(said, want))
		fail_msg("expected '%s' in '%s'", want, said);
	free(said);
}

/* A good line, with the item at one place replaced. */
static const char *line_with(int place, const char *item)
{
	static char text[TEXT_SIZE];
	size_t len = 0;

	for (int i = 0; i <= DIGITS_PIXELS; i++) {
		const char *comma = i ? "," : "";

		if (i == place)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", comma,
						item);
		else
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d", comma,
						i % 10);
	}
	return text;
}

static void digits_load__values_are_where_the_split_puts_them(void **state)
{
	uint32_t place[DIGITS_ALL];
	char *said;

	(void)state;
	assert_int_equal(load(DIGITS_ALL, NO_LINE, NULL, &said), 0);
	assert_string_equal(said, "");
	free(said);
	digits_shuffle(place, DIGITS_ALL, SPLIT_SEED);
	for (int s = 0; s < DIGITS_ALL; s++) {
		assert_int_equal(digits.labels[place[s]], label_of(s));
		for (int i = 0; i < DIGITS_PIXELS; i++)
			if (digits.pixels[place[s]][i] * 16 < (float)value_of(s, i) ||
			    digits.pixels[place[s]][i] * 16 > (float)value_of(s, i))
				fail_msg("sample %d, pixel %d: %g", s, i,
					 (double)digits.pixels[place[s]][i]);
	}
}

/* Also what checks that the file in the source tree is whole: its classes are nearly equal in size. */
static void digits_load__takes_the_file_that_comes_with_it(void **state)
{
	int nr[DIGITS_CLASSES] = { 0 }, nr_test[DIGITS_CLASSES] = { 0 };

	(void)state;
	assert_int_equal(digits_load(&digits, "host/examples/data/digits.csv"), 0);
	for (int s = 0; s < DIGITS_ALL; s++) {
		nr[digits.labels[s]]++;
		nr_test[digits.labels[s]] += s >= DIGITS_TRAIN;
	}
	for (int c = 0; c < DIGITS_CLASSES; c++) {
		assert_in_range(nr[c], 174, 183);
		assert_in_range(nr_test[c], 18, 54);
	}
}

static void digits_load__missing_file_is_named(void **state)
{
	struct capture capture;
	char *said;
	int rc;

	(void)state;
	capture_begin(&capture, 2);
	rc = digits_load(&digits, "/nonexistent/digits.csv");
	said = capture_end(&capture);
	assert_int_equal(rc, -1);
	assert_string_equal(said, "train: /nonexistent/digits.csv: No such file or directory; "
				  "name the digits with --data FILE\n");
	free(said);
}

static void digits_load__bad_lines_are_named(void **state)
{
	(void)state;
	bad_line(0, "");
	bad_line(3, "these are no digits");
	bad_line(DIGITS_ALL - 1, line_with(64, "10")); /* label out of range */
	bad_line(7, line_with(64, "-1"));
	bad_line(7, line_with(64, ""));
	bad_line(7, line_with(64, "1,2")); /* a long row */
	bad_line(7, line_with(64, "1 x"));
	bad_line(9, line_with(0, "17")); /* pixel out of range */
	bad_line(9, line_with(63, "-3"));
	bad_line(9, line_with(63, "-0"));
	bad_line(9, line_with(30, "1.5"));
	bad_line(9, line_with(30, ""));
	bad_line(9, line_with(30, "99999999999999999999"));
}

static void digits_load__short_row_is_named(void **state)
{
	char row[TEXT_SIZE];

	(void)state;
	snprintf(row, sizeof(row), "%s", line_with(64, "5"));
	*strrchr(row, ',') = '\0'; /* 64 items: the label would be missing */
	bad_line(5, row);
	row[1] = '\0';
	bad_line(5, row);
}

static void digits_load__wrong_number_of_lines_is_said(void **state)
{
	char *said;

	(void)state;
	assert_int_equal(load(DIGITS_ALL - 1, NO_LINE, NULL, &said), -1);
	assert_non_null(strstr(said, ": only 1796 of 1797 lines could be read\n"));
	free(said);
	assert_int_equal(load(0, NO_LINE, NULL, &said), -1);
	assert_non_null(strstr(said, ": only 0 of 1797 lines could be read\n"));
	free(said);
	assert_int_equal(load(DIGITS_ALL + 1, NO_LINE, NULL, &said), -1);
	assert_non_null(strstr(said, ":1798: want 1797 lines"));
	free(said);
}

static void digits_shuffle__is_a_permutation_that_the_seed_decides(void **state)
{
	static uint32_t a[DIGITS_TRAIN], b[DIGITS_TRAIN];
	static unsigned int seen[DIGITS_TRAIN];
	unsigned int nr_same = 0, nr_home = 0;

	(void)state;
	digits_shuffle(a, DIGITS_TRAIN, 5);
	digits_shuffle(b, DIGITS_TRAIN, 5);
	assert_memory_equal(a, b, sizeof(a));
	digits_shuffle(b, DIGITS_TRAIN, 6);
	for (uint32_t i = 0; i < DIGITS_TRAIN; i++) {
		assert_in_range(a[i], 0, DIGITS_TRAIN - 1);
		assert_int_equal(seen[a[i]]++, 0);
		nr_same += a[i] == b[i];
		nr_home += a[i] == i;
	}
	assert_true(nr_same < 10 && nr_home < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_load__values_are_where_the_split_puts_them),
		cmocka_unit_test(digits_load__takes_the_file_that_comes_with_it),
		cmocka_unit_test(digits_load__missing_file_is_named),
		cmocka_unit_test(digits_load__bad_lines_are_named),
		cmocka_unit_test(digits_load__short_row_is_named),
		cmocka_unit_test(digits_load__wrong_number_of_lines_is_said),
		cmocka_unit_test(digits_shuffle__is_a_permutation_that_the_seed_decides),
	};

	return cmocka_run_group_tests_name("digits", tests, NULL, NULL);
}
