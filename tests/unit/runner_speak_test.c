// SPDX-License-Identifier: BSD-3-Clause
// runner_speak_test.c - of which of several jobs it is what the ranks 0 print.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture.h"
#include "topologies/runner.h"

static struct topology topology;
static struct topology_job jobs[3];
static struct runner_options options;
static struct runner runner;

static int run_make(void **state)
{
	(void)state;
	jobs[0] = (struct topology_job){ .name = "sums" };
	jobs[1] = (struct topology_job){ .name = "train", .run = "train" };
	jobs[2] = (struct topology_job){ .name = "whole" };
	topology = (struct topology){ .job = jobs, .nr_jobs = 3 };
	options = (struct runner_options){ .topology = &topology };
	memset(&runner, 0, sizeof(runner));
	runner.options = &options;
	for (int i = 0; i < 3; i++)
		runner.rank[i] = (struct runner_rank){ .runner = &runner, .job = &jobs[i] };
	return 0;
}

static void say(int job, const char *text)
{
	runner_speak(&runner.rank[job], text, strlen(text));
}

static void speak__jobs_do_not_mix(void **state)
{
	struct capture capture;
	char *printed;

	(void)state;
	capture_begin(&capture, 1);
	say(0, "row 1\n");
	say(1, "epoch 1\n");
	say(2, "row a\n");
	say(1, "epoch");
	say(1, " 2");
	say(0, "row 2\n");
	runner_speak_end(&runner.rank[0]);
	say(1, "epoch 3\n");
	runner_speak_end(&runner.rank[1]);
	runner_speak_end(&runner.rank[2]);
	printed = capture_end(&capture);
	assert_string_equal(printed,
			    "\njob train:\nepoch 1\nepoch 2\n\njob sums:\nrow 1\nrow 2\n\njob "
			    "train:\nepoch 3\n\njob whole:\nrow a\n");
	free(printed);
}

static void speak__one_job_as_it_is(void **state)
{
	struct capture capture;
	char *printed;

	(void)state;
	topology.nr_jobs = 1;
	capture_begin(&capture, 1);
	say(0, "row");
	say(0, " 1\n");
	printed = capture_end(&capture);
	runner_speak_end(&runner.rank[0]);
	assert_string_equal(printed, "row 1\n");
	free(printed);
}

/* More than any table is not held back. */
static void speak__a_lot(void **state)
{
	static char much[200001];
	struct capture capture;
	char *printed;

	(void)state;
	memset(much, 'x', sizeof(much) - 1);
	capture_begin(&capture, 1);
	say(0, much);
	say(0, much);
	printed = capture_end(&capture);
	assert_int_equal(strlen(printed), strlen("\njob sums:\n") + 2 * strlen(much));
	free(printed);
	runner_speak_end(&runner.rank[0]);
}

#define TEST(f) cmocka_unit_test_setup(f, run_make)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(speak__jobs_do_not_mix),
		TEST(speak__one_job_as_it_is),
		TEST(speak__a_lot),
	};

	return cmocka_run_group_tests_name("runner_speak", tests, NULL, NULL);
}
