// SPDX-License-Identifier: BSD-3-Clause
// Hosts and one switch in virtual time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/world.h"

static struct world world;

static void runs(uint64_t from, uint64_t nr, const struct faults *faults)
{
	const struct shape shape = { .ranks = 6, .any = true };

	world_runs(&world, &shape, from, nr, faults);
}

static void machines__quiet_network(void **state)
{
	(void)state;
	runs(1, 60, &(struct faults){ 0 });
}

static void machines__loss(void **state)
{
	(void)state;
	runs(1000, 60, &(struct faults){ .loss = 50 });
}

static void machines__duplicates_and_reordering(void **state)
{
	(void)state;
	runs(2000, 60, &(struct faults){ .dup = 100, .reorder = 200 });
}

static void machines__everything(void **state)
{
	(void)state;
	runs(3000, 60, &(struct faults){ .loss = 100, .dup = 100, .reorder = 100 });
}

static void machines__ranks_restart(void **state)
{
	(void)state;
	runs(4000, 60, &(struct faults){ .loss = 30, .dup = 30, .reorder = 100, .restarts = 3 });
}

static void machines__the_switch_restarts(void **state)
{
	(void)state;
	runs(5000, 60,
	     &(struct faults){
		     .loss = 30, .dup = 30, .reorder = 100, .restarts = 1, .root_restarts = 2 });
}

static void machines__checked(void **state)
{
	(void)state;
	runs(6000, 60,
	     &(struct faults){
		     .check = true, .loss = 50, .dup = 50, .reorder = 100, .restarts = 1 });
}

/* Packets that no other checksum covers: sums are exact all the same. */
static void machines__corruption(void **state)
{
	uint64_t before = world.counters[COUNTER_bad_crc];

	(void)state;
	runs(7000, 60, &(struct faults){ .check = true, .corrupt = 100, .loss = 20, .dup = 50 });
	assert_true(world.counters[COUNTER_bad_crc] > before + 1000);
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
		cmocka_unit_test(machines__quiet_network),
		cmocka_unit_test(machines__loss),
		cmocka_unit_test(machines__duplicates_and_reordering),
		cmocka_unit_test(machines__everything),
		cmocka_unit_test(machines__ranks_restart),
		cmocka_unit_test(machines__the_switch_restarts),
		cmocka_unit_test(machines__checked),
		cmocka_unit_test(machines__corruption),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
