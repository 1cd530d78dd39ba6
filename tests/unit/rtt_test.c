// SPDX-License-Identifier: BSD-3-Clause
// Tests of host/core/rtt.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/core/rtt.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static void rtt_rto__before_any_sample(void **state)
{
	struct rtt rtt;

	(void)state;
	rtt_init(&rtt, MS, 100 * MS);
	assert_int_equal(rtt_rto(&rtt), 10 * MS);
	assert_int_equal(rtt_low(&rtt), 0);
}

static void rtt_rto__four_times_the_lowest(void **state)
{
	struct rtt rtt;

	(void)state;
	rtt_init(&rtt, MS, 100 * MS);
	for (unsigned i = 0; i < 200; i++)
		rtt_sample(&rtt, 700 * US, 1000 * MS + i * MS);
	assert_int_equal(rtt_low(&rtt), 700 * US);
	assert_int_equal(rtt_rto(&rtt), 2800 * US);
}

static void rtt_rto__clamped_below(void **state)
{
	struct rtt rtt;

	(void)state;
	rtt_init(&rtt, MS, 100 * MS);
	for (unsigned i = 0; i < 200; i++)
		rtt_sample(&rtt, 20 * US, 1000 * MS + i * US);
	assert_int_equal(rtt_rto(&rtt), MS);
}

/* Others' timeouts must not become ours, or they would grow together. */
static void rtt_rto__late_ranks_do_not_grow_it(void **state)
{
	struct rtt rtt;

	(void)state;
	rtt_init(&rtt, MS, 100 * MS);
	rtt_sample(&rtt, 600 * US, 1000 * MS);
	for (unsigned i = 0; i < 20; i++)
		rtt_sample(&rtt, 80 * MS, 1100 * MS + i * US);
	assert_int_equal(rtt_rto(&rtt), 2400 * US);
}

static void rtt_rto__clamped_above(void **state)
{
	struct rtt rtt;

	(void)state;
	rtt_init(&rtt, MS, 100 * MS);
	rtt_sample(&rtt, UINT64_MAX / 2, 1000 * MS);
	assert_int_equal(rtt_rto(&rtt), 100 * MS);
}

static void rtt_low__forgets_after_two_periods(void **state)
{
	struct rtt rtt;

	(void)state;
	rtt_init(&rtt, MS, 100 * MS);
	rtt_sample(&rtt, 50 * US, 1000 * MS);
	rtt_sample(&rtt, 90 * US, 2001 * MS);
	assert_int_equal(rtt_low(&rtt), 50 * US); /* of the period before */
	rtt_sample(&rtt, 80 * US, 3002 * MS);
	assert_int_equal(rtt_low(&rtt), 80 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rtt_rto__before_any_sample),
		cmocka_unit_test(rtt_rto__four_times_the_lowest),
		cmocka_unit_test(rtt_rto__clamped_below),
		cmocka_unit_test(rtt_rto__late_ranks_do_not_grow_it),
		cmocka_unit_test(rtt_rto__clamped_above),
		cmocka_unit_test(rtt_low__forgets_after_two_periods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
