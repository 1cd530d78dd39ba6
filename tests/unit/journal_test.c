// SPDX-License-Identifier: BSD-3-Clause
// journal_test.c - what stands beside captures: of a switch that served, and of one that came to nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "switch/journal.h"
#include "switch/lcore.h"

static char dir[64], text[4096];

static struct lcore *lcore;

static int dir_make(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tally-journal.XXXXXX");
	assert_non_null(mkdtemp(dir));
	lcore = calloc(1, sizeof(*lcore));
	assert_non_null(lcore);
	return 0;
}

static int dir_remove(void **state)
{
	char command[160];

	(void)state;
	free(lcore);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static struct journal *begin(void)
{
	struct port_error err;
	struct journal *journal = journal_open(dir, &err);

	assert_non_null(journal);
	return journal;
}

static const char *written(void)
{
	char path[128];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/" JOURNAL_FILE, dir);
	file = fopen(path, "re");
	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static void close__before_it_served(void **state)
{
	(void)state;
	assert_int_equal(journal_close(begin(), lcore), 0);
	assert_string_equal(written(), JOURNAL_TITLE "\n" JOURNAL_UNBEGUN "\n");
}

static void close__after_it_served(void **state)
{
	const struct pipe_params params = { .jobs_max = 3 };
	struct journal *journal = begin();

	(void)state;
	journal_setup(journal, lcore, &params, ".pcap");
	lcore->served = true;
	assert_int_equal(journal_close(journal, lcore), 0);
	assert_non_null(strstr(written(), "\njobs 3\n"));
	assert_null(strstr(text, JOURNAL_UNBEGUN));
	assert_string_equal(text + strlen(text) - 5, " end\n");
}

/* Everything was open, but then there were no ranks. */
static void close__between(void **state)
{
	const struct pipe_params params = { .jobs_max = 3 };
	struct journal *journal = begin();

	(void)state;
	journal_setup(journal, lcore, &params, ".pcap");
	assert_int_equal(journal_close(journal, lcore), 0);
	assert_non_null(strstr(written(), "\n" JOURNAL_UNBEGUN "\nat "));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(close__before_it_served),
		TEST(close__after_it_served),
		TEST(close__between),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
