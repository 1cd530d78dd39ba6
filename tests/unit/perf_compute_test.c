// SPDX-License-Identifier: BSD-3-Clause
// Tests of how long ranks compute: what is read, and who takes longer when.
#include "host/tools/perf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 40, ITERATIONS = 500 };

static void perf_compute_parse__times_and_ranges(void **state)
{
	static const struct {
		const char *text;
		uint64_t least_ns, most_ns;
	} good[] = {
		{ "20ms", 20000000, 20000000 },
		{ "1.5us", 1500, 1500 },
		{ "7ns..2s", 7, UINT64_C(2000000000) },
		{ "0s..0.25ms", 0, 250000 },
		{ "1000000s", UINT64_C(1000000000000000), UINT64_C(1000000000000000) },
	};
	static const char *const bad[] = { "",	       "20",
					   "ms",       "-1ms",
					   "3 ms",     "1ms.",
					   "1ms..",    "..1ms",
					   "2ms..1ms", "1ms..2ms..3ms",
					   "1m",       "1e30ms",
					   "1000001s", "nan",
					   "1ms,2ms",  "0x1ms",
					   "infs",     "00000000000000000000000000000000001ms" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct perf_compute compute = { 0 };

		assert_int_equal(perf_compute_parse(&compute, good[i].text), 0);
		assert_true(compute.least_ns == good[i].least_ns);
		assert_true(compute.most_ns == good[i].most_ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct perf_compute compute = { 0 };

		if (perf_compute_parse(&compute, bad[i]) != -1)
			fail_msg("'%s' was taken", bad[i]);
	}
}

static void perf_stragglers_parse__what_is_none(void **state)
{
	static const char *const bad[] = {
		"",
		"factor=2",
		"ranks=1",
		"probability=10%",
		"factor=0.5,ranks=1",
		"factor=1001,ranks=1",
		"factor=2,ranks=1024",
		"factor=2,ranks=1+",
		"factor=2,ranks=-1",
		"factor=2,ranks=",
		"factor=2,probability=0",
		"factor=2,probability=1.5",
		"factor=2,probability=101%",
		"factor=2,probability=x",
		"factor=2;ranks=1",
		"factor=2,ranks=1,",
		"factor=2,rank=1",
		"factor=x,ranks=1",
	};
	struct perf_compute compute = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (perf_stragglers_parse(&compute, bad[i]) != -1)
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(perf_stragglers_parse(&compute,
					       "probability=12.5%,ranks=0+63+64+1023,factor=2.5"),
			 0);
	assert_true(compute.factor > 2.49 && compute.factor < 2.51);
	assert_true(compute.probability > 0.1249 && compute.probability < 0.1251);
	assert_true(compute.slow[0] == (1 | UINT64_C(1) << 63));
	assert_true(compute.slow[1] == 1);
	assert_true(compute.slow[15] == UINT64_C(1) << 63);
}

static void perf_compute_ns__ranks_that_are_named(void **state)
{
	struct perf_compute compute = { .least_ns = 1000, .most_ns = 1000, .seed = 3 };

	(void)state;
	assert_int_equal(perf_compute_ns(&compute, 5, 0), 1000);
	assert_int_equal(perf_stragglers_parse(&compute, "factor=2.5,ranks=2+5"), 0);
	for (int rank = 0; rank < RANKS; rank++)
		for (int64_t i = -2; i < 5; i++)
			assert_int_equal(perf_compute_ns(&compute, rank, i),
					 rank == 2 || rank == 5 ? 2500 : 1000);
}

/* About as often as they should be, the same again with the same seed, and others with another. */
static void perf_compute_ns__stragglers_by_chance(void **state)
{
	struct perf_compute compute = { .least_ns = 1000, .most_ns = 1000, .seed = 7 }, other;
	unsigned int nr = 0, both = 0, each[RANKS] = { 0 };

	(void)state;
	assert_int_equal(perf_stragglers_parse(&compute, "factor=3,probability=0.1"), 0);
	other = compute;
	other.seed = 8;
	for (int rank = 0; rank < RANKS; rank++)
		for (int64_t i = 0; i < ITERATIONS; i++) {
			const uint64_t ns = perf_compute_ns(&compute, rank, i);

			assert_true(ns == 1000 || ns == 3000);
			assert_true(perf_compute_ns(&compute, rank, i) == ns);
			nr += ns == 3000;
			each[rank] += ns == 3000;
			both += ns == 3000 && perf_compute_ns(&other, rank, i) == 3000;
		}
	/* 2000 expected, and 200 of those with the other seed, too; five standard deviations. */
	assert_in_range(nr, 1788, 2212);
	assert_in_range(both, 130, 270);
	for (int rank = 0; rank < RANKS; rank++)
		assert_in_range(each[rank], 16, 84);
}

static void perf_compute_ns__a_range_is_filled(void **state)
{
	const struct perf_compute compute = { .least_ns = 5000, .most_ns = 9000, .seed = 1 };
	uint64_t least = UINT64_MAX, most = 0, sum = 0;

	(void)state;
	for (int rank = 0; rank < RANKS; rank++)
		for (int64_t i = 0; i < ITERATIONS; i++) {
			const uint64_t ns = perf_compute_ns(&compute, rank, i);

			least = ns < least ? ns : least;
			most = ns > most ? ns : most;
			sum += ns;
		}
	assert_in_range(least, 5000, 5010);
	assert_in_range(most, 8990, 9000);
	assert_in_range(sum / (RANKS * ITERATIONS), 6950, 7050);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_compute_parse__times_and_ranges),
		cmocka_unit_test(perf_stragglers_parse__what_is_none),
		cmocka_unit_test(perf_compute_ns__ranks_that_are_named),
		cmocka_unit_test(perf_compute_ns__stragglers_by_chance),
		cmocka_unit_test(perf_compute_ns__a_range_is_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
