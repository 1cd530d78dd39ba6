/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program that launches the quantiser's CUDA kernels has to know: names and parameters. */
#ifndef KERNELS_CUDA_QUANT_CUDA_H
#define KERNELS_CUDA_QUANT_CUDA_H

#include <stdint.h>

#define QUANT_CUDA_THREADS 256	 /* of a block of the grid, at most; a multiple of 32 */
#define QUANT_CUDA_GRID_PER_SM 8 /* blocks of that size that one multiprocessor runs at once */

/*
 * Where numbers for the wire lie: that of element i at (i / per) * stride + (i % per) * width bytes,
 * of less than 2^32 elements. per 0: any number of them, one after the other. A stride that is a multiple of 16 and a per that is one of 8
 * make accesses of 16 bytes possible, as do pointers that are multiples of 16.
 */
struct quant_layout {
	uint32_t per;	 /* elements in a packet */
	uint32_t stride; /* bytes from packet to packet */
};

/*
 * The kernels, for one-dimensional grids of any size and counts below 2^39; DTYPE is f32, f16 or bf16, WIRE is 32 or 16.
 * They give the bits of the scalar table of kernels/quant.h. Element 0 starts a block, exp[0] is that
 * block's exponent. Pointers may have any alignment; source and destination do not overlap. Factors
 * are finite, 1 multiplies nothing. *nonfinite is added to, with atomic additions of the device.
 *
 * tally_scan_DTYPE(const void *src, uint64_t count, float prescale, uint8_t *exp,
 *	unsigned long long *nonfinite)
 * tally_quantize_DTYPE_WIRE(void *dst, struct quant_layout layout, const void *src, uint64_t count,
 *	float prescale, const uint8_t *exp, uint32_t world)
 * tally_dequantize_DTYPE_WIRE(void *dst, const void *src, struct quant_layout layout,
 *	uint64_t count, float postscale, const uint8_t *exp, uint32_t world, uint32_t divisor,
 *	unsigned long long *nonfinite)
 * tally_order_DTYPE(void *dst, const void *src, uint64_t count, uint32_t negate)
 * tally_unorder_DTYPE(void *dst, const void *src, uint64_t count, uint32_t negate)
 * tally_swap32(void *dst, const void *src, uint64_t count, uint32_t mask): mask 0 swaps bytes, to the
 *	wire and back; mask ~0 complements, too
 * tally_average_i32(void *dst, const void *src, uint64_t count, uint32_t divisor)
 */

#endif
