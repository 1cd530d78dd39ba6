// SPDX-License-Identifier: BSD-3-Clause
// The quantiser in AVX2, FMA and F16C; compiled with these, run only where quant_select finds them.
#include "kernels/quant_isa.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* It rounds as the thread's MXCSR says. */
#define VEC_MODE MODE_ALL
#define VEC_MODE_STORE_HALF MODE_ALL
#define VEC_LANES 8
#define VEC_HALF 0
#define VEC_TURNS 1
#include "kernels/quant_vec.h"

VEC_FN vec_u32 vec_load(const void *src)
{
	return (vec_u32)_mm256_loadu_si256(src);
}

VEC_FN void vec_store(void *dst, vec_u32 words)
{
	_mm256_storeu_si256(dst, (__m256i)words);
}

VEC_FN vec_u32 vec_swap(vec_u32 words)
{
	const __m256i order = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	return (vec_u32)_mm256_shuffle_epi8((__m256i)words, order);
}

VEC_FN vec_u32 vec_min(vec_u32 a, vec_u32 b)
{
	return (vec_u32)_mm256_min_epi32((__m256i)a, (__m256i)b);
}

VEC_FN bool vec_beyond(vec_u32 words)
{
	__m256i beyond = _mm256_cmpeq_epi32((__m256i)words, _mm256_set1_epi32(INT32_MIN));

	return _mm256_movemask_epi8(beyond) != 0;
}

VEC_FN vec_u32 vec_min16(vec_u32 a, vec_u32 b)
{
	return (vec_u32)_mm256_min_epi16((__m256i)a, (__m256i)b);
}

VEC_FN bool vec_beyond16(vec_u32 words)
{
	__m256i beyond = _mm256_cmpeq_epi16((__m256i)words, _mm256_set1_epi16(INT16_MIN));

	return _mm256_movemask_epi8(beyond) != 0;
}

VEC_FN vec_u32 vec_clamp16(vec_u32 words, int32_t limit)
{
	__m256i most = _mm256_set1_epi16((int16_t)limit);
	__m256i least = _mm256_set1_epi16((int16_t)-limit);

	return (vec_u32)_mm256_max_epi16(_mm256_min_epi16((__m256i)words, most), least);
}

VEC_FN vec_u32 vec_swap16(vec_u32 words)
{
	const __m256i order = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));

	return (vec_u32)_mm256_shuffle_epi8((__m256i)words, order);
}

VEC_FN vec_u32 vec_multiply(vec_u32 x, float factor)
{
	return (vec_u32)_mm256_mul_ps((__m256)x, _mm256_set1_ps(factor));
}

VEC_FN vec_u32 vec_quantize(vec_u32 x, float scale)
{
	return (vec_u32)_mm256_cvtps_epi32((__m256)vec_multiply(x, scale));
}

VEC_FN vec_u32 vec_float(vec_u32 sum)
{
	return (vec_u32)_mm256_cvtepi32_ps((__m256i)sum);
}

/* What vec_float has rounded away, the sign of it being right also where x is 2^31. */
VEC_FN vec_u32 vec_float_rest(vec_u32 sum, vec_u32 x)
{
	return sum - (vec_u32)_mm256_cvtps_epi32((__m256)x);
}

/* One less where it was rounded away from zero; then the lowest bit for what is missing. */
VEC_FN vec_u32 vec_float_odd(vec_u32 sum)
{
	vec_u32 x = vec_float(sum), rest = vec_float_rest(sum, x);
	vec_u32 away = (vec_u32)_mm256_sign_epi32((__m256i)rest, (__m256i)sum);
	vec_u32 cut = x + (vec_u32)((vec_i32)away >> 31);

	return cut | (vec_u32)_mm256_min_epu32((__m256i)rest, _mm256_set1_epi32(1));
}

/*
 * A first quotient within 3 units, then its exact remainder: the right one, because no quotient of
 * a float and 16 bits lies within 2^-17 units of a point where rounding turns, nor on one.
 */
VEC_FN vec_u32 vec_divide(vec_u32 x, const struct vec_divisor *divisor)
{
	__m256 inverse = _mm256_set1_ps(divisor->inverse);
	__m256 first = _mm256_mul_ps((__m256)x, inverse);
	__m256 rest = _mm256_fnmadd_ps(first, _mm256_set1_ps(divisor->value), (__m256)x);

	return (vec_u32)_mm256_fmadd_ps(rest, inverse, first);
}

/*
 * The same for a sum that may have 32 bits: the remainder is exact with what vec_float has rounded
 * away, too, but the quotient can be a point where rounding turns. It is that, or 2^-17 units away,
 * and the second part of it is off by less than 2^-19: without its lowest 4 bits of 24 it is
 * exact in the first case, and does not become so in the other.
 */
VEC_FN vec_u32 vec_average(vec_u32 sum, const struct vec_divisor *divisor)
{
	vec_u32 x = vec_float(sum), lost = vec_float(vec_float_rest(sum, x));
	__m256 inverse = _mm256_set1_ps(divisor->inverse);
	__m256 first = _mm256_mul_ps((__m256)x, inverse);
	__m256 rest = _mm256_fnmadd_ps(first, _mm256_set1_ps(divisor->value), (__m256)x);
	vec_u32 second = (vec_u32)_mm256_mul_ps(_mm256_add_ps(rest, (__m256)lost), inverse);

	return (vec_u32)_mm256_add_ps(first, (__m256)((second + 8u) & ~15u));
}

static inline float vec_reciprocal(float divisor)
{
	return 1.0f / divisor;
}

/* To the upper half, ties to even: a carry moves into the exponent, as far as infinity. */
VEC_FN vec_u32 vec_round_upper(vec_u32 x)
{
	return x + 0x7fffu + (x >> 16 & 1u);
}

VEC_FN struct pair pair_load_upper(const void *src)
{
	const __m128i *from = src;
	struct pair words = {
		.low = (vec_u32)_mm256_cvtepu16_epi32(_mm_loadu_si128(from)) << 16,
		.high = (vec_u32)_mm256_cvtepu16_epi32(_mm_loadu_si128(from + 1)) << 16,
	};

	return words;
}

/* Packing works within 128 bits; this puts the quarters in order. */
VEC_FN __m256i half_in_order(__m256i packed)
{
	return _mm256_permute4x64_epi64(packed, 0xd8);
}

VEC_FN void pair_store_upper(void *dst, struct pair words)
{
	__m256i packed =
		_mm256_packus_epi32((__m256i)(words.low >> 16), (__m256i)(words.high >> 16));

	_mm256_storeu_si256(dst, half_in_order(packed));
}

VEC_FN struct pair pair_load_half(const void *src)
{
	const __m128i *from = src;
	struct pair x = {
		.low = (vec_u32)_mm256_cvtph_ps(_mm_loadu_si128(from)),
		.high = (vec_u32)_mm256_cvtph_ps(_mm_loadu_si128(from + 1)),
	};

	return x;
}

VEC_FN void pair_store_half(void *dst, struct pair x)
{
	__m128i *to = dst;

	_mm_storeu_si128(to, _mm256_cvtps_ph((__m256)x.low, _MM_FROUND_TO_NEAREST_INT));
	_mm_storeu_si128(to + 1, _mm256_cvtps_ph((__m256)x.high, _MM_FROUND_TO_NEAREST_INT));
}

VEC_FN struct pair pair_load_be16(const void *src)
{
	__m256i halves = half_in_order((__m256i)vec_swap16(vec_load(src)));
	__m256i zero = _mm256_setzero_si256();
	struct pair sums = {
		.low = (vec_u32)_mm256_unpacklo_epi16(zero, halves),
		.high = (vec_u32)_mm256_unpackhi_epi16(zero, halves),
	};

	return sums;
}

VEC_FN vec_u32 pair_pack16(struct pair q)
{
	return (vec_u32)_mm256_packs_epi32((__m256i)q.low, (__m256i)q.high);
}

VEC_FN vec_u32 vec_swap16_turns(vec_u32 packed)
{
	const __m256i order = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(1, 0, 9, 8, 3, 2, 11, 10, 5, 4, 13, 12, 7, 6, 15, 14));

	return (vec_u32)_mm256_shuffle_epi8((__m256i)packed, order);
}

VEC_FN vec_u32 vec_swap16_packed(vec_u32 packed)
{
	return vec_swap16((vec_u32)half_in_order((__m256i)packed));
}

VEC_FN void pair_store_upper_normal(void *dst, struct pair x)
{
	struct pair rounded = { vec_round_upper(x.low), vec_round_upper(x.high) };

	pair_store_upper(dst, rounded);
}

#include "kernels/quant_body.h"

const struct quant_ops quant_ops_avx2 = BODY_OPS("avx2");

#endif
