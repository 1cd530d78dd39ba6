// SPDX-License-Identifier: BSD-3-Clause
// totals_test.c - whom a job waits for, as the totals say it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "switch/totals.h"

static struct job job;
static char text[256];

static const char *awaited(uint64_t joined)
{
	job.joined = joined;
	totals_awaited(&job, text, sizeof(text));
	return text;
}

static void totals_awaited__ranks(void **state)
{
	(void)state;
	job_set_world(&job, 64, (struct wire_range){ 0, 64 }, false);
	assert_string_equal(awaited(~UINT64_C(0x20)), "rank 5");
	assert_string_equal(awaited(UINT64_C(0x8000000000000001)), "ranks 1-62");
	assert_string_equal(awaited(0), "ranks 0-63");
	/* More than every second one is the longest that there is. */
	assert_string_equal(awaited(UINT64_C(0x5555555555555555)),
			    "ranks 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, "
			    "35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63");
	totals_awaited(&job, text, 10);
	assert_string_equal(text, "ranks 1, ");
}

/* Below a leaf, whose ranks are not the first, and above it. */
static void totals_awaited__at_a_leaf(void **state)
{
	(void)state;
	job_set_world(&job, 16, (struct wire_range){ 4, 4 }, false);
	assert_string_equal(awaited(4), "ranks 4-5, 7");
	assert_string_equal(awaited(13), "rank 5");
	assert_string_equal(awaited(15), "the switch above, as all ranks below are there");
	job.up.awaited = (struct wire_range){ 8, 8 };
	assert_string_equal(awaited(15), "ranks 8-15 behind the switch above");
	job.up.awaited = (struct wire_range){ 3, 1 };
	assert_string_equal(awaited(15), "rank 3 behind the switch above");
	assert_string_equal(awaited(7), "rank 7");
}

/* Of switches that are not there nothing is known but the ranks that nobody stands for. */
static void totals_awaited__at_a_root(void **state)
{
	(void)state;
	job_set_world(&job, 16, (struct wire_range){ 0, 16 }, true);
	assert_string_equal(awaited(0), "ranks 0-15");
	job.members[0].range = (struct wire_range){ 0, 4 };
	job.members[1].range = (struct wire_range){ 5, 11 };
	assert_string_equal(awaited(1), "ranks 4-15");
	assert_string_equal(awaited(3), "rank 4");
}

static int no_job(void **state)
{
	(void)state;
	memset(&job, 0, sizeof(job));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(totals_awaited__ranks, no_job),
		cmocka_unit_test_setup(totals_awaited__at_a_leaf, no_job),
		cmocka_unit_test_setup(totals_awaited__at_a_root, no_job),
	};

	return cmocka_run_group_tests_name("totals", tests, NULL, NULL);
}
