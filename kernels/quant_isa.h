/* SPDX-License-Identifier: BSD-3-Clause */
/* What the quantiser's instruction-set files share: their tables, and the walk over blocks. */
#ifndef KERNELS_QUANT_ISA_H
#define KERNELS_QUANT_ISA_H

#include "kernels/quant.h"

extern const struct quant_ops quant_ops_scalar;
#if defined(__x86_64__)
extern const struct quant_ops quant_ops_avx2;
extern const struct quant_ops quant_ops_avx512;
extern const struct quant_ops quant_ops_avx512fp16;
#endif

/* The functions of a format, called name_operation. */
#define QUANT_FLOAT(name)                                                                          \
	{                                                                                          \
		.scan = name##_scan, .quantize = { name##_quantize32, name##_quantize16 },         \
		.dequantize = { name##_dequantize32, name##_dequantize16 }, .order = name##_order, \
		.unorder = name##_unorder, .widen = name##_widen, .narrow = name##_narrow,         \
	}

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
