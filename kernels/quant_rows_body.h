/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows: what the quantiser for wide registers does with two of them, and the walk from row to row.
 * A part of quant_body.h, which includes it.
 */
#ifndef KERNELS_QUANT_ROWS_BODY_H
#define KERNELS_QUANT_ROWS_BODY_H

#include "kernels/quant_vec.h"

/* Bytes of an element, there and here. */
struct sizes {
	size_t dst;
	size_t src;
};

/* What a loop keeps in registers. The first three are constants, once inlined. */
struct vec {
	struct sizes size;
	enum quant_dtype dtype;
	enum quant_wire wire;
	float scale;
	int k; /* of 2^k, in float16 */
	bool divides;
	struct vec_divisor divisor;
	int32_t limit;	  /* of int16 */
	uint32_t reverse; /* of an order: all ones */
	bool ahead;	  /* whether lines are asked for early, up to: */
	uintptr_t end;	  /* of the memory that is written */
	vec_u32 least;	  /* of all int32 made, or int16 before they were clamped */
};

typedef void (*row_fn)(void *dst, const void *src, struct vec *vec);

VEC_FN size_t dtype_size(enum quant_dtype dtype)
{
	return dtype == QUANT_F32 ? 4 : 2;
}

VEC_FN size_t wire_size(enum quant_wire wire)
{
	return wire == QUANT_WIRE_32 ? 4 : 2;
}

/*
 * A line that is written costs about five times one that is read: it is asked for early where that
 * pays. Not beyond the end, where another core may write.
 */
#define AHEAD 256

VEC_FN void row_ahead(const void *row, size_t bytes, uintptr_t end)
{
	const uintptr_t last = end - bytes, ahead = (uintptr_t)row + AHEAD;
	const uint8_t *lines = (const uint8_t *)(ahead < last ? ahead : last);

	for (size_t at = 0; at < bytes; at += 64)
		__builtin_prefetch(lines + at, 1);
}

/*
 * Memory of any alignment, a row at a time; the last one overlaps the one before, and what is
 * shorter than a row goes through a padded copy.
 */
VEC_FN void body_rows(row_fn row, void *dst, const void *src, size_t count, struct vec *vec)
{
	const struct sizes size = vec->size;
	uint8_t *to = dst;
	const uint8_t *from = src;
	size_t i = 0;

	/* At most a block, the compiler knows, and would lay each row of it out: 25 % more code. */
	__asm__("" : "+r"(count));
	if (count < VEC_PAIR) {
		uint8_t in[VEC_PAIR * 4] = { 0 };
		uint8_t out[VEC_PAIR * 4];

		memcpy(in, from, size.src * count);
		row(out, in, vec);
		memcpy(to, out, size.dst * count);
		return;
	}
	for (; i + VEC_PAIR <= count; i += VEC_PAIR) {
		if (VEC_BYTES == 64 && vec->ahead)
			row_ahead(to + size.dst * i, VEC_PAIR * size.dst, vec->end);
		row(to + size.dst * i, from + size.src * i, vec);
	}
	if (i < count) {
		i = count - VEC_PAIR;
		row(to + size.dst * i, from + size.src * i, vec);
	}
}

VEC_FN struct pair pair_load(const void *src)
{
	struct pair words = { vec_load(src), vec_load((const char *)src + VEC_BYTES) };

	return words;
}

VEC_FN void pair_store(void *dst, struct pair words)
{
	vec_store(dst, words.low);
	vec_store((char *)dst + VEC_BYTES, words.high);
}

/* Floats of the user's memory, widened. */
VEC_FN struct pair pair_load_float(enum quant_dtype dtype, const void *src)
{
	if (dtype == QUANT_F32)
		return pair_load(src);
	if (dtype == QUANT_F16)
		return pair_load_half(src);
	return pair_load_upper(src);
}

/* Floats narrowed into the user's memory, ties to even. The only NaN is QM_NAN. */
VEC_FN void pair_store_float(enum quant_dtype dtype, void *dst, struct pair x)
{
	if (dtype == QUANT_F32) {
		pair_store(dst, x);
	} else if (dtype == QUANT_F16) {
		pair_store_half(dst, x);
	} else {
		x.low = vec_round_upper(x.low);
		x.high = vec_round_upper(x.high);
		pair_store_upper(dst, x);
	}
}

/* Words with QM_NAN where bits are a NaN's. */
VEC_FN vec_u32 vec_or_nan(vec_u32 words, vec_u32 bits)
{
	vec_u32 nan = (vec_u32)((vec_i32)(bits & 0x7fffffffu) > (int32_t)QM_INF);

	return (words & ~nan) | (nan & QM_NAN);
}

VEC_FN vec_u32 vec_limit16(vec_u32 words, struct vec *vec)
{
	vec->least = vec_min16(vec->least, words);
	return vec_clamp16(words, vec->limit);
}

/* bfloat16, the numbers of even and odd index: half of a register each, which needs no moves. */
VEC_FN struct pair pair_load_turns(const void *src)
{
	vec_u32 words = vec_load(src);
	struct pair turns = { words << 16, words & 0xffff0000u };

	return turns;
}

VEC_FN void row_quantize(void *dst, const void *src, struct vec *vec)
{
	const bool turns = vec->dtype == QUANT_BF16 && vec->wire == QUANT_WIRE_16;
	struct pair x = turns ? pair_load_turns(src) : pair_load_float(vec->dtype, src);
	struct pair q = { vec_quantize(x.low, vec->scale), vec_quantize(x.high, vec->scale) };
	vec_u32 words;

	if (vec->wire == QUANT_WIRE_16) {
		words = vec_limit16(pair_pack16(q), vec);
		vec_store(dst, turns ? vec_swap16_turns(words) : vec_swap16_packed(words));
		return;
	}
	vec->least = vec_min(vec->least, vec_min(q.low, q.high));
	vec_store(dst, vec_swap(q.low));
	vec_store((char *)dst + VEC_BYTES, vec_swap(q.high));
}

/* Where the CPU computes in float16; elsewhere these are never called. */
#if VEC_HALF
VEC_FN void row_quantize_half(void *dst, const void *src, struct vec *vec)
{
	vec_u32 words = half_quantize(vec_load(src), vec->k);

	vec_store(dst, vec_swap16(vec_limit16(words, vec)));
}

VEC_FN void row_dequantize_half(void *dst, const void *src, struct vec *vec)
{
	vec_store(dst, half_dequantize(vec_swap16(vec_load(src)), vec->k));
}
#else
#define row_quantize_half row_quantize
#define row_dequantize_half row_dequantize
#endif

/*
 * To 16 bits it has to be rounded once. What the float32 in between cannot hold of a sum of 32
 * bits, or of that divided by up to DIVISOR_NARROW_MAX, is told by its lowest bit: it is on the
 * right side of each point where the second rounding turns. Sums of 16 bits, which come times 2^16,
 * it holds.
 */
VEC_FN vec_u32 vec_result(vec_u32 sum, const struct vec *vec)
{
	vec_u32 x;

	if (vec->wire == QUANT_WIRE_32 && vec->dtype == QUANT_F32 && vec->divides)
		return vec_multiply(vec_average(sum, &vec->divisor), vec->scale);
	if (vec->wire == QUANT_WIRE_32 && vec->dtype != QUANT_F32)
		x = vec_float_odd(sum);
	else
		x = vec_float(sum);
	if (vec->divides)
		x = vec_divide(x, &vec->divisor);
	return vec_multiply(x, vec->scale);
}

/* Both of 16 bits, in one register: every other one by turns, which needs no moves. */
VEC_FN void row_dequantize_turns(void *dst, const void *src, struct vec *vec)
{
	vec_u32 words = vec_swap(vec_load(src));
	vec_u32 even = vec_result(words & 0xffff0000u, vec);
	vec_u32 odd = vec_result(words << 16, vec);

	vec_store(dst, vec_round_upper(even) >> 16 | (vec_round_upper(odd) & 0xffff0000u));
}

VEC_FN void row_dequantize(void *dst, const void *src, struct vec *vec)
{
	struct pair sum;

	if (vec->wire == QUANT_WIRE_16) {
		sum = pair_load_be16(src);
	} else {
		sum = pair_load(src);
		sum.low = vec_swap(sum.low);
		sum.high = vec_swap(sum.high);
	}
	sum.low = vec_result(sum.low, vec);
	sum.high = vec_result(sum.high, vec);
	if (vec->dtype == QUANT_BF16)
		pair_store_upper_normal(dst, sum);
	else
		pair_store_float(vec->dtype, dst, sum);
}

VEC_FN vec_u32 vec_order(vec_u32 x, uint32_t reverse)
{
	vec_u32 key = x ^ ((vec_u32)((vec_i32)x >> 31) >> 1) ^ reverse;

	return vec_swap(vec_or_nan(key, x));
}

VEC_FN void row_order(void *dst, const void *src, struct vec *vec)
{
	struct pair x = pair_load_float(vec->dtype, src);

	vec_store(dst, vec_order(x.low, vec->reverse));
	vec_store((char *)dst + VEC_BYTES, vec_order(x.high, vec->reverse));
}

VEC_FN vec_u32 vec_unorder(vec_u32 key, uint32_t reverse)
{
	vec_u32 plain = vec_swap(key) ^ reverse;
	vec_u32 x = plain ^ ((vec_u32)((vec_i32)plain >> 31) >> 1);

	return vec_or_nan(x, x);
}

VEC_FN void row_unorder(void *dst, const void *src, struct vec *vec)
{
	struct pair x = pair_load(src);

	x.low = vec_unorder(x.low, vec->reverse);
	x.high = vec_unorder(x.high, vec->reverse);
	pair_store_float(vec->dtype, dst, x);
}

VEC_FN struct pair pair_multiply(struct pair x, float factor)
{
	x.low = vec_multiply(x.low, factor);
	x.high = vec_multiply(x.high, factor);
	x.low = vec_or_nan(x.low, x.low);
	x.high = vec_or_nan(x.high, x.high);
	return x;
}

VEC_FN void row_widen(void *dst, const void *src, struct vec *vec)
{
	pair_store(dst, pair_multiply(pair_load_float(vec->dtype, src), vec->scale));
}

VEC_FN void row_narrow(void *dst, const void *src, struct vec *vec)
{
	pair_store_float(vec->dtype, dst, pair_multiply(pair_load(src), vec->scale));
}

#endif
