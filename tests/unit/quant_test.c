// SPDX-License-Identifier: BSD-3-Clause
// Tests of the quantiser: its numbers against exact arithmetic, and whole sums against bounds.
#include "kernels/quant.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/quant_piece.h"

/* ---- the naive side: exact in long double, rounded by the C library ---- */

static int naive_shift(unsigned exp, unsigned world)
{
	int log2 = 0;

	while ((1ull << log2) < world)
		log2++;
	return 157 - (exp == 0 ? 1 : (int)exp) - log2 - (world >= 256 ? 1 : 0);
}

static int32_t naive_quantize(uint32_t bits, int k)
{
	long double value = bits_float(bits & 0x7fffffffu);

	if ((bits >> 23 & 255u) == 255u)
		value = INFINITY;
	value = rintl(ldexpl(value, k));
	if (value > 2147483647.0L)
		value = 2147483647.0L;
	return (int32_t)(bits >> 31 ? -value : value);
}

/* Both double and long double hold the quotient well enough that narrowing rounds like once. */
static uint32_t naive_dequantize(int32_t sum, int k, uint32_t divisor)
{
	double value = ldexp((double)sum / divisor, -k);
	float narrow = (float)value;

	if (divisor > 1 && isinf(narrow))
		narrow = value > 0 ? FLT_MAX : -FLT_MAX;
	return float_bits(narrow);
}

static long double exact_bound(long double exact, int k, uint32_t world)
{
	long double tiny = ldexpl(1, -150);
	long double narrowing = ldexpl(fabsl(exact), -24);

	return world * ldexpl(1, -k - 1) + (narrowing > tiny ? narrowing : tiny) * 1.0001L;
}

/* ---- a whole all-reduce with one table: scan, agree, quantise, add, dequantise ---- */

struct job {
	uint32_t world;
	size_t count;
	float *values; /* world x count, owned by the test */
	uint8_t exp[BLOCKS_MAX];
	uint32_t sums[NR_MAX];
	bool fits; /* no partial sum left int32 */
	float result[NR_MAX];
	uint64_t nonfinite;
};

static void job_run(struct job *job, const struct quant_ops *ops, uint32_t divisor)
{
	static uint32_t wire[NR_MAX];
	static int64_t total[NR_MAX];
	struct quant_chunk chunk = { job->exp, 0, job->world, job->count };
	uint8_t own[BLOCKS_MAX];

	memset(total, 0, sizeof(total));
	memset(job->exp, 0, sizeof(job->exp));
	job->fits = true;
	for (uint32_t r = 0; r < job->world; r++) {
		ops->floats[QUANT_F32].scan(own, job->values + r * job->count, job->count);
		for (size_t b = 0; b < (job->count + 255) / 256; b++)
			job->exp[b] = own[b] > job->exp[b] ? own[b] : job->exp[b];
	}
	for (uint32_t r = 0; r < job->world; r++) {
		ops->floats[QUANT_F32].quantize[QUANT_WIRE_32](wire, job->values + r * job->count,
							       &chunk);
		for (size_t i = 0; i < job->count; i++) {
			total[i] += (int32_t)wire_get(wire, i);
			job->fits = job->fits && total[i] <= INT32_MAX && total[i] >= INT32_MIN;
		}
	}
	for (size_t i = 0; i < job->count; i++)
		wire_put(job->sums, i, (uint32_t)(uint64_t)total[i]);
	job->nonfinite = ops->floats[QUANT_F32].dequantize[QUANT_WIRE_32](job->result, job->sums,
									  &chunk, divisor);
}

static long double job_exact(const struct job *job, size_t i)
{
	long double exact = 0;

	for (uint32_t r = 0; r < job->world; r++)
		exact += job->values[r * job->count + i];
	return exact;
}

static void job_check_bound(const struct job *job)
{
	assert_true(job->fits);
	for (size_t i = 0; i < job->count; i++) {
		long double exact = job_exact(job, i);
		int k = naive_shift(job->exp[i / 256], job->world);

		if (fabsl(exact) <= FLT_MAX)
			assert_true(fabsl(job->result[i] - exact) <=
				    exact_bound(exact, k, job->world));
	}
}

static struct job *job_new(uint32_t world, size_t count)
{
	struct job *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	job->world = world;
	job->count = count;
	job->values = calloc(world * count + 1, sizeof(float));
	assert_non_null(job->values);
	return job;
}

static void job_free(struct job *job)
{
	free(job->values);
	free(job);
}

/* All ranks send value in each element. */
static struct job *job_same(uint32_t world, size_t count, float value)
{
	struct job *job = job_new(world, count);

	for (size_t i = 0; i < world * count; i++)
		job->values[i] = value;
	return job;
}

/* ---- select and shift ---- */

static void select__default_is_best_and_names_work(void **state)
{
	const struct quant_ops *best = quant_select(NULL);

	(void)state;
	assert_non_null(best);
	assert_ptr_equal(quant_select(best->name), best);
	assert_string_equal(quant_select("scalar")->name, "scalar");
	assert_null(quant_select("avx1024"));
	assert_null(quant_select(""));
	if (quant_select("avx512fp16"))
		assert_string_equal(best->name, "avx512fp16");
	else if (quant_select("avx512"))
		assert_string_equal(best->name, "avx512");
	else if (quant_select("avx2"))
		assert_string_equal(best->name, "avx2");
	else
		assert_string_equal(best->name, "scalar");
}

static void shift__every_exponent_and_world(void **state)
{
	(void)state;
	for (unsigned exp = 0; exp < 255; exp++)
		for (unsigned world = 1; world <= 65535; world += world < 2000 ? 1 : 997)
			assert_int_equal(quant_shift(exp, world, QUANT_WIRE_32),
					 naive_shift(exp, world));
	assert_int_equal(quant_shift(127, 1, QUANT_WIRE_32), 30);
	assert_int_equal(quant_shift(127, 4, QUANT_WIRE_32), 28);
	assert_int_equal(quant_shift(127, 5, QUANT_WIRE_32), 27);
	assert_int_equal(quant_shift(127, 255, QUANT_WIRE_32), 22);
	assert_int_equal(quant_shift(127, 256, QUANT_WIRE_32), 21);
	assert_int_equal(quant_shift(0, 1, QUANT_WIRE_32), 156);
	assert_int_equal(quant_shift(254, 65535, QUANT_WIRE_32), -114);
}

/* n workers at the largest |x| of a block, rounded, stay within int32: every n, and both signs. */
static void shift__largest_sums_fit(void **state)
{
	(void)state;
	for (uint32_t world = 1; world <= 65535; world++) {
		int64_t q = naive_quantize(0x3f7fffffu, quant_shift(126, world, QUANT_WIRE_32));

		assert_true(q * world <= INT32_MAX);
	}
}

/* ---- scan ---- */

static void scan__largest_exponent_of_each_block(void **state)
{
	static float src[600];
	uint8_t exp[4] = { 9, 9, 9, 9 };

	(void)state;
	src[3] = 1.0f;
	src[255] = -2.5f;
	src[256] = -1e-40f;
	src[599] = -FLT_MAX;
	assert_int_equal(quant_select("scalar")->floats[QUANT_F32].scan(exp, src, 600), 0);
	assert_int_equal(exp[0], 128);
	assert_int_equal(exp[1], 0);
	assert_int_equal(exp[2], 254);
	assert_int_equal(exp[3], 9);
}

static void scan__nonfinite_are_counted(void **state)
{
	static float src[300];
	uint8_t exp[2];

	(void)state;
	src[7] = INFINITY;
	src[8] = -INFINITY;
	src[9] = NAN;
	src[290] = bits_float(0xff800001u);
	assert_int_equal(quant_select("scalar")->floats[QUANT_F32].scan(exp, src, 300), 4);
	assert_int_equal(exp[0], 255);
	assert_int_equal(exp[1], 255);
}

/* ---- quantize ---- */

/* Every exponent, every distance below it, mantissas that tie and almost tie. */
static void quantize__equals_exact_arithmetic(void **state)
{
	const struct quant_ops *ops = quant_select("scalar");
	static struct piece p;
	static uint8_t out[ROOM];

	(void)state;
	for (unsigned exp = 0; exp < 255; exp++) {
		for (size_t w = 0; w < NR_WORLDS; w++) {
			piece_init(&p, exp, worlds[w]);
			piece_floats(&p, QUANT_F32);
			ops->floats[QUANT_F32].quantize[QUANT_WIRE_32]((void *)(out + p.dst_at),
								       (const void *)(p.src +
										      p.src_at),
								       &p.chunk);
			for (size_t i = 0; i < p.chunk.count; i++) {
				int k = naive_shift(piece_exp(&p, i), worlds[w]);
				uint32_t bits = host_get(p.src + p.src_at, i);
				int32_t want = naive_quantize(bits, k);

				if (piece_exp(&p, i) == 255)
					want = 0;
				assert_int_equal((int32_t)wire_get(out + p.dst_at, i), want);
			}
		}
	}
}

static void quantize__ties_go_to_even(void **state)
{
	static const int32_t want[] = { 0, 2, 2, 4, 0, -2, -2, 1, 0 };
	float src[9] = { 0.5f, 1.5f, 2.5f, 3.5f, -0.5f, -1.5f, -2.5f, 0.50000006f, 0.49999997f };
	uint8_t exp = 157 - 0;
	uint8_t out[36];
	struct quant_chunk chunk = { &exp, 0, 1, 9 };

	(void)state;
	assert_int_equal(quant_shift(exp, 1, QUANT_WIRE_32), 0);
	for (size_t t = 0; t < 2; t++) {
		const struct quant_ops *ops = quant_select(t ? NULL : "scalar");

		ops->floats[QUANT_F32].quantize[QUANT_WIRE_32](out, src, &chunk);
		for (size_t i = 0; i < 9; i++)
			assert_int_equal((int32_t)wire_get(out, i), want[i]);
	}
}

static void quantize__lies_saturate(void **state)
{
	float src[6] = { 4.0f, -4.0f, INFINITY, -INFINITY, FLT_MAX, -2.0f };
	uint8_t exp = 127;
	uint8_t out[24];
	struct quant_chunk chunk = { &exp, 0, 1, 6 };

	(void)state;
	quant_select("scalar")->floats[QUANT_F32].quantize[QUANT_WIRE_32](out, src, &chunk);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal((int32_t)wire_get(out, i), i % 2 ? -2147483647 : 2147483647);
}

/* ---- dequantize ---- */

static void dequantize__equals_exact_arithmetic(void **state)
{
	const struct quant_ops *ops = quant_select("scalar");
	static struct piece p;
	static uint8_t out[ROOM];

	(void)state;
	for (unsigned exp = 0; exp < 256; exp++) {
		for (size_t w = 0; w < NR_WORLDS; w++) {
			uint64_t nonfinite = 0, counted;

			piece_init(&p, exp, worlds[w]);
			piece_sums(&p, QUANT_WIRE_32);
			counted = ops->floats[QUANT_F32].dequantize[QUANT_WIRE_32](
				(void *)(out + p.dst_at), p.src + p.src_at, &p.chunk, p.divisor);
			for (size_t i = 0; i < p.chunk.count; i++) {
				int k = naive_shift(piece_exp(&p, i), worlds[w]);
				int32_t sum = (int32_t)wire_get(p.src + p.src_at, i);
				uint32_t want = naive_dequantize(sum, k, p.divisor);

				if (piece_exp(&p, i) == 255) {
					want = NAN_BITS;
					nonfinite++;
				}
				assert_int_equal(host_get(out + p.dst_at, i), want);
			}
			assert_int_equal(counted, nonfinite);
		}
	}
}

/* Averages whose exact value is a point where rounding turns (25 bits, odd), and neighbours. */
static void dequantize__average_ties(void **state)
{
	static const char *const names[] = { "scalar", "avx2", "avx512", "avx512fp16" };
	uint8_t exp = 140, wire[20];
	float out[5];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		uint32_t world = 3 + rng_below(124);
		uint32_t span = INT32_MAX / world - (1u << 24);
		uint32_t half = (1u << 24) + (rng_below(span < 1u << 24 ? span : 1u << 24) | 1u);
		struct quant_chunk chunk = { &exp, 0, world, 5 };

		for (size_t i = 0; i < 5; i++)
			wire_put(wire, i,
				 (half * world + (uint32_t)i - 2u) * (round % 2 ? 1u : -1u));
		for (size_t t = 0; t < 3; t++) {
			const struct quant_ops *ops = quant_select(names[t]);

			if (!ops)
				continue;
			ops->floats[QUANT_F32].dequantize[QUANT_WIRE_32](out, wire, &chunk, world);
			for (size_t i = 0; i < 5; i++) {
				int32_t sum = (int32_t)wire_get(wire, i);
				int k = naive_shift(exp, world);

				assert_int_equal(float_bits(out[i]),
						 naive_dequantize(sum, k, world));
			}
		}
	}
}

static void dequantize__average_of_flt_max(void **state)
{
	(void)state;
	for (size_t w = 0; w < NR_WORLDS - 1; w++) {
		struct job *job = job_same(worlds[w], 3, FLT_MAX);

		job->values[1] = FLT_MAX;
		for (uint32_t r = 0; r < worlds[w]; r++)
			job->values[r * 3 + 2] = -FLT_MAX;
		for (size_t t = 0; t < 2; t++) {
			job_run(job, quant_select(t ? NULL : "scalar"), worlds[w]);
			assert_true(job->fits);
			assert_true(job->result[0] == FLT_MAX);
			assert_true(job->result[1] == FLT_MAX);
			assert_true(job->result[2] == -FLT_MAX);
		}
		job_run(job, quant_select(NULL), 1);
		assert_true(worlds[w] == 1 ? job->result[0] == FLT_MAX : isinf(job->result[0]));
		job_free(job);
	}
}

/* ---- vectors and whole sums ---- */

static void sum__full_scale_fits(void **state)
{
	static const uint32_t full[] = { 1, 2, 3, 127, 128, 129, 255, 256, 257, 512, 1024 };

	(void)state;
	for (size_t w = 0; w < sizeof(full) / sizeof(full[0]); w++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			struct job *job = job_same(full[w], 2, (float)sign * 0.99999994f);

			job_run(job, quant_select(NULL), 1);
			job_check_bound(job);
			job_free(job);
		}
	}
}

static void sum__small_and_special_values(void **state)
{
	static const float values[] = { 0.0f,	-0.0f, 1e-30f, 1e-38f,	1e-45f, -1e-45f,
					1e-40f, 1.0f,  -1e-7f, FLT_MIN, 3e-39f, 1.17549421e-38f };

	(void)state;
	for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
		for (uint32_t world = 1; world <= 5; world++) {
			struct job *job = job_same(world, 19, values[v]);

			job_run(job, quant_select(NULL), 1);
			job_check_bound(job);
			/* One value per block: up to 128 ranks nothing is lost before narrowing. */
			assert_true(job->result[18] == (float)job_exact(job, 18));
			if (values[v] == 0.0f)
				assert_int_equal(float_bits(job->result[0]), 0);
			job_free(job);
		}
	}
}

static void sum__one_rank_alone_is_rounded_to_the_block(void **state)
{
	struct job *job = job_new(1, 3);

	(void)state;
	job->values[0] = 1.0f;
	job->values[1] = 1e-7f;
	job->values[2] = -0.75f;
	job_run(job, quant_select(NULL), 1);
	assert_true(job->result[0] == 1.0f);
	assert_true(job->result[1] == 107.0f / (1 << 30)); /* 1e-7 x 2^30 = 107.37 */
	assert_true(job->result[2] == -0.75f);
	job_check_bound(job);
	job_free(job);
}

static void sum__nonfinite_rank_poisons_its_block_only(void **state)
{
	static const float bad[] = { INFINITY, -INFINITY, NAN };

	(void)state;
	for (size_t v = 0; v < 3; v++) {
		struct job *job = job_same(3, 600, 1.5f);

		job->values[1 * 600 + 300] = bad[v];
		job_run(job, quant_select(NULL), 1);
		assert_int_equal(job->nonfinite, 256);
		for (size_t i = 0; i < 600; i++) {
			uint32_t want = i / 256 == 1 ? NAN_BITS : float_bits(4.5f);

			assert_int_equal(float_bits(job->result[i]), want);
		}
		job_free(job);
	}
}

static void sum__error_stays_within_bound(void **state)
{
	(void)state;
	for (int round = 0; round < 120; round++) {
		uint32_t world = worlds[rng_below(NR_WORLDS - 1)];
		size_t count = 1 + rng_below(world > 64 ? 40 : 600);
		struct job *job = job_new(world, count);
		uint32_t exp = rng_below(255);

		for (size_t i = 0; i < world * count; i++) {
			uint32_t below = rng_below(12);
			uint32_t top = exp > below ? exp - below : 0;

			job->values[i] = bits_float(((uint32_t)rng() & 0x807fffffu) | top << 23);
		}
		job_run(job, quant_select(round % 2 ? NULL : "scalar"), 1);
		job_check_bound(job);
		job_free(job);
	}
}

/* Values within a factor of 2^(7 - log2 n) of each other: only narrowing rounds. */
static void sum__narrow_span_is_exact(void **state)
{
	(void)state;
	for (uint32_t log2 = 0; log2 <= 7; log2++) {
		struct job *job = job_new(1u << log2, 100);
		uint32_t exp = 20 + rng_below(200);

		for (size_t i = 0; i < job->world * job->count; i++) {
			uint32_t top = exp - rng_below(7 - log2 + 1);

			job->values[i] = bits_float(((uint32_t)rng() & 0x807fffffu) | top << 23);
		}
		job->values[0] = bits_float(exp << 23);
		job_run(job, quant_select(NULL), 1);
		assert_true(job->fits);
		for (size_t i = 0; i < job->count; i++)
			assert_true(job->result[i] == (float)job_exact(job, i));
		job_free(job);
	}
}

/* ---- raw words ---- */

static void store_be32__and_load_are_network_order(void **state)
{
	uint32_t words[3] = { 0x01020304u, 0xfffefdfcu, 0x80000001u }, back[3] = { 0 };
	uint8_t wire[13] = { 0 };
	const struct quant_ops *ops = quant_select("scalar");

	(void)state;
	ops->store_be32(wire + 1, words, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(wire_get(wire + 1, i), words[i]);
	ops->load_be32(back, wire + 1, 3);
	assert_memory_equal(back, words, sizeof(words));
}

/* ---- order ---- */

static void sum_be32__plain_and_weighted(void **state)
{
	static const char *const names[] = { "scalar", "avx2", "avx512", "avx512fp16" };
	uint8_t words[4 * 1000 + 3];

	(void)state;
	for (size_t i = 0; i < sizeof(words); i++)
		words[i] = (uint8_t)(i * 167 + (i >> 7) * 29 + 3);
	for (size_t t = 0; t < sizeof(names) / sizeof(names[0]); t++) {
		const struct quant_ops *ops = quant_select(names[t]);

		for (size_t count = 0; ops && count <= 1000; count += count < 70 ? 1 : 155) {
			const uint8_t *at = words + count % 4;
			int64_t sum = 0, weighted = 0;
			uint64_t got[2] = { 9, 9 };

			for (size_t i = 0; i < count; i++) {
				int64_t word = (int64_t)at[4 * i] << 24 | at[4 * i + 1] << 16 |
					       at[4 * i + 2] << 8 | at[4 * i + 3];

				word -= at[4 * i] >= 128 ? INT64_C(1) << 32 : 0;
				sum += word;
				weighted += (int64_t)i * word;
			}
			ops->sum_be32(got, at, count);
			assert_int_equal(got[0], sum);
			assert_int_equal(got[1], weighted);
		}
	}
}

static void order__follows_the_floats(void **state)
{
	static const float rising[] = { -INFINITY, -FLT_MAX, -1.0f, -FLT_MIN, -1e-45f,	-0.0f,
					0.0f,	   1e-45f,   1.0f,  FLT_MAX,  INFINITY, NAN };
	const struct quant_ops *ops = quant_select("scalar");
	uint8_t wire[48];
	float back[12];

	(void)state;
	ops->floats[QUANT_F32].order(wire, rising, 12, 0);
	for (size_t i = 1; i < 12; i++)
		assert_true((int32_t)wire_get(wire, i - 1) < (int32_t)wire_get(wire, i));
	ops->floats[QUANT_F32].unorder(back, wire, 12, 0);
	assert_memory_equal(back, rising, sizeof(rising));

	ops->floats[QUANT_F32].order(wire, rising, 12, 1);
	for (size_t i = 1; i < 11; i++) {
		assert_true((int32_t)wire_get(wire, i - 1) > (int32_t)wire_get(wire, i));
		assert_true((int32_t)wire_get(wire, 11) > (int32_t)wire_get(wire, i - 1));
	}
	ops->floats[QUANT_F32].unorder(back, wire, 12, 1);
	assert_memory_equal(back, rising, sizeof(rising));
}

static void order__every_nan_becomes_the_same(void **state)
{
	static const uint32_t nans[] = { 0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffc00000u,
					 0xffffffffu };
	const struct quant_ops *ops = quant_select("scalar");

	(void)state;
	for (int negate = 0; negate < 2; negate++) {
		uint8_t wire[20];
		uint32_t back[5];
		float src[5];

		memcpy(src, nans, sizeof(src));
		ops->floats[QUANT_F32].order(wire, src, 5, negate);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(wire_get(wire, i), NAN_BITS);
		ops->floats[QUANT_F32].unorder(src, wire, 5, negate);
		memcpy(back, src, sizeof(back));
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(back[i], NAN_BITS);
	}
}

static void order__maximum_and_minimum_of_pairs(void **state)
{
	const struct quant_ops *ops = quant_select("scalar");

	(void)state;
	for (int round = 0; round < 20000; round++) {
		uint32_t bits[2] = { (uint32_t)rng(), (uint32_t)rng() };
		int negate = round % 2;
		uint8_t wire[8];
		float pair[2], got;
		int32_t a, b;

		memcpy(pair, bits, sizeof(pair));
		ops->floats[QUANT_F32].order(wire, pair, 2, negate);
		a = (int32_t)wire_get(wire, 0);
		b = (int32_t)wire_get(wire, 1);
		wire_put(wire, 0, (uint32_t)(a > b ? a : b));
		ops->floats[QUANT_F32].unorder(&got, wire, 1, negate);
		if (isnan(pair[0]) || isnan(pair[1]))
			assert_int_equal(float_bits(got), NAN_BITS);
		else
			assert_true(got ==
				    (negate ? fminf(pair[0], pair[1]) : fmaxf(pair[0], pair[1])));
	}
}

/* ---- integers ---- */

static void invert__maximum_gives_minimum(void **state)
{
	static const int32_t values[] = { INT32_MIN, -7, 0, 5, INT32_MAX };
	const struct quant_ops *ops = quant_select("scalar");
	uint32_t words[5], back[5];
	uint8_t wire[20];

	(void)state;
	memcpy(words, values, sizeof(words));
	ops->invert_be32(wire, words, 5);
	for (size_t i = 1; i < 5; i++)
		assert_true((int32_t)wire_get(wire, i - 1) > (int32_t)wire_get(wire, i));
	ops->uninvert_be32(back, wire, 5);
	assert_memory_equal(back, words, sizeof(words));
}

static void average_i32__truncates_toward_zero(void **state)
{
	static const int32_t sums[] = { 7, -7, 0, INT32_MIN, INT32_MAX, 1, -1, 65535 };

	(void)state;
	for (size_t t = 0; t < 2; t++) {
		const struct quant_ops *ops = quant_select(t ? NULL : "scalar");

		for (uint32_t divisor = 1; divisor <= 65535; divisor += divisor < 300 ? 1 : 331) {
			uint8_t wire[32];
			int32_t out[8];

			for (size_t i = 0; i < 8; i++)
				wire_put(wire, i, (uint32_t)sums[i]);
			ops->average_i32(out, wire, 8, divisor);
			for (size_t i = 0; i < 8; i++)
				assert_int_equal(out[i], (int64_t)sums[i] / (int64_t)divisor);
		}
	}
}

static int reseed(void **state)
{
	(void)state;
	rng_state = 20;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(select__default_is_best_and_names_work),
		cmocka_unit_test(shift__every_exponent_and_world),
		cmocka_unit_test(shift__largest_sums_fit),
		cmocka_unit_test(scan__largest_exponent_of_each_block),
		cmocka_unit_test(scan__nonfinite_are_counted),
		cmocka_unit_test_setup(quantize__equals_exact_arithmetic, reseed),
		cmocka_unit_test(quantize__ties_go_to_even),
		cmocka_unit_test(quantize__lies_saturate),
		cmocka_unit_test_setup(dequantize__equals_exact_arithmetic, reseed),
		cmocka_unit_test_setup(dequantize__average_ties, reseed),
		cmocka_unit_test(dequantize__average_of_flt_max),
		cmocka_unit_test(sum__full_scale_fits),
		cmocka_unit_test(sum__small_and_special_values),
		cmocka_unit_test(sum__one_rank_alone_is_rounded_to_the_block),
		cmocka_unit_test(sum__nonfinite_rank_poisons_its_block_only),
		cmocka_unit_test_setup(sum__error_stays_within_bound, reseed),
		cmocka_unit_test_setup(sum__narrow_span_is_exact, reseed),
		cmocka_unit_test(store_be32__and_load_are_network_order),
		cmocka_unit_test(sum_be32__plain_and_weighted),
		cmocka_unit_test(order__follows_the_floats),
		cmocka_unit_test(order__every_nan_becomes_the_same),
		cmocka_unit_test_setup(order__maximum_and_minimum_of_pairs, reseed),
		cmocka_unit_test(invert__maximum_gives_minimum),
		cmocka_unit_test(average_i32__truncates_toward_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
