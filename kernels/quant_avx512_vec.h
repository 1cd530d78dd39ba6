/* SPDX-License-Identifier: BSD-3-Clause */
/* What every quantiser with registers of 512 bits is made of; included by each before its own. */
#ifndef KERNELS_QUANT_AVX512_VEC_H
#define KERNELS_QUANT_AVX512_VEC_H

#include <immintrin.h>

/*
 * The rounding is in the instruction and traps are off, whatever the thread's MXCSR says. Only to
 * float16 no intrinsic has traps off.
 */
#define VEC_MODE MODE_NONE
#define VEC_MODE_STORE_HALF MODE_TRAPS
#define VEC_NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define VEC_LANES 16
#include "kernels/quant_vec.h"

VEC_FN vec_u32 vec_load(const void *src)
{
	return (vec_u32)_mm512_loadu_si512(src);
}

VEC_FN void vec_store(void *dst, vec_u32 words)
{
	_mm512_storeu_si512(dst, (__m512i)words);
}

VEC_FN vec_u32 vec_swap(vec_u32 words)
{
	const __m512i order = _mm512_broadcast_i32x4(
		_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	return (vec_u32)_mm512_shuffle_epi8((__m512i)words, order);
}

VEC_FN vec_u32 vec_min(vec_u32 a, vec_u32 b)
{
	return (vec_u32)_mm512_min_epi32((__m512i)a, (__m512i)b);
}

VEC_FN bool vec_beyond(vec_u32 words)
{
	return _mm512_cmpeq_epi32_mask((__m512i)words, _mm512_set1_epi32(INT32_MIN)) != 0;
}

VEC_FN vec_u32 vec_min16(vec_u32 a, vec_u32 b)
{
	return (vec_u32)_mm512_min_epi16((__m512i)a, (__m512i)b);
}

VEC_FN bool vec_beyond16(vec_u32 words)
{
	return _mm512_cmpeq_epi16_mask((__m512i)words, _mm512_set1_epi16(INT16_MIN)) != 0;
}

VEC_FN vec_u32 vec_clamp16(vec_u32 words, int32_t limit)
{
	__m512i most = _mm512_set1_epi16((int16_t)limit);
	__m512i least = _mm512_set1_epi16((int16_t)-limit);

	return (vec_u32)_mm512_max_epi16(_mm512_min_epi16((__m512i)words, most), least);
}

VEC_FN vec_u32 vec_swap16(vec_u32 words)
{
	const __m512i order = _mm512_broadcast_i32x4(
		_mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));

	return (vec_u32)_mm512_shuffle_epi8((__m512i)words, order);
}

VEC_FN vec_u32 vec_multiply(vec_u32 x, float factor)
{
	return (vec_u32)_mm512_mul_round_ps((__m512)x, _mm512_set1_ps(factor), VEC_NEAREST);
}

VEC_FN vec_u32 vec_quantize(vec_u32 x, float scale)
{
	return (vec_u32)_mm512_cvt_roundps_epi32((__m512)vec_multiply(x, scale), VEC_NEAREST);
}

VEC_FN vec_u32 vec_float(vec_u32 sum)
{
	return (vec_u32)_mm512_cvt_roundepi32_ps((__m512i)sum, VEC_NEAREST);
}

VEC_FN vec_u32 vec_float_odd(vec_u32 sum)
{
	__m512 cut = _mm512_cvt_roundepi32_ps((__m512i)sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
	__m512i back = _mm512_cvtt_roundps_epi32(cut, _MM_FROUND_NO_EXC);
	__mmask16 inexact = _mm512_cmpneq_epi32_mask(back, (__m512i)sum);
	__m512i bits = _mm512_castps_si512(cut);

	return (vec_u32)_mm512_mask_or_epi32(bits, inexact, bits, _mm512_set1_epi32(1));
}

/* See quant_avx2.c for why these two give the right quotients. */
VEC_FN vec_u32 vec_divide(vec_u32 x, const struct vec_divisor *divisor)
{
	__m512 inverse = _mm512_set1_ps(divisor->inverse);
	__m512 first = _mm512_mul_round_ps((__m512)x, inverse, VEC_NEAREST);
	__m512 rest = _mm512_fnmadd_round_ps(first, _mm512_set1_ps(divisor->value), (__m512)x,
					     VEC_NEAREST);

	return (vec_u32)_mm512_fmadd_round_ps(rest, inverse, first, VEC_NEAREST);
}

VEC_FN vec_u32 vec_average(vec_u32 sum, const struct vec_divisor *divisor)
{
	vec_u32 x = vec_float(sum);
	vec_u32 back = (vec_u32)_mm512_cvt_roundps_epi32((__m512)x, VEC_NEAREST);
	__m512 lost = (__m512)vec_float(sum - back);
	__m512 inverse = _mm512_set1_ps(divisor->inverse);
	__m512 first = _mm512_mul_round_ps((__m512)x, inverse, VEC_NEAREST);
	__m512 rest = _mm512_fnmadd_round_ps(first, _mm512_set1_ps(divisor->value), (__m512)x,
					     VEC_NEAREST);
	vec_u32 second = (vec_u32)_mm512_mul_round_ps(_mm512_add_round_ps(rest, lost, VEC_NEAREST),
						      inverse, VEC_NEAREST);

	return (vec_u32)_mm512_add_round_ps(first, (__m512)((second + 8u) & ~15u), VEC_NEAREST);
}

static inline float vec_reciprocal(float divisor)
{
	return _mm_cvtss_f32(_mm_div_round_ss(_mm_set_ss(1.0f), _mm_set_ss(divisor), VEC_NEAREST));
}

/* To the upper half, ties to even: a carry moves into the exponent, as far as infinity. */
VEC_FN vec_u32 vec_round_upper(vec_u32 x)
{
	__mmask16 odd = _mm512_test_epi32_mask((__m512i)x, _mm512_set1_epi32(0x10000));
	__m512i even_up = _mm512_add_epi32((__m512i)x, _mm512_set1_epi32(0x7fff));

	return (vec_u32)_mm512_mask_add_epi32(even_up, odd, (__m512i)x, _mm512_set1_epi32(0x8000));
}

/* Words 2i + 1 from numbers first + i of 16 bits, words 2i zero. */
VEC_FN vec_u32 vec_spread_upper(__m512i halves, int16_t first)
{
	const __m512i odd = _mm512_set_epi16(15, 0, 14, 0, 13, 0, 12, 0, 11, 0, 10, 0, 9, 0, 8, 0,
					     7, 0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0, 0, 0);
	__m512i order = _mm512_add_epi16(odd, _mm512_set1_epi16(first));

	return (vec_u32)_mm512_maskz_permutexvar_epi16(0xaaaaaaaau, order, halves);
}

VEC_FN struct pair pair_load_upper(const void *src)
{
	__m512i halves = _mm512_loadu_si512(src);
	struct pair words = { vec_spread_upper(halves, 0), vec_spread_upper(halves, 16) };

	return words;
}

VEC_FN vec_u32 pair_pack16(struct pair q)
{
	return (vec_u32)_mm512_packs_epi32((__m512i)q.low, (__m512i)q.high);
}

VEC_FN vec_u32 vec_swap16_turns(vec_u32 packed)
{
	const __m512i order = _mm512_broadcast_i32x4(
		_mm_setr_epi8(1, 0, 9, 8, 3, 2, 11, 10, 5, 4, 13, 12, 7, 6, 15, 14));

	return (vec_u32)_mm512_shuffle_epi8((__m512i)packed, order);
}

/* By turns, then in order: to take them from both registers at once is one move more. */
VEC_FN void pair_store_upper(void *dst, struct pair words)
{
	const __m512i order = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5,
					       3, 1, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8,
					       6, 4, 2, 0);
	vec_u32 turns = words.low >> 16 | (words.high & 0xffff0000u);

	_mm512_storeu_si512(dst, _mm512_permutexvar_epi16(order, (__m512i)turns));
}

VEC_FN struct pair pair_load_half(const void *src)
{
	const __m256i *from = src;
	__m256i low = _mm256_loadu_si256(from), high = _mm256_loadu_si256(from + 1);
	struct pair x = {
		.low = (vec_u32)_mm512_cvt_roundph_ps(low, _MM_FROUND_NO_EXC),
		.high = (vec_u32)_mm512_cvt_roundph_ps(high, _MM_FROUND_NO_EXC),
	};

	return x;
}

VEC_FN void pair_store_half(void *dst, struct pair x)
{
	__m256i *to = dst;

	_mm256_storeu_si256(to, _mm512_cvt_roundps_ph((__m512)x.low, VEC_NEAREST));
	_mm256_storeu_si256(to + 1, _mm512_cvt_roundps_ph((__m512)x.high, VEC_NEAREST));
}

#endif
