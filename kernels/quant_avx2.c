// SPDX-License-Identifier: BSD-3-Clause
// The quantiser in AVX2, FMA and F16C; compiled with these, run only where quant_select finds them.
#include "kernels/quant_isa.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* It rounds as the thread's MXCSR says. */
#define VEC_MODE MODE_ALL
#define VEC_MODE_STORE_HALF MODE_ALL
#define VEC_LANES 8
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

/*
 * From 2^24 on a float cannot hold the lowest bits, 7 from 2^30 on: they are cleared, and the next
 * one says that some were set. How many is in the exponent; without those 7 it is never rounded up.
 */
VEC_FN vec_u32 vec_float_odd(vec_u32 sum)
{
	vec_u32 top = (vec_u32)_mm256_abs_epi32((__m256i)sum) & ~0x7fu;
	vec_u32 exp = vec_float(top) >> 23;
	vec_u32 mask = (vec_u32)_mm256_srlv_epi32(_mm256_set1_epi32(0x7f), (__m256i)(157u - exp));

	return vec_float((sum | ((sum & mask) + mask)) & ~mask);
}

/*
 * A first quotient within 2 units, then its exact remainder: the right one, because no quotient of
 * a float and so few bits lies within 2^-17 units of a point where rounding turns.
 */
VEC_FN vec_u32 vec_divide(vec_u32 x, const struct vec_divisor *divisor)
{
	__m256 inverse = _mm256_set1_ps(divisor->inverse);
	__m256 first = _mm256_mul_ps((__m256)x, inverse);
	__m256 rest = _mm256_fnmadd_ps(first, _mm256_set1_ps(divisor->value), (__m256)x);

	return (vec_u32)_mm256_fmadd_ps(rest, inverse, first);
}

/*
 * sum * scale is off by at most 2^-51 of itself, while sum / divisor is either one of the points
 * where rounding to float turns, or 2^-41 away from all of them. Rounding away the lowest 6 of 53
 * bits first restores the former and cannot cross with the latter.
 */
VEC_FN __m128 half_average(__m128i sum, double scale)
{
	__m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(sum), _mm256_set1_pd(scale));
	__m256i bits = _mm256_castpd_si256(product);

	bits = _mm256_add_epi64(bits, _mm256_set1_epi64x(32));
	bits = _mm256_and_si256(bits, _mm256_set1_epi64x(~63ll));
	return _mm256_cvtpd_ps(_mm256_castsi256_pd(bits));
}

VEC_FN vec_u32 vec_average(vec_u32 sum, double scale)
{
	__m128 low = half_average(_mm256_castsi256_si128((__m256i)sum), scale);
	__m128 high = half_average(_mm256_extracti128_si256((__m256i)sum, 1), scale);

	return (vec_u32)_mm256_set_m128(high, low);
}

static inline double vec_reciprocal(double divisor)
{
	return 1.0 / divisor;
}

VEC_FN struct pair pair_load16(const void *src)
{
	const __m128i *from = src;
	struct pair words = {
		.low = (vec_u32)_mm256_cvtepu16_epi32(_mm_loadu_si128(from)),
		.high = (vec_u32)_mm256_cvtepu16_epi32(_mm_loadu_si128(from + 1)),
	};

	return words;
}

VEC_FN void pair_store16(void *dst, struct pair words)
{
	__m256i packed = _mm256_packus_epi32((__m256i)words.low, (__m256i)words.high);

	_mm256_storeu_si256(dst, _mm256_permute4x64_epi64(packed, 0xd8));
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

VEC_FN __m256i half_swap16(__m256i words)
{
	const __m256i order = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));

	return _mm256_shuffle_epi8(words, order);
}

VEC_FN struct pair pair_load_be16(const void *src)
{
	__m256i words = half_swap16(_mm256_loadu_si256(src));
	struct pair sums = {
		.low = (vec_u32)_mm256_cvtepi16_epi32(_mm256_castsi256_si128(words)),
		.high = (vec_u32)_mm256_cvtepi16_epi32(_mm256_extracti128_si256(words, 1)),
	};

	return sums;
}

VEC_FN void pair_store_be16(void *dst, struct pair q, int32_t limit)
{
	__m256i packed = _mm256_packs_epi32((__m256i)q.low, (__m256i)q.high);

	packed = _mm256_min_epi16(packed, _mm256_set1_epi16((int16_t)limit));
	packed = _mm256_max_epi16(packed, _mm256_set1_epi16((int16_t)-limit));
	packed = half_swap16(_mm256_permute4x64_epi64(packed, 0xd8));
	_mm256_storeu_si256(dst, packed);
}

#include "kernels/quant_body.h"

const struct quant_ops quant_ops_avx2 = BODY_OPS("avx2");

#endif
