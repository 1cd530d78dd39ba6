/* SPDX-License-Identifier: BSD-3-Clause */
/* User tensors to big-endian wire words and back, through the best instructions this CPU has. */
#ifndef KERNELS_QUANT_H
#define KERNELS_QUANT_H

#include <stddef.h>
#include <stdint.h>

#define QUANT_BLOCK 256 /* elements that share one exponent, counted from the tensor's start */
#define QUANT_WORLD_MAX 65535	/* most workers, and the largest divisor */
#define QUANT_WORLD_MAX_16 1024 /* most workers with 16 bits on the wire: each has 31 values then */

/* What floats are in the user's memory, and as what they travel. */
enum quant_dtype { QUANT_F32, QUANT_F16, QUANT_BF16 };
enum quant_wire { QUANT_WIRE_32, QUANT_WIRE_16 };
#define QUANT_DTYPES 3
#define QUANT_WIRES 2

/* Which piece of a tensor, and how it is scaled. Nothing is kept after the call. */
struct quant_chunk {
	const uint8_t *exp; /* agreed biased exponents; exp[0] is that of element 0's block */
	uint32_t phase;	    /* index of element 0 of the piece in its block, 0..255 */
	uint32_t world;	    /* workers of the whole tree, 1..QUANT_WORLD_MAX, or _16 */
	size_t count;	    /* elements */
};

/* dst: big-endian int32 or int16. Blocks with exponent 255: zeros. What does not fit saturates: at
 * +-2147483647, or where world such numbers still fit 16 bits. */
typedef void (*quant_quantize_fn)(void *dst, const void *src, const struct quant_chunk *chunk);

/*
 * src: big-endian sums. divisor 1: sum; n: average, divided before it is rounded, and never beyond
 * the format's largest number. Rounded once. Blocks with exponent 255: quiet NaN; returns how many NaN.
 */
typedef uint64_t (*quant_dequantize_fn)(void *dst, const void *src, const struct quant_chunk *chunk,
					uint32_t divisor);

/* One format of floats. */
struct quant_float {
	/*
	 * exp[b] = biased float32 exponent (0..255) of the largest |x| of block b; src starts a block,
	 * the last one may be short. Returns how many elements are Inf or NaN.
	 */
	uint64_t (*scan)(uint8_t *exp, const void *src, size_t count);
	quant_quantize_fn quantize[QUANT_WIRES];
	quant_dequantize_fn dequantize[QUANT_WIRES];

	/* Maximum (negate 0) and minimum (negate 1) by a MAX32 of int32 on the wire. NaN wins. */
	void (*order)(void *dst, const void *src, size_t count, int negate);
	void (*unorder)(void *dst, const void *src, size_t count, int negate);

	/*
	 * To float32, then times factor; and times factor as float32, then rounded to the format. The
	 * products are float32, rounded to nearest even; a NaN made by them is 0x7fc00000, in 16 bits
	 * its upper half or 0x7e00. The factor is finite.
	 */
	void (*widen)(float *dst, const void *src, size_t count, float factor);
	void (*narrow)(void *dst, const float *src, size_t count, float factor);
};

/*
 * Every pointer may have any alignment. Source and destination do not overlap. All tables give the
 * same bits as the scalar one, whatever rounding mode, flush-to-zero or trap mask the caller's
 * thread has set, leave that as it was, and never trap. Sticky exception flags may be raised.
 */
struct quant_ops {
	const char *name; /* "scalar", "avx2", "avx512", "avx512fp16" */
	struct quant_float floats[QUANT_DTYPES];

	/* Raw words to the wire and back. */
	void (*store_be32)(void *dst, const uint32_t *src, size_t count);
	void (*load_be32)(uint32_t *dst, const void *src, size_t count);

	/* Integer minimum by MAX32: ~x in big-endian. */
	void (*invert_be32)(void *dst, const uint32_t *src, size_t count);
	void (*uninvert_be32)(uint32_t *dst, const void *src, size_t count);

	/* sums[0]: the sum of big-endian signed numbers q[i]; sums[1]: that of i * q[i]; mod 2^64. */
	void (*sum_be32)(uint64_t sums[2], const void *src, size_t count);
	void (*sum_be16)(uint64_t sums[2], const void *src, size_t count);

	/* Big-endian wrapped sums divided by 1..QUANT_WORLD_MAX, truncated toward zero. */
	void (*average_i32)(int32_t *dst, const void *src, size_t count, uint32_t divisor);
};

/*
 * NULL: the best table this CPU runs. A name: that table, or NULL if it is unknown or this CPU
 * cannot run it. Tables live as long as the program; callers choose once and keep the pointer.
 */
const struct quant_ops *quant_select(const char *name);

/* Bytes of an element. */
size_t quant_dtype_bytes(enum quant_dtype dtype);

/* The power of two that numbers of such a block are multiplied with: x * 2^k fits the sum. */
int quant_shift(unsigned exp, unsigned world, enum quant_wire wire);

#endif
