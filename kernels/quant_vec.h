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
 *   vec_min16(a, b), vec_beyond16(v)   of int16; whether any is INT16_MIN
 *   vec_clamp16(words, limit)          of int16, to +-limit
 *   vec_swap16(words)                  the bytes of each int16 reversed
 *   vec_quantize(x, scale)             int32 of x * scale; INT32_MIN if it does not fit
 *   vec_multiply(x, factor)            x * factor as float; subnormals in MODE_ALL only
 *   vec_float(sum)                     float of an int32
 *   vec_float_odd(sum)                 the same rounded to odd: what it cannot hold sets its lowest bit
 *   vec_divide(x, divisor)             x / divisor, x an integer of at most 2^31 in size
 *   vec_average(sum, divisor)          sum / divisor, sum any int32
 *   vec_reciprocal(divisor)            one float
 *   vec_round_upper(x)                 ties to even for the upper half of each word
 *   pair_load_upper, pair_store_upper  two registers, of whose words only the upper half counts
 *   pair_store_upper_normal(dst, x)    rounded as by vec_round_upper; x are zeros or normal numbers
 *   pair_load_half, pair_store_half    two registers of floats: as many float16
 *   pair_load_be16(src)                two registers of int32: as many big-endian int16 times 2^16
 *   pair_pack16(q)                     int32 as int16, saturated, 4 of one and 4 of the other by turns
 *   vec_swap16_packed(words)           vec_swap16, and all of one register before all of the other
 *   vec_swap16_turns(words)            vec_swap16, and the numbers of the two registers by turns
 *
 * VEC_HALF is 1 if it computes in float16, 32 in a register of 16 words, and has
 *
 *   half_quantize(x, k)                int16 of x * 2^k; INT16_MIN if it does not fit
 *   half_dequantize(sums, k)           float16 of int16 times 2^-k, k <= 25
 *
 * VEC_TURNS is 1 if rounding every other word in its place is faster than pair_store_upper_normal.
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
