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

/* Formats of user memory: bits of the significand without its leading one, of the exponent. */
#define QM_F32_MANT 23
#define QM_F32_EXP 8
#define QM_F16_MANT 10
#define QM_F16_EXP 5
#define QM_BF16_MANT 7
#define QM_BF16_EXP 8

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

QM_FN uint32_t qm_load16(const void *src)
{
	uint16_t word;

	memcpy(&word, src, sizeof(word));
	return word;
}

QM_FN void qm_store16(void *dst, uint32_t word)
{
	uint16_t low = (uint16_t)word;

	memcpy(dst, &low, sizeof(low));
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
QM_FN uint32_t qm_be32(uint32_t word)
{
	return word;
}

QM_FN uint32_t qm_be16(uint32_t word)
{
	return word & 0xffffu;
}
#else
QM_FN uint32_t qm_be32(uint32_t word)
{
	return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

QM_FN uint32_t qm_be16(uint32_t word)
{
	return (word >> 8 & 0xffu) | (word << 8 & 0xff00u);
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
 * The same for 16 bits on the wire: |x * 2^k| <= 2^(15 - ceil(log2 world)), whose sum can be 2^15 and more.
 * What lies beyond qm_limit16() stays there, so no sum of world such numbers leaves 16 bits.
 */
QM_FN int qm_shift16(uint32_t exp, uint32_t world)
{
	return 141 - (int)(exp ? exp : 1u) - qm_log2_ceil(world);
}

QM_FN int32_t qm_limit16(uint32_t world)
{
	return 32767 / (int32_t)world;
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

/* qm_quantize for 16 bits on the wire; limit: qm_limit16(). */
QM_FN int32_t qm_quantize16(uint32_t bits, int k, int32_t limit)
{
	int32_t q = qm_quantize(bits, k);

	return q > limit ? limit : q < -limit ? -limit : q;
}

/*
 * Bits, in the format of mant and exp_bits, of the number nearest (ties to even) to value * 2^exp2,
 * value >= 2^24 and < 2^63.
 */
QM_FN uint32_t qm_round(uint64_t value, int exp2, int mant, int exp_bits)
{
	const int infinite = (1 << exp_bits) - 1;
	int top = qm_width64(value) - 1;
	int exp = top + exp2 + (infinite >> 1);
	int drop = top - mant;
	uint64_t below_half, kept;

	if (exp >= infinite)
		return (uint32_t)infinite << mant;
	if (exp < 1) {
		drop += 1 - exp;
		exp = 1;
	}
	if (drop > top + 1)
		return 0u;
	below_half = (1ull << (drop - 1)) - 1u;
	kept = (value + below_half + (value >> drop & 1u)) >> drop;
	/* kept holds the leading one, unless subnormal; a carry moves into the exponent by itself. */
	return ((uint32_t)(exp - 1) << mant) + (uint32_t)kept;
}

/*
 * Bits of sum * 2^-k / divisor in a format, rounded once. An average of finite numbers cannot exceed
 * the format's largest, although the rounded terms may (n > 128): it stops there. A sum becomes infinite.
 */
QM_FN uint32_t qm_dequantize(int32_t sum, int k, uint32_t divisor, int mant, int exp_bits)
{
	const uint32_t infinite = ((1u << exp_bits) - 1u) << mant;
	uint32_t sign = sum < 0 ? 1u << (mant + exp_bits) : 0u;
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
	bits = qm_round(value, -up - k, mant, exp_bits);
	if (divisor > 1u && bits == infinite)
		bits = infinite - 1u;
	return sign | bits;
}

/* Bits of the float32 that a float16 or bfloat16 is. A NaN stays one. */
QM_FN uint32_t qm_widen_f16(uint32_t half)
{
	uint32_t sign = half << 16 & 0x80000000u;
	uint32_t exp = half >> 10 & 31u, mant = half & 0x3ffu;
	int up = 11 - qm_width64(mant);

	if (exp == 31u)
		return sign | QM_INF | mant << 13;
	if (exp)
		return sign | (exp + 112u) << 23 | mant << 13;
	if (!mant)
		return sign;
	/* Subnormal: mant * 2^-24 with its leading one moved to bit 10. */
	return sign | (uint32_t)(113 - up) << 23 | (mant << (13 + up) & 0x7fffffu);
}

QM_FN uint32_t qm_widen_bf16(uint32_t half)
{
	return half << 16;
}

/* Bits of the number of a format nearest (ties to even) to the float32 with these bits. */
QM_FN uint32_t qm_narrow(uint32_t bits, int mant, int exp_bits)
{
	const uint32_t infinite = ((1u << exp_bits) - 1u) << mant;
	uint32_t exp = bits >> 23 & 255u;
	uint32_t sign = bits >> 31 << (mant + exp_bits);
	uint64_t value = (bits & 0x7fffffu) | (exp ? 0x800000u : 0u);

	if ((bits & 0x7fffffffu) > QM_INF)
		return infinite | 1u << (mant - 1);
	if (exp == 255u)
		return sign | infinite;
	if (!value)
		return sign;
	return sign | qm_round(value << 32, (int)(exp ? exp : 1u) - 182, mant, exp_bits);
}

/* Bits of the float32 product a * b, rounded to nearest even; NaN: QM_NAN. */
QM_FN uint32_t qm_multiply(uint32_t a, uint32_t b)
{
	uint32_t sign = (a ^ b) & 0x80000000u;
	uint32_t mag_a = a & 0x7fffffffu, mag_b = b & 0x7fffffffu;
	int exp_a = (int)(mag_a >> 23), exp_b = (int)(mag_b >> 23);
	uint64_t value;
	int up;

	if (mag_a > QM_INF || mag_b > QM_INF)
		return QM_NAN;
	if (mag_a == QM_INF || mag_b == QM_INF)
		return mag_a && mag_b ? sign | QM_INF : QM_NAN;
	if (!mag_a || !mag_b)
		return sign;
	value = (uint64_t)((mag_a & 0x7fffffu) | (exp_a ? 0x800000u : 0u)) *
		((mag_b & 0x7fffffu) | (exp_b ? 0x800000u : 0u));
	up = 63 - qm_width64(value);
	return sign | qm_round(value << up, (exp_a ? exp_a : 1) + (exp_b ? exp_b : 1) - 300 - up,
			       QM_F32_MANT, QM_F32_EXP);
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
