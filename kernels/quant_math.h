/* SPDX-License-Identifier: BSD-3-Clause */
/* Block-scaled fixed point, one element at a time: integers only, so C11 and CUDA C++ agree. */
#ifndef KERNELS_QUANT_MATH_H
#define KERNELS_QUANT_MATH_H

#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define QM_FN static __host__ __device__ __forceinline__
#else
#define QM_FN static inline
#endif

#define QM_INF 0x7f800000u
#define QM_NAN 0x7fc00000u /* the one NaN that is ever delivered */
#define QM_FLT_MAX 0x7f7fffffu
#define QM_EXP_NONFINITE 255u

/*
 * For shifts up to this one a float multiplication by 2^k rounds nothing that matters: 2^k and
 * 2^-k are normal, a subnormal x gives |x * 2^k| < 0.5, which is 0 with or without flush-to-zero,
 * and a non-zero q * 2^-k is normal.
 */
#define QM_SHIFT_FLOAT_MAX 125
/* From this shift on, 2^31 * 2^-k is finite. */
#define QM_SHIFT_FINITE_MIN (-96)

QM_FN uint32_t qm_load32(const void *src)
{
	uint32_t word;

	memcpy(&word, src, sizeof(word));
	return word;
}

QM_FN void qm_store32(void *dst, uint32_t word)
{
	memcpy(dst, &word, sizeof(word));
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
QM_FN uint32_t qm_be32(uint32_t word)
{
	return word;
}
#else
QM_FN uint32_t qm_be32(uint32_t word)
{
	return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}
#endif

/* Bits needed for value: 0 for 0, 32 for 0x80000000. */
#if defined(__CUDA_ARCH__)
QM_FN int qm_width64(uint64_t value)
{
	return 64 - __clzll((long long)value);
}
#else
QM_FN int qm_width64(uint64_t value)
{
	return value ? 64 - __builtin_clzll(value) : 0;
}
#endif

/* ceil(log2 count), count >= 1 */
QM_FN int qm_log2_ceil(uint32_t count)
{
	return qm_width64((uint64_t)count - 1u);
}

/*
 * The k of x * 2^k for a block whose largest |x| over all workers has the biased exponent exp.
 * |x| <= 2^(exp-126) - 2^(exp-150). Up to 128 workers the last term keeps n * |x| * 2^k below
 * 2^31; from 256 on rounding can eat it, and the sum would overflow by one at 256, 512 and 1024
 * without the extra bit.
 */
QM_FN int qm_shift(uint32_t exp, uint32_t world)
{
	return 157 - (int)(exp ? exp : 1u) - qm_log2_ceil(world) - (world >= 256u);
}

/*
 * x * 2^k rounded to nearest even, x given by its bits, k <= 156. What lies outside (-2^31, 2^31)
 * saturates to +-2147483647, as do Inf and NaN: the block's exponent was a lie then.
 */
QM_FN int32_t qm_quantize(uint32_t bits, int k)
{
	uint32_t exp = bits >> 23 & 255u;
	uint32_t sign = 0u - (bits >> 31);
	uint32_t mant = ((bits & 0x7fffffu) | (exp ? 0x800000u : 0u)) << 7;
	/* |x| = mant * 2^(max(exp, 1) - 157) and mant < 2^31, so only right shifts fit. */
	int right = 157 - (int)(exp ? exp : 1u) - k;
	uint32_t shift = (uint32_t)right & 31u;
	uint32_t below_half = 0x3fffffffu >> (31u - shift);
	/* Adding the last kept bit makes ties even; with shift 0 that bit is one of the 7 zeros. */
	uint32_t mag = (mant + below_half + (mant >> shift & 1u)) >> shift;

	if (right > 31)
		mag = 0u;
	if (right < 0)
		mag = 0x7fffffffu;
	if (exp == QM_EXP_NONFINITE)
		mag = 0x7fffffffu;
	return (int32_t)((mag ^ sign) - sign);
}

/* Bits of the float nearest (ties to even) to value * 2^exp2, value >= 2^24 and < 2^63. */
QM_FN uint32_t qm_round(uint64_t value, int exp2)
{
	int top = qm_width64(value) - 1;
	int exp = top + exp2 + 127;
	int drop = top - 23;
	uint64_t below_half, kept;

	if (exp >= 255)
		return QM_INF;
	if (exp < 1) {
		drop += 1 - exp;
		exp = 1;
	}
	if (drop > top + 1)
		return 0u;
	below_half = (1ull << (drop - 1)) - 1u;
	kept = (value + below_half + (value >> drop & 1u)) >> drop;
	/* kept holds the leading one, unless subnormal; a carry moves into the exponent by itself. */
	return ((uint32_t)(exp - 1) << 23) + (uint32_t)kept;
}

/*
 * Bits of sum * 2^-k / divisor, rounded once. An average of finite floats cannot exceed FLT_MAX,
 * although the rounded terms may (n > 128): it stops there. A sum becomes infinite.
 */
QM_FN uint32_t qm_dequantize(int32_t sum, int k, uint32_t divisor)
{
	uint32_t sign = (uint32_t)sum & 0x80000000u;
	uint32_t mag = sign ? 0u - (uint32_t)sum : (uint32_t)sum;
	int up = 63 - qm_width64(mag);
	uint64_t value = (uint64_t)mag << up;
	uint32_t bits;

	if (mag == 0u)
		return 0u;
	if (divisor > 1u) {
		uint64_t quotient = value / divisor;

		/* The lowest bit is far below half a unit: it only says "not exact". */
		value = quotient | (quotient * divisor != value);
	}
	bits = qm_round(value, -up - k);
	if (divisor > 1u && bits == QM_INF)
		bits = QM_FLT_MAX;
	return sign | bits;
}

/*
 * Floats as int32 in the same order: -Inf < ... < -0.0 < +0.0 < ... < +Inf < NaN. With negate the
 * order is reversed, but NaN stays on top: MAX32 on the wire then yields the minimum, or NaN.
 */
QM_FN uint32_t qm_order(uint32_t bits, uint32_t negate)
{
	uint32_t key = bits ^ ((0u - (bits >> 31)) >> 1) ^ (negate ? 0xffffffffu : 0u);

	return (bits & 0x7fffffffu) > QM_INF ? QM_NAN : key;
}

QM_FN uint32_t qm_unorder(uint32_t key, uint32_t negate)
{
	uint32_t plain = key ^ (negate ? 0xffffffffu : 0u);
	uint32_t bits = plain ^ ((0u - (plain >> 31)) >> 1);

	/* No finite key reads as NaN in either order, so there is no need to ask key. */
	return (bits & 0x7fffffffu) > QM_INF ? QM_NAN : bits;
}

#endif
