// SPDX-License-Identifier: BSD-3-Clause
// Tests of tally-perf's data: distinct, irregular, and a function of seed, rank and element alone.
#include "host/tools/perf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4, ELEMENTS = 1024, ALL = RANKS * ELEMENTS };

static struct perf_data data_of(enum tally_dtype dtype, uint64_t seed)
{
	return (struct perf_data){
		.seed = seed, .dtype = dtype, .op = TALLY_SUM, .nr_ranks = RANKS
	};
}

static void ranks_fill(int32_t *out, enum tally_dtype dtype, uint64_t seed)
{
	struct perf_data data = data_of(dtype, seed);

	for (int rank = 0; rank < RANKS; rank++)
		perf_data_fill(&data, rank, 0, out + rank * ELEMENTS, ELEMENTS);
}

static float float_of(int32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int order(const void *a, const void *b)
{
	int32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static void sorted_are_distinct(int32_t *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), order);
	for (size_t i = 1; i < nr; i++)
		if (values[i - 1] == values[i])
			fail_msg("%08x is there twice", (unsigned int)values[i]);
}

static void perf_data_fill__every_element_of_every_rank_is_distinct(void **state)
{
	static const enum tally_dtype dtypes[] = { TALLY_F32, TALLY_I32 };
	static int32_t values[ALL], steps[ALL - 1];

	(void)state;
	for (int d = 0; d < 2; d++) {
		ranks_fill(values, dtypes[d], 1);
		for (int i = 0; i + 1 < ALL; i++)
			steps[i] = (int32_t)((uint32_t)values[i + 1] - (uint32_t)values[i]);
		sorted_are_distinct(values, ALL);
		sorted_are_distinct(steps, ALL - 1); /* no ramp, nor a period */
	}
}

static void perf_data_fill__every_bit_of_an_integer_is_set_in_half(void **state)
{
	static int32_t values[ALL];

	(void)state;
	ranks_fill(values, TALLY_I32, 1);
	for (int bit = 0; bit < 32; bit++) {
		int nr = 0;

		for (int i = 0; i < ALL; i++)
			nr += (uint32_t)values[i] >> bit & 1;
		assert_in_range(nr, ALL * 45 / 100, ALL * 55 / 100);
	}
}

static void perf_data_fill__floats_are_normal_and_of_both_signs(void **state)
{
	static int32_t values[ALL];
	int nr_negative = 0;

	(void)state;
	ranks_fill(values, TALLY_F32, 1);
	for (int i = 0; i < ALL; i++) {
		assert_true(isnormal(float_of(values[i])));
		nr_negative += float_of(values[i]) < 0;
	}
	assert_in_range(nr_negative, ALL * 45 / 100, ALL * 55 / 100);
}

/* Blocks of different and extreme scales, and 64 of the largest do not overflow. */
static void perf_data_fill__floats_have_small_and_large_runs(void **state)
{
	static int32_t values[256];
	struct perf_data data = data_of(TALLY_F32, 1);
	int least = 1000, most = -1000;

	(void)state;
	for (uint64_t run = 0; run < 200; run++) {
		int largest = -1000, smallest = 1000;

		perf_data_fill(&data, 0, run * 256, values, 256);
		for (int i = 0; i < 256; i++) {
			int e = ilogb((double)float_of(values[i]));

			assert_in_range(e + 1000, 1000 - 126, 1000 + 120);
			largest = e > largest ? e : largest;
			smallest = e < smallest ? e : smallest;
		}
		assert_in_range(largest - smallest, 10, 20); /* some bits of each are rounded off */
		least = largest < least ? largest : least;
		most = largest > most ? largest : most;
	}
	assert_true(least < -50);
	assert_true(most > 50);
}

/* float16 has little room: all finite and normal, and so is the sum of 64; bfloat16 is half of a float32. */
static void perf_data_fill__halves(void **state)
{
	static int32_t values[256], wide[256];
	struct perf_data half = data_of(TALLY_F16, 1), brain = data_of(TALLY_BF16, 1),
			 single = data_of(TALLY_F32, 1);
	int least = 100, most = -100;

	(void)state;
	for (uint64_t run = 0; run < 200; run++) {
		perf_data_fill(&half, 1, run * 256, values, 256);
		for (int i = 0; i < 256; i++) {
			int e = ilogb((double)perf_data_float(TALLY_F16, values[i]));

			assert_in_range(values[i], 0, 0xffff);
			assert_in_range(e + 100, 100 - 14, 100 + 8);
			least = e < least ? e : least;
			most = e > most ? e : most;
		}
		perf_data_fill(&brain, 1, run * 256, values, 256);
		perf_data_fill(&single, 1, run * 256, wide, 256);
		for (int i = 0; i < 256; i++)
			assert_int_equal(values[i], (uint32_t)wide[i] >> 16);
	}
	assert_int_equal(least, -14);
	assert_int_equal(most, 7);
}

static void perf_data_float__every_format(void **state)
{
	(void)state;
	assert_true(perf_data_float(TALLY_F16, 0x3c00) == 1.0f);
	assert_true(perf_data_float(TALLY_F16, 0xc180) == -2.75f);
	assert_true(perf_data_float(TALLY_F16, 0x7bff) == 65504.0f);
	assert_true(perf_data_float(TALLY_F16, 0x8001) == -0x1p-24f);
	assert_true(perf_data_float(TALLY_F16, 0x0400) == 0x1p-14f);
	assert_true(perf_data_float(TALLY_F16, 0xfc00) == -INFINITY);
	assert_true(isnan(perf_data_float(TALLY_F16, 0x7e00)));
	assert_true(perf_data_float(TALLY_BF16, 0xc0a0) == -5.0f);
	assert_true(perf_data_float(TALLY_F32, 0x3f000000) == 0.5f);
}

static void perf_data_pack__and_back(void **state)
{
	static const int32_t values[3] = { 0x1234, 0xfedc, 0x8001 };
	static const uint8_t want[6] = { 0x34, 0x12, 0xdc, 0xfe, 0x01, 0x80 };
	uint8_t out[13] = { 0 };
	int32_t back[3];

	(void)state;
	perf_data_pack(TALLY_BF16, out + 1, values, 3);
	assert_memory_equal(out + 1, want, sizeof(want));
	assert_int_equal(out[7], 0);
	perf_data_unpack(TALLY_BF16, back, out + 1, 3);
	assert_memory_equal(back, values, sizeof(values));
	perf_data_pack(TALLY_F32, out + 1, values, 3);
	assert_memory_equal(out + 1, values, sizeof(values));
	perf_data_unpack(TALLY_F32, back, out + 1, 3);
	assert_memory_equal(back, values, sizeof(values));
	assert_int_equal(perf_data_bytes(TALLY_F16), 2);
	assert_int_equal(perf_data_bytes(TALLY_I32), 4);
}

/* A part of a sum below the bound of docs/numerics.md could get lost without being missed. */
static void perf_data_fill__no_rank_drowns_in_the_others(void **state)
{
	enum { MANY = 64, BLOCK = 256, BLOCKS = 40 };
	static int32_t values[MANY][BLOCK];
	struct perf_data data = data_of(TALLY_F32, 1);
	int nr_checkable = 0;

	(void)state;
	data.nr_ranks = MANY;
	for (uint64_t b = 0; b < BLOCKS; b++) {
		double largest = 0, bound;

		for (int rank = 0; rank < MANY; rank++) {
			perf_data_fill(&data, rank, perf_data_shift(1, b), values[rank], BLOCK);
			for (int i = 0; i < BLOCK; i++)
				largest = fmax(largest, fabs((double)float_of(values[rank][i])));
		}
		bound = ldexp(MANY, -(157 - (ilogb(largest) + 127) - 6 + 1));
		for (int i = 0; i < MANY * BLOCK; i++)
			nr_checkable += fabs((double)float_of(values[i / BLOCK][i % BLOCK])) >
					bound;
	}
	assert_true(nr_checkable > MANY * BLOCK * BLOCKS / 4 * 3);
}

static void perf_data_fill__depends_on_seed_rank_and_place_only(void **state)
{
	static int32_t all[ELEMENTS], part[ELEMENTS], other[ELEMENTS];
	struct perf_data data = data_of(TALLY_F32, 7), avg = data, more = data, seed = data;
	static const uint32_t cuts[] = { 0, 1, 255, 256, 700, ELEMENTS };

	(void)state;
	avg.op = TALLY_AVG;
	more.nr_ranks = 64;
	seed.seed = 8;
	perf_data_fill(&data, 2, 1000, all, ELEMENTS);
	for (int i = 0; i < 5; i++)
		perf_data_fill(&data, 2, 1000 + cuts[i], part + cuts[i], cuts[i + 1] - cuts[i]);
	assert_memory_equal(part, all, sizeof(all));
	perf_data_fill(&avg, 2, 1000, other, ELEMENTS);
	assert_memory_equal(other, all, sizeof(all));
	perf_data_fill(&more, 2, 1000, other, ELEMENTS);
	assert_memory_equal(other, all, sizeof(all));
	perf_data_fill(&seed, 2, 1000, other, ELEMENTS);
	for (int i = 0; i < ELEMENTS; i++)
		assert_int_not_equal(other[i], all[i]);
}

/* Hashes of results are compared between machines and versions.  The values come from splitmix64 by
 * its definition, worked out elsewhere. */
static void perf_data_fill__is_what_it_always_was(void **state)
{
	static const int32_t want[4] = { 1982107326, 994785062, -1656543291, -1256584054 };
	struct perf_data data = data_of(TALLY_I32, 1);
	int32_t got[4];

	(void)state;
	perf_data_fill(&data, 3, 12345, got, 4);
	assert_memory_equal(got, want, sizeof(want));
}

static void perf_data_shift__differs_from_operation_to_operation(void **state)
{
	static unsigned int seen[PERF_SHIFTS];
	unsigned int nr = 0, nr_other = 0;

	(void)state;
	for (uint64_t o = 0; o < PERF_SHIFTS; o++) {
		uint64_t shift = perf_data_shift(1, o);

		assert_in_range(shift, 0, PERF_SHIFTS - 1);
		assert_int_equal(perf_data_shift(1, o), shift);
		nr_other += perf_data_shift(2, o) != shift;
		nr += !seen[shift]++;
	}
	/* As for 4096 balls thrown into 4096 boxes: 1 - 1/e of these get one. */
	assert_in_range(nr, PERF_SHIFTS * 60 / 100, PERF_SHIFTS * 66 / 100);
	assert_true(nr_other > PERF_SHIFTS * 99 / 100);
}

static void perf_data_hash__every_bit_order_and_length_count(void **state)
{
	static int32_t values[7];
	static uint64_t seen[7 * 32 + 7 + 8 + 7];
	struct perf_data data = data_of(TALLY_I32, 3);
	size_t nr = 0;

	(void)state;
	perf_data_fill(&data, 0, 0, values, 7);
	for (uint64_t len = 0; len <= 7; len++)
		seen[nr++] = perf_data_hash(5, values, 4 * len);
	for (uint64_t len = 0; len < 7; len++) /* an odd number of halves */
		seen[nr++] = perf_data_hash(5, values, 4 * len + 2);
	for (int i = 0; i < 7; i++) {
		for (int bit = 0; bit < 32; bit++) {
			values[i] ^= (int32_t)(UINT32_C(1) << bit);
			seen[nr++] = perf_data_hash(5, values, sizeof(values));
			values[i] ^= (int32_t)(UINT32_C(1) << bit);
		}
	}
	for (int i = 0; i < 6; i++) {
		int32_t keep = values[i];

		values[i] = values[i + 1];
		values[i + 1] = keep;
		seen[nr++] = perf_data_hash(5, values, sizeof(values));
	}
	seen[nr++] = perf_data_hash(6, values, sizeof(values));
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(seen[i] != seen[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_data_fill__every_element_of_every_rank_is_distinct),
		cmocka_unit_test(perf_data_fill__every_bit_of_an_integer_is_set_in_half),
		cmocka_unit_test(perf_data_fill__floats_are_normal_and_of_both_signs),
		cmocka_unit_test(perf_data_fill__floats_have_small_and_large_runs),
		cmocka_unit_test(perf_data_fill__halves),
		cmocka_unit_test(perf_data_float__every_format),
		cmocka_unit_test(perf_data_pack__and_back),
		cmocka_unit_test(perf_data_fill__no_rank_drowns_in_the_others),
		cmocka_unit_test(perf_data_fill__depends_on_seed_rank_and_place_only),
		cmocka_unit_test(perf_data_fill__is_what_it_always_was),
		cmocka_unit_test(perf_data_shift__differs_from_operation_to_operation),
		cmocka_unit_test(perf_data_hash__every_bit_order_and_length_count),
	};

	return cmocka_run_group_tests_name("perf_data", tests, NULL, NULL);
}
