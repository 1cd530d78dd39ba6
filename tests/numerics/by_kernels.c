// SPDX-License-Identifier: BSD-3-Clause
// by_kernels.c - an all-reduce by one table of kernels and plain sums of integers.
#include "tests/numerics/by_kernels.h"

#include <stdio.h>
#include <string.h>

#define ROOM (4 * TABLE_ELEMENTS + 8)
#define ONE 0x3f800000u

struct reduce {
	const struct table_vector *vector;
	const struct quant_ops *ops;
	size_t piece, count;
	uint8_t exp[TABLE_ELEMENTS / QUANT_BLOCK + 1];
	int64_t sums[TABLE_ELEMENTS];
	uint64_t nonfinite;
	int origin; /* the lowest rank that has Inf or NaN, -1: none */
	bool overflow;
	uint8_t src[ROOM], wire[ROOM], dst[ROOM];
	float wide[TABLE_ELEMENTS];
};

static float factor(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static bool is_float(const struct table_vector *vector)
{
	return vector->type != TABLE_I32;
}

static bool is_sum(const struct table_vector *vector)
{
	return vector->op == TABLE_SUM || vector->op == TABLE_AVG;
}

static uint32_t divisor(const struct table_vector *vector)
{
	return vector->op == TABLE_AVG ? vector->world : 1;
}

/* --- Words on the wire, byte by byte -------------------------------------------------------------- */

static size_t wire_bytes(const struct table_vector *vector)
{
	return vector->wire == QUANT_WIRE_16 && is_float(vector) && is_sum(vector) ? 2 : 4;
}

static int64_t wire_get(const struct reduce *reduce, size_t i)
{
	size_t bytes = wire_bytes(reduce->vector);
	const uint8_t *at = reduce->wire + bytes * i;

	if (bytes == 2)
		return (int16_t)(at[0] << 8 | at[1]);
	return (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
			 at[3]);
}

static void wire_put(struct reduce *reduce, size_t i, int64_t word)
{
	size_t bytes = wire_bytes(reduce->vector);

	for (size_t b = 0; b < bytes; b++)
		reduce->wire[bytes * i + b] = (uint8_t)((uint64_t)word >> 8 * (bytes - 1 - b));
}

/* What a switch does with a contribution. Floats must not need more than the wire has. */
static void reduce_add(struct reduce *reduce, uint32_t rank)
{
	const int64_t limit = wire_bytes(reduce->vector) == 2 ? INT16_MAX : INT32_MAX;

	for (size_t i = 0; i < reduce->count; i++) {
		int64_t word = wire_get(reduce, i), sum = reduce->sums[i] + word;

		if (!is_sum(reduce->vector))
			sum = rank == 0 || word > reduce->sums[i] ? word : reduce->sums[i];
		else if (is_float(reduce->vector))
			reduce->overflow |= sum > limit || sum < -limit - 1;
		else if (reduce->vector->saturate)
			sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
		else
			sum = (int32_t)(uint32_t)(uint64_t)sum;
		reduce->sums[i] = sum;
	}
}

/* --- Sums of floats ------------------------------------------------------------------------------- */

/* A rank's elements where the kernels read them: one byte off, widened if they are scaled. */
static const void *reduce_fill(struct reduce *reduce, uint32_t rank, enum quant_dtype *dtype)
{
	const struct table_vector *vector = reduce->vector;
	size_t bytes = table_bytes(vector);

	for (size_t i = 0; i < reduce->count; i++) {
		uint32_t bits = table_element(vector, rank, i);

		memcpy(reduce->src + 1 + bytes * i, &bits, bytes);
	}
	*dtype = (enum quant_dtype)vector->type;
	if (vector->pre == ONE || !is_float(vector))
		return reduce->src + 1;
	reduce->ops->floats[*dtype].widen(reduce->wide, reduce->src + 1, reduce->count,
					  factor(vector->pre));
	*dtype = QUANT_F32;
	return reduce->wide;
}

static void reduce_scan(struct reduce *reduce, uint32_t rank)
{
	uint8_t own[TABLE_ELEMENTS / QUANT_BLOCK + 1];
	enum quant_dtype dtype;
	const void *src = reduce_fill(reduce, rank, &dtype);
	uint64_t bad;

	if (!reduce->count)
		return;
	bad = reduce->ops->floats[dtype].scan(own, src, reduce->count);
	if (bad && reduce->origin < 0)
		reduce->origin = (int)rank;
	for (size_t b = 0; b <= (reduce->count - 1) / QUANT_BLOCK; b++)
		reduce->exp[b] = own[b] > reduce->exp[b] ? own[b] : reduce->exp[b];
}

static struct quant_chunk reduce_chunk(const struct reduce *reduce, size_t first)
{
	size_t left = reduce->count - first;

	return (struct quant_chunk){
		.exp = reduce->exp + first / QUANT_BLOCK,
		.phase = (uint32_t)(first % QUANT_BLOCK),
		.world = reduce->vector->world,
		.count = left < reduce->piece ? left : reduce->piece,
	};
}

static void reduce_quantize(struct reduce *reduce, uint32_t rank)
{
	enum quant_dtype dtype;
	const char *src = reduce_fill(reduce, rank, &dtype);
	size_t bytes = wire_bytes(reduce->vector);

	for (size_t i = 0; i < reduce->count; i += reduce->piece) {
		struct quant_chunk chunk = reduce_chunk(reduce, i);

		reduce->ops->floats[dtype].quantize[reduce->vector->wire](
			reduce->wire + bytes * i, src + quant_dtype_bytes(dtype) * i, &chunk);
	}
}

static void reduce_dequantize(struct reduce *reduce)
{
	const struct table_vector *vector = reduce->vector;
	const bool times = vector->post != ONE;
	const enum quant_dtype own = (enum quant_dtype)vector->type,
			       dtype = times ? QUANT_F32 : own;
	uint8_t *dst = times ? (uint8_t *)reduce->wide : reduce->dst;

	for (size_t i = 0; i < reduce->count; i += reduce->piece) {
		struct quant_chunk chunk = reduce_chunk(reduce, i);

		reduce->nonfinite += reduce->ops->floats[dtype].dequantize[vector->wire](
			dst + quant_dtype_bytes(dtype) * i, reduce->wire + wire_bytes(vector) * i,
			&chunk, divisor(vector));
	}
	if (times)
		reduce->ops->floats[own].narrow(reduce->dst, reduce->wide, reduce->count,
						factor(vector->post));
}

/* --- Everything else ------------------------------------------------------------------------------ */

static void reduce_pack(struct reduce *reduce, uint32_t rank)
{
	const struct quant_ops *ops = reduce->ops;
	const int negate = reduce->vector->op == TABLE_MIN;
	enum quant_dtype dtype;
	const void *src = reduce_fill(reduce, rank, &dtype);

	if (is_float(reduce->vector))
		ops->floats[dtype].order(reduce->wire, src, reduce->count, negate);
	else if (negate)
		ops->invert_be32(reduce->wire, src, reduce->count);
	else
		ops->store_be32(reduce->wire, src, reduce->count);
}

static void reduce_unpack(struct reduce *reduce)
{
	const struct quant_ops *ops = reduce->ops;
	const int negate = reduce->vector->op == TABLE_MIN;
	void *dst = reduce->dst;

	if (is_float(reduce->vector))
		ops->floats[reduce->vector->type].unorder(dst, reduce->wire, reduce->count, negate);
	else if (negate)
		ops->uninvert_be32(dst, reduce->wire, reduce->count);
	else if (reduce->vector->op == TABLE_AVG)
		ops->average_i32(dst, reduce->wire, reduce->count, reduce->vector->world);
	else
		ops->load_be32(dst, reduce->wire, reduce->count);
}

static void reduce_run(struct reduce *reduce, size_t count)
{
	const struct table_vector *vector = reduce->vector;
	const bool quantized = is_float(vector) && is_sum(vector);

	reduce->count = count;
	memset(reduce->exp, 0, sizeof(reduce->exp));
	memset(reduce->sums, 0, sizeof(reduce->sums));
	for (uint32_t r = 0; r < vector->world && quantized; r++)
		reduce_scan(reduce, r);
	for (uint32_t r = 0; r < vector->world; r++) {
		if (quantized)
			reduce_quantize(reduce, r);
		else
			reduce_pack(reduce, r);
		reduce_add(reduce, r);
	}
	for (size_t i = 0; i < count; i++)
		wire_put(reduce, i, reduce->sums[i]);
	if (quantized)
		reduce_dequantize(reduce);
	else
		reduce_unpack(reduce);
}

void by_kernels(const struct table_vector *vector, const struct quant_ops *ops, size_t piece,
		struct table_result *result)
{
	static struct reduce reduce;

	reduce.vector = vector;
	reduce.ops = ops;
	reduce.piece = piece;
	reduce.nonfinite = 0;
	reduce.origin = -1;
	reduce.overflow = false;
	table_result_init(result);
	for (uint32_t c = 0; c < vector->nr_counts; c++) {
		reduce_run(&reduce, vector->counts[c]);
		table_result_add(result, vector, reduce.dst, vector->counts[c]);
	}
	table_result_end(result, vector, reduce.nonfinite, reduce.origin);
	if (reduce.overflow)
		snprintf(result->text, sizeof(result->text), "a sum that does not fit the wire");
}
