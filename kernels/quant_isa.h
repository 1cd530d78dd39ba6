/* SPDX-License-Identifier: BSD-3-Clause */
/* What the quantiser's instruction-set files share: their tables, and the walk over blocks. */
#ifndef KERNELS_QUANT_ISA_H
#define KERNELS_QUANT_ISA_H

#include "kernels/quant.h"

extern const struct quant_ops quant_ops_scalar;
#if defined(__x86_64__)
extern const struct quant_ops quant_ops_avx2;
extern const struct quant_ops quant_ops_avx512;
#endif

/* The scalar functions also serve the rest: what is rare there, and what has no other yet. */
#define QUANT_FLOAT_DECLARE(name)                                                                  \
	uint64_t name##_scan(uint8_t *exp, const void *src, size_t count);                         \
	void name##_quantize32(void *dst, const void *src, const struct quant_chunk *chunk);       \
	void name##_quantize16(void *dst, const void *src, const struct quant_chunk *chunk);       \
	uint64_t name##_dequantize32(void *dst, const void *src, const struct quant_chunk *chunk,  \
				     uint32_t divisor);                                            \
	uint64_t name##_dequantize16(void *dst, const void *src, const struct quant_chunk *chunk,  \
				     uint32_t divisor);                                            \
	void name##_order(void *dst, const void *src, size_t count, int negate);                   \
	void name##_unorder(void *dst, const void *src, size_t count, int negate);                 \
	void name##_widen(float *dst, const void *src, size_t count, float factor);                \
	void name##_narrow(void *dst, const float *src, size_t count, float factor);

#define QUANT_FLOAT(name)                                                                          \
	{                                                                                          \
		.scan = name##_scan, .quantize = { name##_quantize32, name##_quantize16 },         \
		.dequantize = { name##_dequantize32, name##_dequantize16 }, .order = name##_order, \
		.unorder = name##_unorder, .widen = name##_widen, .narrow = name##_narrow,         \
	}

QUANT_FLOAT_DECLARE(quant_scalar_f32)
QUANT_FLOAT_DECLARE(quant_scalar_f16)
QUANT_FLOAT_DECLARE(quant_scalar_bf16)
void quant_scalar_sum_be16(uint32_t sums[2], const void *src, size_t count);

/* Elements from element done of the piece to the end of its block, or of the piece. */
static inline size_t quant_run(const struct quant_chunk *chunk, size_t done)
{
	size_t room = QUANT_BLOCK - (chunk->phase + done) % QUANT_BLOCK;
	size_t left = chunk->count - done;

	return left < room ? left : room;
}

static inline uint8_t quant_exp(const struct quant_chunk *chunk, size_t done)
{
	return chunk->exp[(chunk->phase + done) / QUANT_BLOCK];
}

#endif
