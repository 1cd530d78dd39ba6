/* SPDX-License-Identifier: BSD-3-Clause */
/* User tensors to big-endian wire words and back, through the best instructions this CPU has. */
#ifndef KERNELS_QUANT_H
#define KERNELS_QUANT_H

#include <stddef.h>
#include <stdint.h>

#define QUANT_BLOCK 256 /* elements that share one exponent, counted from the tensor's start */
#define QUANT_WORLD_MAX 65535 /* most workers, and the largest divisor */

/* Which piece of a tensor, and how it is scaled. Nothing is kept after the call. */
struct quant_chunk {
	const uint8_t *exp; /* agreed biased exponents; exp[0] is that of element 0's block */
	uint32_t phase;	    /* index of element 0 of the piece in its block, 0..255 */
	uint32_t world;	    /* workers of the whole tree, 1..QUANT_WORLD_MAX */
	size_t count;	    /* elements */
};

/*
 * Every pointer may have any alignment. Source and destination do not overlap. All tables give the
 * same bits as the scalar one, whatever rounding mode, flush-to-zero or trap mask the caller's
 * thread has set, leave that as it was, and never trap. Sticky exception flags may be raised.
 */
struct quant_ops {
	const char *name; /* "scalar", "avx2", "avx512" */

	/*
	 * exp[b] = biased exponent (0..255) of the largest |x| of block b; src starts a block, the
	 * last one may be short. Returns how many elements are Inf or NaN.
	 */
	uint64_t (*scan_f32)(uint8_t *exp, const float *src, size_t count);

	/* dst: big-endian int32. Blocks with exponent 255: zeros. Saturates at +-2147483647. */
	void (*quantize_f32)(void *dst, const float *src, const struct quant_chunk *chunk);

	/*
	 * src: big-endian int32 sums. divisor 1: sum; n: average, divided before it is rounded, and
	 * never beyond FLT_MAX. Blocks with exponent 255: quiet NaN; returns how many NaN.
	 */
	uint64_t (*dequantize_f32)(float *dst, const void *src, const struct quant_chunk *chunk,
				   uint32_t divisor);

	/* Raw words to the wire and back. */
	void (*store_be32)(void *dst, const uint32_t *src, size_t count);
	void (*load_be32)(uint32_t *dst, const void *src, size_t count);

	/* Float maximum (negate 0) and minimum (negate 1) by a MAX32 of int32 on the wire. NaN wins. */
	void (*order_f32)(void *dst, const float *src, size_t count, int negate);
	void (*unorder_f32)(float *dst, const void *src, size_t count, int negate);

	/* Integer minimum by MAX32: ~x in big-endian. */
	void (*invert_be32)(void *dst, const uint32_t *src, size_t count);
	void (*uninvert_be32)(uint32_t *dst, const void *src, size_t count);

	/* sums[0]: the sum of big-endian words w[i]; sums[1]: that of i * w[i]. Both wrap. */
	void (*sum_be32)(uint32_t sums[2], const void *src, size_t count);

	/* Big-endian wrapped sums divided by 1..QUANT_WORLD_MAX, truncated toward zero. */
	void (*average_i32)(int32_t *dst, const void *src, size_t count, uint32_t divisor);
};

/*
 * NULL: the best table this CPU runs. A name: that table, or NULL if it is unknown or this CPU
 * cannot run it. Tables live as long as the program; callers choose once and keep the pointer.
 */
const struct quant_ops *quant_select(const char *name);

/* The power of two that numbers of such a block are multiplied with: x * 2^k fits the sum. */
int quant_shift(unsigned exp, unsigned world);

#endif
