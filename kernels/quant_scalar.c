// SPDX-License-Identifier: BSD-3-Clause
// The quantiser that defines the numbers: one element at a time, integers only.
#include "kernels/quant_isa.h"

#include "kernels/quant_math.h"

/* Byte address of element i: user pointers may be misaligned, so no float is ever dereferenced. */
static const void *word_at(const void *base, size_t i)
{
	return (const char *)base + 4 * i;
}

static void *word_to(void *base, size_t i)
{
	return (char *)base + 4 * i;
}

static uint64_t scalar_scan_f32(uint8_t *exp, const float *src, size_t count)
{
	uint64_t nonfinite = 0;

	for (size_t i = 0; i < count; i++) {
		uint8_t *largest = &exp[i / QUANT_BLOCK];
		uint8_t own = (uint8_t)(qm_load32(word_at(src, i)) >> 23 & 255u);

		if (i % QUANT_BLOCK == 0 || own > *largest)
			*largest = own;
		nonfinite += own == QM_EXP_NONFINITE;
	}
	return nonfinite;
}

static void scalar_quantize_f32(void *dst, const float *src, const struct quant_chunk *chunk)
{
	size_t end;

	for (size_t i = 0; i < chunk->count; i = end) {
		uint8_t exp = quant_exp(chunk, i);
		int k = qm_shift(exp, chunk->world);

		end = i + quant_run(chunk, i);
		for (size_t e = i; e < end; e++) {
			int32_t q = qm_quantize(qm_load32(word_at(src, e)), k);

			if (exp == QM_EXP_NONFINITE)
				q = 0;
			qm_store32(word_to(dst, e), qm_be32((uint32_t)q));
		}
	}
}

static uint64_t scalar_dequantize_f32(float *dst, const void *src, const struct quant_chunk *chunk,
				      uint32_t divisor)
{
	uint64_t nonfinite = 0;
	size_t end;

	for (size_t i = 0; i < chunk->count; i = end) {
		uint8_t exp = quant_exp(chunk, i);
		int k = qm_shift(exp, chunk->world);

		end = i + quant_run(chunk, i);
		for (size_t e = i; e < end; e++) {
			int32_t sum = (int32_t)qm_be32(qm_load32(word_at(src, e)));
			uint32_t bits = qm_dequantize(sum, k, divisor);

			if (exp == QM_EXP_NONFINITE)
				bits = QM_NAN;
			qm_store32(word_to(dst, e), bits);
		}
		if (exp == QM_EXP_NONFINITE)
			nonfinite += end - i;
	}
	return nonfinite;
}

static void scalar_store_be32(void *dst, const uint32_t *src, size_t count)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(word_to(dst, i), qm_be32(qm_load32(word_at(src, i))));
}

static void scalar_load_be32(uint32_t *dst, const void *src, size_t count)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(word_to(dst, i), qm_be32(qm_load32(word_at(src, i))));
}

static void scalar_order_f32(void *dst, const float *src, size_t count, int negate)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t key = qm_order(qm_load32(word_at(src, i)), negate != 0);

		qm_store32(word_to(dst, i), qm_be32(key));
	}
}

static void scalar_unorder_f32(float *dst, const void *src, size_t count, int negate)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t key = qm_be32(qm_load32(word_at(src, i)));

		qm_store32(word_to(dst, i), qm_unorder(key, negate != 0));
	}
}

static void scalar_invert_be32(void *dst, const uint32_t *src, size_t count)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(word_to(dst, i), ~qm_be32(qm_load32(word_at(src, i))));
}

static void scalar_uninvert_be32(uint32_t *dst, const void *src, size_t count)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(word_to(dst, i), ~qm_be32(qm_load32(word_at(src, i))));
}

static void scalar_sum_be32(uint32_t sums[2], const void *src, size_t count)
{
	sums[0] = sums[1] = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t word = qm_be32(qm_load32(word_at(src, i)));

		sums[0] += word;
		sums[1] += (uint32_t)i * word;
	}
}

static void scalar_average_i32(int32_t *dst, const void *src, size_t count, uint32_t divisor)
{
	for (size_t i = 0; i < count; i++) {
		int64_t sum = (int32_t)qm_be32(qm_load32(word_at(src, i)));

		qm_store32(word_to(dst, i), (uint32_t)(sum / (int64_t)divisor));
	}
}

const struct quant_ops quant_ops_scalar = {
	.name = "scalar",
	.scan_f32 = scalar_scan_f32,
	.quantize_f32 = scalar_quantize_f32,
	.dequantize_f32 = scalar_dequantize_f32,
	.store_be32 = scalar_store_be32,
	.load_be32 = scalar_load_be32,
	.order_f32 = scalar_order_f32,
	.unorder_f32 = scalar_unorder_f32,
	.invert_be32 = scalar_invert_be32,
	.uninvert_be32 = scalar_uninvert_be32,
	.sum_be32 = scalar_sum_be32,
	.average_i32 = scalar_average_i32,
};
