// SPDX-License-Identifier: BSD-3-Clause
// naive.c - what an all-reduce gives, from its definition alone: in double, one element after the other.
#include "tests/unit/naive.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 256 };

/* Bits of the significand behind its leading one, and the exponents of the smallest and largest. */
struct format {
	int mant, least, most;
};

static struct format format_of(enum tally_dtype dtype)
{
	if (dtype == TALLY_F16)
		return (struct format){ 10, -14, 15 };
	if (dtype == TALLY_BF16)
		return (struct format){ 7, -126, 127 };
	return (struct format){ 23, -126, 127 };
}

size_t naive_bytes(enum tally_dtype dtype)
{
	return dtype == TALLY_F16 || dtype == TALLY_BF16 ? 2 : 4;
}

double naive_value(enum tally_dtype dtype, uint32_t bits)
{
	const struct format f = format_of(dtype);
	const int width = f.most == 15 ? 5 : 8;
	const bool negative = bits >> (f.mant + width) & 1;
	const int exponent = (int)(bits >> f.mant & ((1u << width) - 1));
	const uint32_t mant = bits & ((1u << f.mant) - 1);
	double value;

	if (dtype == TALLY_I32)
		return (double)(int32_t)bits;
	if (exponent == (1 << width) - 1)
		value = mant ? (double)NAN : (double)INFINITY;
	else if (exponent)
		value = ldexp(1 + ldexp(mant, -f.mant), exponent - f.most);
	else
		value = ldexp(mant, f.least - f.mant);
	return negative ? -value : value;
}

uint32_t naive_bits(enum tally_dtype dtype, double value)
{
	const struct format f = format_of(dtype);
	const int width = f.most == 15 ? 5 : 8;
	const uint32_t sign = signbit(value) ? 1u << (f.mant + width) : 0;
	const uint32_t infinite = ((1u << width) - 1) << f.mant;
	int exponent;
	double units;

	if (isnan(value))
		return infinite | 1u << (f.mant - 1);
	if (value == 0)
		return sign;
	if (isinf(value))
		return sign | infinite;
	frexp(value, &exponent);
	exponent = exponent - 1 < f.least ? f.least : exponent - 1;
	units = nearbyint(ldexp(fabs(value), f.mant - exponent));
	if (ldexp(units, exponent - f.mant) >= ldexp(1, f.most + 1))
		return sign | infinite;
	/* A leading one adds 1 to the exponent field, as does a carry. */
	return sign | (((uint32_t)(exponent - f.least) << f.mant) + (uint32_t)units);
}

/* --- Data --------------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= UINT32_C(0x7feb352d);
	x ^= x >> 15;
	x *= UINT32_C(0x846ca68b);
	return x ^ x >> 16;
}

/* Each block has its magnitude, of the format's whole range; within it numbers spread over some binades. */
static uint32_t float_data(const struct naive *naive, uint32_t hash, size_t i)
{
	const struct format f = format_of(naive->dtype);
	const int range = f.most - f.least + 1;
	const int width = f.most == 15 ? 5 : 8;
	const uint32_t block = mix((uint32_t)(i / BLOCK) * 7919u + naive->seed);
	int exponent = (int)(block % (uint32_t)range) + 1 - (int)(hash >> 24) % 6;

	if (block >> 16 & 1) /* every other one is where sums fit and nothing is subnormal */
		exponent = range / 2 + (int)(block >> 20) % 4 - (int)(hash >> 24) % 6;
	if (exponent < 0)
		exponent = 0;
	return (hash & 1) << (f.mant + width) | (uint32_t)exponent << f.mant |
	       (hash >> 1 & ((1u << f.mant) - 1));
}

uint32_t naive_data(const struct naive *naive, int rank, size_t i)
{
	const uint32_t hash =
		mix((uint32_t)i * 2654435761u + (uint32_t)rank * 40503u + naive->seed);

	if (naive->bad_ranks >> rank & 1 && i >= naive->bad_at)
		return naive->bad_bits;
	if (naive->dtype != TALLY_I32)
		return float_data(naive, hash, i);
	if (!naive->saturate)
		return hash;
	/* One sign for all ranks: the order does not matter then. Every other fits. */
	return (i & 1 ? hash & 0x7fffffffu : hash & 0x7ffffffu) * (i & 2 ? -1u : 1u);
}

/* --- Sums of floats ------------------------------------------------------------------------------- */

static float factor_of(const float factors[NAIVE_RANKS], int rank)
{
	return factors[rank] != 0 ? factors[rank] : 1;
}

/* What rank puts in, as float32. */
static float put_in(const struct naive *naive, int rank, size_t i)
{
	const float value = (float)naive_value(naive->dtype, naive_data(naive, rank, i));

	return value * factor_of(naive->prescale, rank);
}

int naive_nonfinite_rank(const struct naive *naive)
{
	for (int r = 0; r < naive->ranks; r++)
		for (size_t i = 0; i < naive->count; i++)
			if (!isfinite(put_in(naive, r, i)))
				return r;
	return -1;
}

/* The biased exponent of the block's largest, at least 1; 255: something is not finite. */
static int block_exponent(const struct naive *naive, size_t first)
{
	int most = 1, exponent;

	for (size_t i = first; i < first + BLOCK && i < naive->count; i++)
		for (int r = 0; r < naive->ranks; r++) {
			const float x = put_in(naive, r, i);

			if (!isfinite(x))
				return 255;
			frexp((double)x, &exponent);
			if (x != 0 && exponent + 126 > most)
				most = exponent + 126;
		}
	return most;
}

static int log2_ceil(int n)
{
	int lg = 0;

	while (1 << lg < n)
		lg++;
	return lg;
}

/* The sum, or average, of element i before it is rounded: 53 bits are enough for both. */
static double sum_scaled(const struct naive *naive, size_t i, int exponent)
{
	const int n = naive->ranks, limit = 32767 / n;
	const int k = (naive->narrow ? 141 : 157) - exponent - log2_ceil(n);
	double sum = 0;

	for (int r = 0; r < n; r++) {
		double q = nearbyint(ldexp((double)put_in(naive, r, i), k));

		if (naive->narrow && q > limit)
			q = limit;
		if (naive->narrow && q < -limit)
			q = -limit;
		sum += q;
	}
	sum = ldexp(sum + 0.0, -k);
	return naive->op == TALLY_AVG ? sum / n : sum;
}

static uint32_t float_sum(const struct naive *naive, int rank, size_t i, int exponent)
{
	const enum tally_dtype dtype = naive->dtype;
	const float post = factor_of(naive->postscale, rank);
	double sum;
	float single;
	uint32_t bits;

	if (exponent == 255)
		return naive_bits(dtype, (double)NAN);
	sum = sum_scaled(naive, i, exponent);
	if (post == 1) {
		bits = naive_bits(dtype, sum);
		/* An average stays finite, though by rounding the parts it may be too much. */
		if (naive->op == TALLY_AVG && isinf(naive_value(dtype, bits)))
			bits--;
		return bits;
	}
	bits = naive_bits(TALLY_F32, sum);
	if (naive->op == TALLY_AVG && isinf(naive_value(TALLY_F32, bits)))
		bits--;
	single = (float)naive_value(TALLY_F32, bits) * post;
	return naive_bits(dtype, (double)single);
}

/* --- The others ----------------------------------------------------------------------------------- */

/* NaN above all; -0 below +0. */
static bool is_above(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a);
	return a != b ? a > b : !signbit(a) && signbit(b);
}

static bool is_below(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a);
	return a != b ? a < b : signbit(a) && !signbit(b);
}

static uint32_t extreme(const struct naive *naive, size_t i)
{
	uint32_t best = naive_data(naive, 0, i);

	for (int r = 1; r < naive->ranks; r++) {
		const uint32_t bits = naive_data(naive, r, i);
		const double a = naive_value(naive->dtype, bits),
			     b = naive_value(naive->dtype, best);

		if (naive->op == TALLY_MAX ? is_above(a, b) : is_below(a, b))
			best = bits;
	}
	if (isnan(naive_value(naive->dtype, best)))
		best = naive_bits(naive->dtype, (double)NAN);
	return best;
}

static int64_t int_sum(const struct naive *naive, size_t i)
{
	int64_t sum = 0;

	for (int r = 0; r < naive->ranks; r++)
		sum += (int32_t)naive_data(naive, r, i);
	return sum;
}

static bool fits(int64_t sum)
{
	return sum >= INT32_MIN && sum <= INT32_MAX;
}

static uint32_t int_result(const struct naive *naive, size_t i)
{
	int64_t sum = int_sum(naive, i);

	if (naive->saturate && !fits(sum))
		sum = sum < 0 ? INT32_MIN : INT32_MAX;
	if (naive->op == TALLY_AVG)
		return (uint32_t)((int32_t)(uint32_t)sum / naive->ranks);
	return (uint32_t)sum;
}

uint64_t naive_saturated(const struct naive *naive)
{
	uint64_t nr = 0;

	for (size_t i = 0; naive->saturate && i < naive->count; i++)
		nr += !fits(int_sum(naive, i));
	return nr;
}

uint64_t naive_result(const struct naive *naive, int rank, uint8_t *out)
{
	const bool adds = naive->op == TALLY_SUM || naive->op == TALLY_AVG;
	const size_t bytes = naive_bytes(naive->dtype);
	uint64_t nonfinite = 0;
	int exponent = 0;

	assert(naive->ranks <= NAIVE_RANKS);
	for (size_t i = 0; i < naive->count; i++) {
		uint32_t bits;

		if (!adds) {
			bits = extreme(naive, i);
		} else if (naive->dtype == TALLY_I32) {
			bits = int_result(naive, i);
		} else {
			if (i % BLOCK == 0)
				exponent = block_exponent(naive, i);
			nonfinite += exponent == 255;
			bits = float_sum(naive, rank, i, exponent);
		}
		memcpy(out + i * bytes, &bits, bytes); /* little-endian, as all that is tested */
	}
	return nonfinite;
}

struct tally_args naive_args(const struct naive *naive, int rank)
{
	return (struct tally_args){
		.size = sizeof(struct tally_args),
		.count = naive->count,
		.dtype = naive->dtype,
		.op = naive->op,
		.wire = naive->narrow ? TALLY_WIRE_INT16 : TALLY_WIRE_INT32,
		.prescale = naive->prescale[rank],
		.postscale = naive->postscale[rank],
		.flags = naive->saturate ? TALLY_SATURATE : 0,
	};
}
