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

static float perf_float(int32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double perf_number(enum tally_dtype dtype, int32_t bits)
{
	return dtype == TALLY_I32 ? (double)bits : (double)perf_float(bits);
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
		exponent = (uint32_t)values[i] >> 23 & 0xff;
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
 * The naive sum in double has an error of its own, hence a millionth more.
 */
static double perf_block_bound(const struct perf_block *block, int nr_ranks)
{
	int log2 = 0, k;

	while (INT64_C(1) << log2 < nr_ranks)
		log2++;
	k = 157 - (int)block->exponent - log2 - (nr_ranks >= 256);
	return ldexp(nr_ranks, -(k + 1)) * 1.000001;
}

/* Returns how far off the result is. */
static double perf_check_near(struct perf_error *error, double want, double got, double bound)
{
	double off = fabs(got - want);
	double size = fabs(want) > fabs(got) ? fabs(want) : fabs(got);

	if (!isfinite(got)) {
		error->wrong++;
		return 0; /* an error without a size */
	}
	/*
	 * The one rounding of the result: half an ulp, at the subnormals half the smallest number.
	 */
	bound += size > 0x1p-126 ? size * 0x1p-24 : 0x1p-150;
	if (!(off <= bound))
		error->wrong++;
	if (off / bound > error->max_share)
		error->max_share = off / bound;
	return off;
}

static void perf_check_float(const struct perf_data *data, const struct perf_block *block,
			     const int32_t *got, struct perf_error *error)
{
	double bound = perf_block_bound(block, data->nr_ranks), value, off = 0, most = 0;
	uint32_t i;

	for (i = 0; i < block->nr; i++) {
		value = perf_float(got[i]);
		if (data->op == TALLY_SUM)
			off = perf_check_near(error, block->sum[i], value, bound);
		else if (data->op == TALLY_AVG)
			off = perf_check_near(error, block->sum[i] / data->nr_ranks, value,
					      bound / data->nr_ranks);
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

void perf_check_results(const struct perf_data *data, uint64_t shift, const int32_t *got,
			uint64_t count, struct perf_error *error)
{
	struct perf_block block;
	uint64_t at;
	uint32_t nr;

	for (at = 0; at < count; at += nr) {
		nr = count - at < PERF_BLOCK ? (uint32_t)(count - at) : PERF_BLOCK;
		perf_block_build(&block, data, shift + at, nr);
		if (data->dtype == TALLY_F32)
			perf_check_float(data, &block, got + at, error);
		else
			perf_check_int(data, &block, got + at, error);
	}
}
