/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The quantiser for wide registers: one body for every x86-64 instruction set.
 *
 * Included once by each quant_<isa>.c, after the compiler's flags (and that file) have named the
 * instruction set. The loops over integers are plain C for the compiler to vectorise. Where floats
 * are converted the including file supplies one register's worth, because neither gcc 12 nor
 * clang 14 finds these instructions by itself without -ffast-math:
 *
 *   VEC_LANES                       floats per register
 *   struct vec, vec_init(scale)     what a loop keeps in registers
 *   vec_quantize(dst, src, vec)     qm_quantize for shifts <= QM_SHIFT_FLOAT_MAX, if it fits
 *   vec_overflowed(vec)             whether any since vec_init did not fit
 *   vec_dequantize(dst, src, vec)   qm_dequantize, divisor a power of two
 *   vec_average(dst, src, vec)      qm_dequantize, any divisor, scale 2^-k / divisor
 *   vec_divide(dividend, divisor)   one double
 *
 * They must round to nearest, keep no trap armed, and leave the thread's float control alone.
 */
#ifndef KERNELS_QUANT_BODY_H
#define KERNELS_QUANT_BODY_H

#include "kernels/quant_isa.h"
#include "kernels/quant_math.h"

/* Not inlined: clang would set up the constants of the rare loops in each call. */
#define RUN_FN static __attribute__((noinline))

#define VEC_BYTES (VEC_LANES * (size_t)4)

static inline double body_pow2(int k)
{
	uint64_t bits = (uint64_t)(k + 1023) << 52;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * Plain memory of any alignment, one register at a time; the rest goes through a padded copy.
 * Always inlined with a constant row, so that the loop holds the row's instructions.
 */
static inline __attribute__((always_inline)) void
body_rows(void (*row)(void *dst, const void *src, struct vec *vec), uint8_t *restrict dst,
	  const uint8_t *restrict src, size_t count, struct vec *vec)
{
	size_t rest = 4 * count % VEC_BYTES;
	size_t whole = 4 * count - rest;

	for (size_t at = 0; at < whole; at += VEC_BYTES)
		row(dst + at, src + at, vec);
	if (rest) {
		uint8_t in[VEC_BYTES] = { 0 };
		uint8_t out[VEC_BYTES];

		memcpy(in, src + whole, rest);
		row(out, in, vec);
		memcpy(dst + whole, out, rest);
	}
}

static uint32_t block_largest(const uint8_t *restrict src, size_t count)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t mag = qm_load32(src + 4 * i) & 0x7fffffffu;

		largest = mag > largest ? mag : largest;
	}
	return largest;
}

static uint64_t block_nonfinite(const uint8_t *restrict src, size_t count)
{
	uint64_t nonfinite = 0;

	for (size_t i = 0; i < count; i++)
		nonfinite += (qm_load32(src + 4 * i) & QM_INF) == QM_INF;
	return nonfinite;
}

static uint64_t body_scan_f32(uint8_t *exp, const void *src, size_t count)
{
	const uint8_t *from = src;
	uint64_t nonfinite = 0;

	for (size_t done = 0; done < count; done += QUANT_BLOCK) {
		size_t run = count - done < QUANT_BLOCK ? count - done : QUANT_BLOCK;
		uint32_t largest;

		if (run == QUANT_BLOCK)
			largest = block_largest(from + 4 * done, QUANT_BLOCK);
		else
			largest = block_largest(from + 4 * done, run);
		if (largest >= QM_INF)
			nonfinite += block_nonfinite(from + 4 * done, run);
		exp[done / QUANT_BLOCK] = (uint8_t)(largest >> 23);
	}
	return nonfinite;
}

/*
 * Integers: no flush-to-zero to fear in blocks near the subnormals (all-zero ones are among them),
 * and what does not fit saturates.
 */
RUN_FN void run_quantize_exact(uint8_t *restrict dst, const uint8_t *restrict src, size_t count,
			       int k)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t q = (uint32_t)qm_quantize(qm_load32(src + 4 * i), k);

		qm_store32(dst + 4 * i, qm_be32(q));
	}
}

RUN_FN void run_quantize(uint8_t *restrict dst, const uint8_t *restrict src, size_t count, int k)
{
	struct vec vec = vec_init(body_pow2(k));

	body_rows(vec_quantize, dst, src, count, &vec);
	if (vec_overflowed(&vec))
		run_quantize_exact(dst, src, count, k);
}

static __attribute__((noinline)) void body_quantize_f32(void *dst, const void *src,
							const struct quant_chunk *chunk)
{
	uint8_t *to = dst;
	const uint8_t *from = src;
	size_t run;

	for (size_t done = 0; done < chunk->count; done += run) {
		uint8_t exp = quant_exp(chunk, done);
		int k = qm_shift(exp, chunk->world);

		run = quant_run(chunk, done);
		if (exp == QM_EXP_NONFINITE)
			memset(to + 4 * done, 0, 4 * run);
		else if (k > QM_SHIFT_FLOAT_MAX)
			run_quantize_exact(to + 4 * done, from + 4 * done, run, k);
		else
			run_quantize(to + 4 * done, from + 4 * done, run, k);
	}
}

/* Results near the subnormals or near overflow. Zeros are common there, other values are not. */
RUN_FN void run_dequantize_edge(uint8_t *restrict dst, const uint8_t *restrict src, size_t count,
				int k, uint32_t divisor)
{
	uint32_t any = 0;

	for (size_t i = 0; i < count; i++)
		any |= qm_load32(src + 4 * i);
	if (!any) {
		memset(dst, 0, 4 * count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		int32_t sum = (int32_t)qm_be32(qm_load32(src + 4 * i));

		qm_store32(dst + 4 * i, qm_dequantize(sum, k, divisor, QM_F32_MANT, QM_F32_EXP));
	}
}

RUN_FN void run_dequantize(uint8_t *restrict dst, const uint8_t *restrict src, size_t count, int k)
{
	struct vec vec = vec_init(body_pow2(-k));

	body_rows(vec_dequantize, dst, src, count, &vec);
}

RUN_FN void run_average(uint8_t *restrict dst, const uint8_t *restrict src, size_t count, int k,
			uint32_t divisor)
{
	struct vec vec = vec_init(vec_divide(body_pow2(-k), divisor));

	body_rows(vec_average, dst, src, count, &vec);
}

static void run_deliver(uint8_t *restrict dst, const uint8_t *restrict src, size_t count, int k,
			uint32_t divisor)
{
	int log2 = qm_log2_ceil(divisor);

	if (k < QM_SHIFT_FINITE_MIN || k + log2 > QM_SHIFT_FLOAT_MAX)
		run_dequantize_edge(dst, src, count, k, divisor);
	else if ((divisor & (divisor - 1)) == 0)
		run_dequantize(dst, src, count, k + log2);
	else
		run_average(dst, src, count, k, divisor);
}

static void run_fill(uint8_t *restrict dst, size_t count, uint32_t word)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(dst + 4 * i, word);
}

static __attribute__((noinline)) uint64_t
body_dequantize_f32(void *dst, const void *src, const struct quant_chunk *chunk, uint32_t divisor)
{
	uint8_t *to = dst;
	const uint8_t *from = src;
	uint64_t nonfinite = 0;
	size_t run;

	for (size_t done = 0; done < chunk->count; done += run) {
		uint8_t exp = quant_exp(chunk, done);
		int k = qm_shift(exp, chunk->world);

		run = quant_run(chunk, done);
		if (exp != QM_EXP_NONFINITE) {
			run_deliver(to + 4 * done, from + 4 * done, run, k, divisor);
			continue;
		}
		run_fill(to + 4 * done, run, QM_NAN);
		nonfinite += run;
	}
	return nonfinite;
}

/* Swapped and xored with mask: a copy to or from the wire, or its complement. */
static void run_swap(uint8_t *restrict dst, const uint8_t *restrict src, size_t count,
		     uint32_t mask)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(dst + 4 * i, qm_be32(qm_load32(src + 4 * i)) ^ mask);
}

static void body_store_be32(void *dst, const uint32_t *src, size_t count)
{
	run_swap(dst, (const uint8_t *)src, count, 0u);
}

static void body_load_be32(uint32_t *dst, const void *src, size_t count)
{
	run_swap((uint8_t *)dst, src, count, 0u);
}

static void body_sum_be32(uint32_t sums[2], const void *src, size_t count)
{
	const uint8_t *from = src;
	uint32_t sum = 0, weighted = 0;

	for (uint32_t i = 0; i < (uint32_t)count; i++) {
		uint32_t word = qm_be32(qm_load32(from + 4 * (size_t)i));

		sum += word;
		weighted += i * word;
	}
	sums[0] = sum;
	sums[1] = weighted;
}

static void body_invert_be32(void *dst, const uint32_t *src, size_t count)
{
	run_swap(dst, (const uint8_t *)src, count, 0xffffffffu);
}

static void body_uninvert_be32(uint32_t *dst, const void *src, size_t count)
{
	run_swap((uint8_t *)dst, src, count, 0xffffffffu);
}

static void run_order(uint8_t *restrict dst, const uint8_t *restrict src, size_t count,
		      uint32_t negate)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(dst + 4 * i, qm_be32(qm_order(qm_load32(src + 4 * i), negate)));
}

static void run_unorder(uint8_t *restrict dst, const uint8_t *restrict src, size_t count,
			uint32_t negate)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(dst + 4 * i, qm_unorder(qm_be32(qm_load32(src + 4 * i)), negate));
}

static void body_order_f32(void *dst, const void *src, size_t count, int negate)
{
	run_order(dst, src, count, negate != 0);
}

static void body_unorder_f32(void *dst, const void *src, size_t count, int negate)
{
	run_unorder(dst, src, count, negate != 0);
}

/*
 * Division by multiplication: factor = ceil(2^shift / divisor) with shift = 31 + ceil(log2
 * divisor) is below 2^32 for divisors up to QUANT_WORLD_MAX and too large by less than 1, so that
 * mag * factor >> shift is exact for mag <= 2^31.
 */
static void run_divide(uint8_t *restrict dst, const uint8_t *restrict src, size_t count,
		       uint32_t divisor)
{
	uint32_t shift = 31u + (uint32_t)qm_log2_ceil(divisor);
	uint32_t factor = (uint32_t)(((1ull << shift) + divisor - 1u) / divisor);

	for (size_t i = 0; i < count; i++) {
		uint32_t sum = qm_be32(qm_load32(src + 4 * i));
		uint32_t sign = 0u - (sum >> 31);
		uint32_t mag = (sum ^ sign) - sign;
		uint32_t quotient = (uint32_t)((uint64_t)mag * factor >> shift);

		qm_store32(dst + 4 * i, (quotient ^ sign) - sign);
	}
}

static void body_average_i32(int32_t *dst, const void *src, size_t count, uint32_t divisor)
{
	run_divide((uint8_t *)dst, src, count, divisor);
}

#endif
