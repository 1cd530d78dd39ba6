// SPDX-License-Identifier: BSD-3-Clause
// Faults on purpose: as often as asked, the same for the same seed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "switch/core/impair.h"

enum { PACKETS = 200000, FATES = IMPAIR_HOLD + 1 };

static void count(const struct impair_params *params, unsigned nr[FATES])
{
	struct impair impair;

	impair_init(&impair, params);
	for (unsigned i = 0; i < FATES; i++)
		nr[i] = 0;
	for (unsigned i = 0; i < PACKETS; i++)
		nr[impair_next(&impair)]++;
	assert_int_equal(impair.nr_lost, nr[IMPAIR_LOSE]);
	assert_int_equal(impair.nr_duped, nr[IMPAIR_DUP]);
	assert_int_equal(impair.nr_reordered, nr[IMPAIR_HOLD]);
}

static void impair_next__no_fault_asked_for(void **state)
{
	const struct impair_params params = { .seed = 7 };
	struct impair impair;
	unsigned nr[FATES];

	(void)state;
	impair_init(&impair, &params);
	assert_false(impair.active);
	count(&params, nr);
	assert_int_equal(nr[IMPAIR_PASS], PACKETS);
}

static void impair_next__always(void **state)
{
	unsigned nr[FATES];

	(void)state;
	count(&(struct impair_params){ .loss = 1, .dup = 1, .reorder = 1 }, nr);
	assert_int_equal(nr[IMPAIR_LOSE], PACKETS);
	count(&(struct impair_params){ .dup = 1, .reorder = 1 }, nr);
	assert_int_equal(nr[IMPAIR_DUP], PACKETS);
	count(&(struct impair_params){ .reorder = 7.5, .loss = -1, .dup = 0.0 / 1 }, nr);
	assert_int_equal(nr[IMPAIR_HOLD], PACKETS);
}

/*
 * Within five standard deviations of what is asked for; the later ones among what the earlier ones
 * leave.
 */
static void impair_next__as_often_as_asked(void **state)
{
	const struct impair_params params = { .loss = 0.1, .dup = 0.05, .reorder = 0.2, .seed = 3 };
	unsigned nr[FATES];

	(void)state;
	count(&params, nr);
	assert_in_range(nr[IMPAIR_LOSE], 20000 - 670, 20000 + 670);
	assert_in_range(nr[IMPAIR_DUP], 9000 - 465, 9000 + 465);
	assert_in_range(nr[IMPAIR_HOLD], 34200 - 845, 34200 + 845);
}

static void impair_next__seed_decides(void **state)
{
	struct impair_params params = { .loss = 0.3, .dup = 0.3, .reorder = 0.3, .seed = 0 };
	struct impair a, b, c;
	unsigned differ = 0;

	(void)state;
	impair_init(&a, &params);
	impair_init(&b, &params);
	params.seed = 1;
	impair_init(&c, &params);
	for (unsigned i = 0; i < 1000; i++) {
		enum impair_fate fate = impair_next(&a);

		assert_int_equal(impair_next(&b), fate);
		differ += impair_next(&c) != fate;
	}
	assert_true(differ > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impair_next__no_fault_asked_for),
		cmocka_unit_test(impair_next__always),
		cmocka_unit_test(impair_next__as_often_as_asked),
		cmocka_unit_test(impair_next__seed_decides),
	};

	return cmocka_run_group_tests_name("impair", tests, NULL, NULL);
}
