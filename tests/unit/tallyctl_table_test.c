// SPDX-License-Identifier: BSD-3-Clause
// tallyctl_table_test.c - columns line up, whatever is in them, and nothing in them reaches the terminal as a command.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "switch/tallyctl_table.h"

static void table_print__aligned(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct table table;

	(void)state;
	assert_non_null(out);
	table_start(&table, "job|>ranks|what");
	assert_int_equal(table_rows(&table), 0);
	table_cell(&table, "%s", "a longer name");
	table_cell(&table, "%d", 7);
	table_cell(&table, "x");
	table_cell(&table, "%s", "\xc3\xa9t\xc3\xa9");
	table_cell(&table, "%d", 123456);
	table_cell(&table, "last, not padded");
	assert_int_equal(table_rows(&table), 2);
	table_print(&table, out);
	table_free(&table);
	fclose(out);
	assert_string_equal(text, "job             ranks  what\n"
				  "a longer name       7  x\n"
				  "\xc3\xa9t\xc3\xa9            123456  last, not padded\n");
	free(text);
}

static void table_print__more_cells_than_at_first(void **state)
{
	char *text = NULL, want[16];
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct table table;
	char *at;

	(void)state;
	table_start(&table, ">n");
	for (unsigned i = 0; i < 1000; i++)
		table_cell(&table, "%u", 1000 + i * 3);
	table_print(&table, out);
	table_free(&table);
	fclose(out);
	at = strchr(text, '\n');
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(want, sizeof(want), "\n%u\n", 1000 + i * 3);
		assert_int_equal(strncmp(at, want, strlen(want)), 0);
		at = strchr(at + 1, '\n');
	}
	free(text);
}

static void table_clean__controls(void **state)
{
	char text[] = "a\x1b[2J\x7f\n\xc2\x9b\xc3\xa9";

	(void)state;
	table_clean(text);
	assert_string_equal(text, "a?[2J????\xc3\xa9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_print__aligned),
		cmocka_unit_test(table_print__more_cells_than_at_first),
		cmocka_unit_test(table_clean__controls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
