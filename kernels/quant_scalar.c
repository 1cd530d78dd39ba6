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

/* --- Floats, for each format and each width on the wire: constants once inlined ---------------- */

static inline uint32_t float_load(enum quant_dtype dtype, const void *src, size_t i)
{
	switch (dtype) {
	case QUANT_F16:
		return qm_widen_f16(qm_load16((const char *)src + 2 * i));
	case QUANT_BF16:
		return qm_widen_bf16(qm_load16((const char *)src + 2 * i));
	case QUANT_F32:
		break;
	}
	return qm_load32(word_at(src, i));
}

static inline void float_store(enum quant_dtype dtype, void *dst, size_t i, uint32_t bits)
{
	if (dtype == QUANT_F32)
		qm_store32(word_to(dst, i), bits);
	else
		qm_store16((char *)dst + 2 * i, bits);
}

static inline uint32_t float_narrow(enum quant_dtype dtype, uint32_t bits)
{
	switch (dtype) {
	case QUANT_F16:
		return qm_narrow(bits, QM_F16_MANT, QM_F16_EXP);
	case QUANT_BF16:
		return qm_narrow(bits, QM_BF16_MANT, QM_BF16_EXP);
	case QUANT_F32:
		break;
	}
	return bits;
}

static inline uint32_t float_result(enum quant_dtype dtype, int32_t sum, int k, uint32_t divisor)
{
	switch (dtype) {
	case QUANT_F16:
		return qm_dequantize(sum, k, divisor, QM_F16_MANT, QM_F16_EXP);
	case QUANT_BF16:
		return qm_dequantize(sum, k, divisor, QM_BF16_MANT, QM_BF16_EXP);
	case QUANT_F32:
		break;
	}
	return qm_dequantize(sum, k, divisor, QM_F32_MANT, QM_F32_EXP);
}

static inline void wire_store(enum quant_wire wire, void *dst, size_t i, int32_t q)
{
	if (wire == QUANT_WIRE_32)
		qm_store32(word_to(dst, i), qm_be32((uint32_t)q));
	else
		qm_store16((char *)dst + 2 * i, qm_be16((uint32_t)q));
}

static inline int32_t wire_load(enum quant_wire wire, const void *src, size_t i)
{
	if (wire == QUANT_WIRE_32)
		return (int32_t)qm_be32(qm_load32(word_at(src, i)));
	return (int16_t)qm_be16(qm_load16((const char *)src + 2 * i));
}

static inline uint64_t float_scan(enum quant_dtype dtype, uint8_t *exp, const void *src,
				  size_t count)
{
	uint64_t nonfinite = 0;

	for (size_t i = 0; i < count; i++) {
		uint8_t *largest = &exp[i / QUANT_BLOCK];
		uint8_t own = (uint8_t)(float_load(dtype, src, i) >> 23 & 255u);

		if (i % QUANT_BLOCK == 0 || own > *largest)
			*largest = own;
		nonfinite += own == QM_EXP_NONFINITE;
	}
	return nonfinite;
}

static inline void float_quantize(enum quant_dtype dtype, enum quant_wire wire, void *dst,
				  const void *src, const struct quant_chunk *chunk)
{
	const int32_t limit = qm_limit16(chunk->world);
	size_t end;

	for (size_t i = 0; i < chunk->count; i = end) {
		uint8_t exp = quant_exp(chunk, i);
		int k = quant_shift(exp, chunk->world, wire);

		end = i + quant_run(chunk, i);
		for (size_t e = i; e < end; e++) {
			uint32_t bits = float_load(dtype, src, e);
			int32_t q = wire == QUANT_WIRE_32 ? qm_quantize(bits, k)
							  : qm_quantize16(bits, k, limit);

			if (exp == QM_EXP_NONFINITE)
				q = 0;
			wire_store(wire, dst, e, q);
		}
	}
}

static inline uint64_t float_dequantize(enum quant_dtype dtype, enum quant_wire wire, void *dst,
					const void *src, const struct quant_chunk *chunk,
					uint32_t divisor)
{
	uint64_t nonfinite = 0;
	size_t end;

	for (size_t i = 0; i < chunk->count; i = end) {
		uint8_t exp = quant_exp(chunk, i);
		int k = quant_shift(exp, chunk->world, wire);

		end = i + quant_run(chunk, i);
		for (size_t e = i; e < end; e++) {
			uint32_t bits = float_result(dtype, wire_load(wire, src, e), k, divisor);

			if (exp == QM_EXP_NONFINITE)
				bits = float_narrow(dtype, QM_NAN);
			float_store(dtype, dst, e, bits);
		}
		if (exp == QM_EXP_NONFINITE)
			nonfinite += end - i;
	}
	return nonfinite;
}

static inline void float_order(enum quant_dtype dtype, void *dst, const void *src, size_t count,
			       int negate)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t key = qm_order(float_load(dtype, src, i), negate != 0);

		qm_store32(word_to(dst, i), qm_be32(key));
	}
}

static inline void float_unorder(enum quant_dtype dtype, void *dst, const void *src, size_t count,
				 int negate)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t key = qm_be32(qm_load32(word_at(src, i)));
		uint32_t bits = qm_unorder(key, negate != 0);

		float_store(dtype, dst, i, float_narrow(dtype, bits));
	}
}

static inline void float_widen(enum quant_dtype dtype, float *dst, const void *src, size_t count,
			       float factor)
{
	const uint32_t times = qm_load32(&factor);

	for (size_t i = 0; i < count; i++)
		qm_store32(word_to(dst, i), qm_multiply(float_load(dtype, src, i), times));
}

static inline void float_times(enum quant_dtype dtype, void *dst, const float *src, size_t count,
			       float factor)
{
	const uint32_t times = qm_load32(&factor);

	for (size_t i = 0; i < count; i++) {
		uint32_t bits = qm_multiply(qm_load32(word_at(src, i)), times);

		float_store(dtype, dst, i, float_narrow(dtype, bits));
	}
}

#define SCALAR_FLOAT(name, dtype)                                                                  \
	static uint64_t name##_scan(uint8_t *exp, const void *src, size_t count)                   \
	{                                                                                          \
		return float_scan(dtype, exp, src, count);                                         \
	}                                                                                          \
	static void name##_quantize32(void *dst, const void *src, const struct quant_chunk *chunk) \
	{                                                                                          \
		float_quantize(dtype, QUANT_WIRE_32, dst, src, chunk);                             \
	}                                                                                          \
	static void name##_quantize16(void *dst, const void *src, const struct quant_chunk *chunk) \
	{                                                                                          \
		float_quantize(dtype, QUANT_WIRE_16, dst, src, chunk);                             \
	}                                                                                          \
	static uint64_t name##_dequantize32(void *dst, const void *src,                            \
					    const struct quant_chunk *chunk, uint32_t divisor)     \
	{                                                                                          \
		return float_dequantize(dtype, QUANT_WIRE_32, dst, src, chunk, divisor);           \
	}                                                                                          \
	static uint64_t name##_dequantize16(void *dst, const void *src,                            \
					    const struct quant_chunk *chunk, uint32_t divisor)     \
	{                                                                                          \
		return float_dequantize(dtype, QUANT_WIRE_16, dst, src, chunk, divisor);           \
	}                                                                                          \
	static void name##_order(void *dst, const void *src, size_t count, int negate)             \
	{                                                                                          \
		float_order(dtype, dst, src, count, negate);                                       \
	}                                                                                          \
	static void name##_unorder(void *dst, const void *src, size_t count, int negate)           \
	{                                                                                          \
		float_unorder(dtype, dst, src, count, negate);                                     \
	}                                                                                          \
	static void name##_widen(float *dst, const void *src, size_t count, float factor)          \
	{                                                                                          \
		float_widen(dtype, dst, src, count, factor);                                       \
	}                                                                                          \
	static void name##_narrow(void *dst, const float *src, size_t count, float factor)         \
	{                                                                                          \
		float_times(dtype, dst, src, count, factor);                                       \
	}

SCALAR_FLOAT(scalar_f32, QUANT_F32)
SCALAR_FLOAT(scalar_f16, QUANT_F16)
SCALAR_FLOAT(scalar_bf16, QUANT_BF16)

/* --- Integers --------------------------------------------------------------------------------- */

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

static void scalar_sum(uint64_t sums[2], enum quant_wire wire, const void *src, size_t count)
{
	sums[0] = sums[1] = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t q = (uint64_t)(int64_t)wire_load(wire, src, i);

		sums[0] += q;
		sums[1] += i * q;
	}
}

static void scalar_sum_be32(uint64_t sums[2], const void *src, size_t count)
{
	scalar_sum(sums, QUANT_WIRE_32, src, count);
}

static void scalar_sum_be16(uint64_t sums[2], const void *src, size_t count)
{
	scalar_sum(sums, QUANT_WIRE_16, src, count);
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
	.floats = {
		[QUANT_F32] = QUANT_FLOAT(scalar_f32),
		[QUANT_F16] = QUANT_FLOAT(scalar_f16),
		[QUANT_BF16] = QUANT_FLOAT(scalar_bf16),
	},
	.store_be32 = scalar_store_be32,
	.load_be32 = scalar_load_be32,
	.invert_be32 = scalar_invert_be32,
	.uninvert_be32 = scalar_uninvert_be32,
	.sum_be32 = scalar_sum_be32,
	.sum_be16 = scalar_sum_be16,
	.average_i32 = scalar_average_i32,
};
