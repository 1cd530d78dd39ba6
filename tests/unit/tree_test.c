// SPDX-License-Identifier: BSD-3-Clause
// Hosts and trees of switches in virtual time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/world.h"

static struct world world;

static const struct shape two_by_two = { .leaves = 2, .ranks = 2 };
static const struct shape two_by_some = { .leaves = 2, .ranks = 3, .uneven = true };
static const struct shape four_by_some = { .leaves = 4, .ranks = 3, .uneven = true };
static const struct shape three_levels = { .middles = 2, .leaves = 2, .ranks = 2, .uneven = true };

static const struct shape wide = { .leaves = 16, .ranks = 64, .row = 3 };

static void tree__quiet_network(void **state)
{
	(void)state;
	memset(world.counters, 0, sizeof(world.counters));
	world_runs(&world, &two_by_two, 1, 40, &(struct faults){ 0 });
	/* Each chunk is one partial of each leaf, and one result to each leaf. */
	assert_true(world.counters[COUNTER_completed] > 0);
	assert_int_equal(world.counters[COUNTER_partial], 2 * world.counters[COUNTER_completed]);
	assert_int_equal(world.counters[COUNTER_up_result], world.counters[COUNTER_partial]);
	assert_int_equal(world.counters[COUNTER_bad_direction], 0);
	assert_int_equal(world.counters[COUNTER_gap], 0);
	assert_int_equal(world.counters[COUNTER_bad_flag], 0);
}

static void tree__loss(void **state)
{
	(void)state;
	memset(world.counters, 0, sizeof(world.counters));
	world_runs(&world, &two_by_some, 1000, 60, &(struct faults){ .loss = 50 });
	assert_true(world.counters[COUNTER_partial_again] > 0);
	assert_int_equal(world.counters[COUNTER_gap], 0);
}

static void tree__duplicates_and_reordering(void **state)
{
	(void)state;
	memset(world.counters, 0, sizeof(world.counters));
	world_runs(&world, &two_by_some, 2000, 60, &(struct faults){ .dup = 100, .reorder = 200 });
	assert_true(world.counters[COUNTER_up_stale] > 0);
	assert_int_equal(world.counters[COUNTER_gap], 0);
}

static void tree__everything(void **state)
{
	(void)state;
	world_runs(&world, &four_by_some, 3000, 30,
		   &(struct faults){ .loss = 100, .dup = 100, .reorder = 100 });
}

static void tree__ranks_restart(void **state)
{
	(void)state;
	world_runs(&world, &two_by_some, 4000, 60,
		   &(struct faults){ .loss = 30, .dup = 30, .reorder = 100, .restarts = 3 });
}

static void tree__leaves_restart(void **state)
{
	(void)state;
	world_runs(&world, &two_by_some, 5000, 60,
		   &(struct faults){ .loss = 30, .dup = 30, .reorder = 100, .leaf_restarts = 3 });
}

static void tree__corruption(void **state)
{
	(void)state;
	memset(world.counters, 0, sizeof(world.counters));
	world_runs(&world, &two_by_some, 7000, 40,
		   &(struct faults){ .check = true, .corrupt = 100, .loss = 20, .dup = 50 });
	assert_true(world.counters[COUNTER_bad_crc] > 1000);
	assert_int_equal(world.counters[COUNTER_gap], 0);
}

static void tree__the_root_restarts(void **state)
{
	(void)state;
	world_runs(&world, &two_by_some, 6000, 60,
		   &(struct faults){ .loss = 30, .dup = 30, .reorder = 100, .root_restarts = 2 });
}

static void tree__all_restart(void **state)
{
	(void)state;
	world_runs(&world, &four_by_some, 7000, 30,
		   &(struct faults){ .loss = 30,
				     .dup = 30,
				     .reorder = 100,
				     .restarts = 2,
				     .leaf_restarts = 2,
				     .root_restarts = 1 });
}

static void tree__three_levels(void **state)
{
	(void)state;
	world_runs(&world, &three_levels, 8000, 30,
		   &(struct faults){ .loss = 30,
				     .dup = 30,
				     .reorder = 100,
				     .restarts = 1,
				     .leaf_restarts = 2,
				     .root_restarts = 1 });
}

/* As many ranks as a job may have. */
static void tree__a_thousand_ranks(void **state)
{
	(void)state;
	memset(world.counters, 0, sizeof(world.counters));
	world_runs(&world, &wide, 9000, 1, &(struct faults){ .loss = 1, .reorder = 5 });
	assert_int_equal(world.n, 1024);
	assert_true(world.counters[COUNTER_partial_again] > 0);
}

static int teardown(void **state)
{
	(void)state;
	world_free(&world);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree__quiet_network),
		cmocka_unit_test(tree__loss),
		cmocka_unit_test(tree__duplicates_and_reordering),
		cmocka_unit_test(tree__everything),
		cmocka_unit_test(tree__ranks_restart),
		cmocka_unit_test(tree__leaves_restart),
		cmocka_unit_test(tree__the_root_restarts),
		cmocka_unit_test(tree__corruption),
		cmocka_unit_test(tree__all_restart),
		cmocka_unit_test(tree__three_levels),
		cmocka_unit_test(tree__a_thousand_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
