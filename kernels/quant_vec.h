/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a register is to the quantiser: the words that quant_<isa>.c and quant_body.h share.
 *
 * Included once by each quant_<isa>.c, after it has said VEC_LANES: 32-bit words per register.
 * That file then supplies what neither gcc 12 nor clang 14 finds by itself. Floats are passed as
 * their bits. All round to nearest even and trap nothing, unless said otherwise, if the body has
 * set what VEC_MODE (pair_store_half: VEC_MODE_STORE_HALF) names of the thread's float control.
 *
 *   vec_load, vec_store                words of memory of any alignment
 *   vec_swap(words)                    the bytes of each word reversed
 *   vec_min(a, b), vec_beyond(v)       of int32; whether any is INT32_MIN
 *   vec_quantize(x, scale)             int32 of x * scale; INT32_MIN if it does not fit
 *   vec_multiply(x, factor)            x * factor as float; subnormals in MODE_ALL only
 *   vec_float(sum)                     float of an int32
 *   vec_float_odd(sum)                 the same rounded to odd: what it cannot hold sets its lowest bit
 *   vec_divide(x, divisor)             x / divisor, x an integer of at most 2^31 in size
 *   vec_average(sum, divisor)          sum / divisor, sum any int32
 *   vec_reciprocal(divisor)            one float
 *   vec_round_upper(x)                 ties to even for the upper half of each word
 *   pair_load_upper, pair_store_upper  two registers, of whose words only the upper half counts
 *   pair_load_upper_mixed              the same in any order, but that of pair_store_be16(mixed)
 *   pair_load_half, pair_store_half    two registers of floats: as many float16
 *   pair_load_be16(src)                two registers of int32: as many big-endian int16
 *   pair_store_be16(dst, q, limit, mixed)  the same, clamped to +-limit
 */
#ifndef KERNELS_QUANT_VEC_H
#define KERNELS_QUANT_VEC_H

#include <stdbool.h>

#include "kernels/quant_isa.h"
#include "kernels/quant_math.h"

#define VEC_BYTES (VEC_LANES * (size_t)4)
#define VEC_PAIR (VEC_LANES * (size_t)2) /* elements of a row */

/* What of MXCSR has to be as by default: nothing, the masks of exceptions, all but sticky bits. */
#define MODE_NONE 0u
#define MODE_TRAPS 0x1f80u
#define MODE_ALL 0xffc0u

#define VEC_FN static inline __attribute__((always_inline))

typedef uint32_t vec_u32 __attribute__((vector_size(VEC_LANES * 4)));
typedef int32_t vec_i32 __attribute__((vector_size(VEC_LANES * 4)));

struct pair {
	vec_u32 low;
	vec_u32 high;
};

/* A divisor that is no power of two, up to QUANT_WORLD_MAX, and its reciprocal, rounded. */
struct vec_divisor {
	float value;
	float inverse;
};

#endif
