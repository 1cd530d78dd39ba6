// SPDX-License-Identifier: BSD-3-Clause
// perf_check.c - compares results with a naive loop over all ranks' data and the bound of
// docs/numerics.md.
#include "host/tools/perf.h"

#include <math.h>
#include <string.h>

#define PERF_BLOCK 256 /* elements that share a scale, counted from the start of the tensor */

/* What all ranks' data of one block give, element by element. */
struct perf_block {
	uint32_t nr;
	uint32_t exponent; /* biased, of the largest magnitude of any rank; at least 1 */
	double sum[PERF_BLOCK];
	double largest[PERF_BLOCK], smallest[PERF_BLOCK];
	uint32_t wrapped[PERF_BLOCK]; /* int32 sum */
};

static double perf_number(enum tally_dtype dtype, int32_t bits)
{
	return dtype == TALLY_I32 ? (double)bits : (double)perf_data_float(dtype, bits);
}

/* The biased exponent of float32, 0 for 0 and subnormals. */
static uint32_t perf_exponent(double value)
{
	float single = (float)value;
	uint32_t bits;

	memcpy(&bits, &single, sizeof(bits));
	return bits >> 23 & 0xff;
}

static void perf_block_add(struct perf_block *block, enum tally_dtype dtype, const int32_t *values)
{
	uint32_t i, exponent;
	double value;

	for (i = 0; i < block->nr; i++) {
		value = perf_number(dtype, values[i]);
		block->sum[i] += value;
		if (value > block->largest[i])
			block->largest[i] = value;
		if (value < block->smallest[i])
			block->smallest[i] = value;
		block->wrapped[i] += (uint32_t)values[i];
		exponent = perf_exponent(value);
		if (exponent > block->exponent)
			block->exponent = exponent;
	}
}

static void perf_block_build(struct perf_block *block, const struct perf_data *data, uint64_t first,
			     uint32_t nr)
{
	int32_t values[PERF_BLOCK];
	uint32_t i;
	int rank;

	block->nr = nr;
	block->exponent = 1;
	for (i = 0; i < nr; i++) {
		block->sum[i] = 0;
		block->wrapped[i] = 0;
		block->largest[i] = -HUGE_VAL;
		block->smallest[i] = HUGE_VAL;
	}
	for (rank = 0; rank < data->nr_ranks; rank++) {
		perf_data_fill(data, rank, first, values, nr);
		perf_block_add(block, data->dtype, values);
	}
}

/*
 * Half a unit of the block's scale per rank: n * 2^-(k+1), k = 157 - E - ceil(log2 n) - (n >= 256).
 * As int16 k = 141 - E - ceil(log2 n), and what is largest may be a whole unit off.  The naive sum in
 * double has an error of its own, hence a millionth more.
 */
static double perf_block_bound(const struct perf_block *block, const struct perf_data *data)
{
	int log2 = 0, k;

	while (INT64_C(1) << log2 < data->nr_ranks)
		log2++;
	if (data->narrow)
		return ldexp(data->nr_ranks, (int)block->exponent + log2 - 141) * 1.000001;
	k = 157 - (int)block->exponent - log2 - (data->nr_ranks >= 256);
	return ldexp(data->nr_ranks, -(k + 1)) * 1.000001;
}

/* The one rounding of the result: half an ulp, at the subnormals half the smallest number. */
static double perf_rounding(enum tally_dtype dtype, double size)
{
	const double half = dtype == TALLY_F16 ? 0x1p-11 : dtype == TALLY_BF16 ? 0x1p-8 : 0x1p-24;
	const double least = dtype == TALLY_F16 ? 0x1p-14 : 0x1p-126;

	return (size > least ? size : least) * half;
}

/* Returns how far off the result is; bound is that of the sum alone. */
static double perf_check_near(struct perf_error *error, double want, double got, double bound)
{
	double off = fabs(got - want);

	if (!isfinite(got)) {
		error->wrong++;
		return 0; /* an error without a size */
	}
	if (!(off <= bound))
		error->wrong++;
	if (off / bound > error->max_share)
		error->max_share = off / bound;
	return off;
}

static void perf_check_float(const struct perf_data *data, const struct perf_block *block,
			     const int32_t *got, struct perf_error *error)
{
	const double parts = data->op == TALLY_AVG ? data->nr_ranks : 1;
	const double bound = perf_block_bound(block, data) / parts;
	double value, want, off = 0, most = 0;
	uint32_t i;

	for (i = 0; i < block->nr; i++) {
		value = perf_number(data->dtype, got[i]);
		want = block->sum[i] / parts;
		if (data->op == TALLY_SUM || data->op == TALLY_AVG)
			off = perf_check_near(error, want, value,
					      bound + perf_rounding(data->dtype,
								    fmax(fabs(want), fabs(value))));
		else if (!(value ==
			   (data->op == TALLY_MAX ? block->largest[i] : block->smallest[i])))
			error->wrong++;
		if (off > most)
			most = off;
	}
	most = ldexp(most, 126 - (int)block->exponent);
	if (most > error->max_part)
		error->max_part = most;
}

static void perf_check_int(const struct perf_data *data, const struct perf_block *block,
			   const int32_t *got, struct perf_error *error)
{
	int32_t want;
	uint32_t i;

	for (i = 0; i < block->nr; i++) {
		if (data->op == TALLY_MAX)
			want = (int32_t)block->largest[i];
		else if (data->op == TALLY_MIN)
			want = (int32_t)block->smallest[i];
		else
			want = (int32_t)block->wrapped[i];
		if (data->op == TALLY_AVG)
			want /= data->nr_ranks;
		if (got[i] != want)
			error->wrong++;
	}
}

void perf_check_results(const struct perf_data *data, uint64_t shift, const void *got,
			uint64_t count, struct perf_error *error)
{
	const uint8_t *from = got;
	int32_t values[PERF_BLOCK];
	struct perf_block block;
	uint64_t at;
	uint32_t nr;

	for (at = 0; at < count; at += nr) {
		nr = count - at < PERF_BLOCK ? (uint32_t)(count - at) : PERF_BLOCK;
		perf_block_build(&block, data, shift + at, nr);
		perf_data_unpack(data->dtype, values, from + at * perf_data_bytes(data->dtype), nr);
		if (data->dtype != TALLY_I32)
			perf_check_float(data, &block, values, error);
		else
			perf_check_int(data, &block, values, error);
	}
}
