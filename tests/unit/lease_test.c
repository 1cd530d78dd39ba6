// SPDX-License-Identifier: BSD-3-Clause
// Contiguous pieces of a range: never two owners, never a piece lost.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/lease.h"

enum { TOTAL = 200, MAX = 12 };

static void lease_take__first_fit(void **state)
{
	struct lease leases[4];
	struct lease_table table = { .leases = leases, .max = 4, .total = 100 };
	size_t a, b, c, d;

	(void)state;
	assert_int_equal(lease_longest(&table), 100);
	assert_true(lease_take(&table, 40, &a));
	assert_true(lease_take(&table, 20, &b));
	assert_true(lease_take(&table, 40, &c));
	assert_int_equal(a, 0);
	assert_int_equal(b, 40);
	assert_int_equal(c, 60);
	assert_int_equal(lease_longest(&table), 0);
	assert_false(lease_take(&table, 1, &d));
	lease_give(&table, b);
	assert_int_equal(lease_longest(&table), 20);
	assert_false(lease_take(&table, 21, &d));
	assert_true(lease_take(&table, 5, &b));
	assert_true(lease_take(&table, 15, &d));
	assert_int_equal(b, 40);
	assert_int_equal(d, 45);
}

static void lease_take__full_table(void **state)
{
	struct lease leases[1];
	struct lease_table table = { .leases = leases, .max = 1, .total = 10 };
	size_t a, b = 77;

	(void)state;
	assert_true(lease_take(&table, 1, &a));
	assert_false(lease_take(&table, 1, &b));
	assert_int_equal(b, 77);
}

/* Longest run of zeros in a map with one byte per unit. */
static size_t longest_of(const uint8_t map[TOTAL])
{
	size_t longest = 0, run = 0;

	for (unsigned i = 0; i < TOTAL; i++) {
		run = map[i] ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void lease_take__against_a_map(void **state)
{
	struct lease leases[MAX], held[MAX] = { { 0, 0 } };
	struct lease_table table = { .leases = leases, .max = MAX, .total = TOTAL };
	uint8_t map[TOTAL] = { 0 };
	uint32_t x = 2463534242;

	(void)state;
	for (unsigned step = 0; step < 20000; step++) {
		struct lease *lease;

		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		lease = &held[x % MAX];
		if (lease->nr) {
			memset(map + lease->first, 0, lease->nr);
			lease_give(&table, lease->first);
			lease->nr = 0;
		} else if (lease_take(&table, 1 + (x >> 8) % 60, &lease->first)) {
			lease->nr = 1 + (x >> 8) % 60;
			for (size_t i = 0; i < lease->nr; i++)
				assert_int_equal(map[lease->first + i], 0);
			memset(map + lease->first, 1, lease->nr);
		} else {
			assert_true(longest_of(map) < 1 + (x >> 8) % 60);
		}
		assert_int_equal(lease_longest(&table), longest_of(map));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lease_take__first_fit),
		cmocka_unit_test(lease_take__full_table),
		cmocka_unit_test(lease_take__against_a_map),
	};

	return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
