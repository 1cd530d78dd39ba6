// SPDX-License-Identifier: BSD-3-Clause
// The quantiser in AVX-512 with FP16, BF16 and VBMI; compiled with these, run where all are.
#include "kernels/quant_isa.h"

#if defined(__x86_64__)

#include "kernels/quant_avx512_vec.h"

#define VEC_HALF 1
#define VEC_TURNS 0

/* Words of 32 bits from big-endian numbers first + i of 16 bits, in their upper half. */
VEC_FN vec_u32 vec_spread_be16(__m512i bytes, int8_t first)
{
	const __m512i upper = _mm512_set_epi8(30, 31, 0, 0, 28, 29, 0, 0, 26, 27, 0, 0, 24, 25, 0,
					      0, 22, 23, 0, 0, 20, 21, 0, 0, 18, 19, 0, 0, 16, 17,
					      0, 0, 14, 15, 0, 0, 12, 13, 0, 0, 10, 11, 0, 0, 8, 9,
					      0, 0, 6, 7, 0, 0, 4, 5, 0, 0, 2, 3, 0, 0, 0, 1, 0, 0);
	__m512i order = _mm512_add_epi8(upper, _mm512_set1_epi8(first));

	return (vec_u32)_mm512_maskz_permutexvar_epi8(0xccccccccccccccccu, order, bytes);
}

VEC_FN struct pair pair_load_be16(const void *src)
{
	__m512i bytes = _mm512_loadu_si512(src);
	struct pair sums = { vec_spread_be16(bytes, 0), vec_spread_be16(bytes, 32) };

	return sums;
}

/* Packing works within 128 bits: 8 bytes of one register, 8 of the other. */
VEC_FN vec_u32 vec_swap16_packed(vec_u32 packed)
{
	const __m512i order = _mm512_set_epi8(62, 63, 60, 61, 58, 59, 56, 57, 46, 47, 44, 45, 42,
					      43, 40, 41, 30, 31, 28, 29, 26, 27, 24, 25, 14, 15,
					      12, 13, 10, 11, 8, 9, 54, 55, 52, 53, 50, 51, 48, 49,
					      38, 39, 36, 37, 34, 35, 32, 33, 22, 23, 20, 21, 18,
					      19, 16, 17, 6, 7, 4, 5, 2, 3, 0, 1);

	return (vec_u32)_mm512_permutexvar_epi8(order, (__m512i)packed);
}

/* The instruction takes subnormals for zeros. */
VEC_FN void pair_store_upper_normal(void *dst, struct pair x)
{
	__m512bh rounded = _mm512_cvtne2ps_pbh((__m512)x.high, (__m512)x.low);

	_mm512_storeu_si512(dst, (__m512i)rounded);
}

/* Scaled exactly, but where it is rounded to zero anyway. */
VEC_FN vec_u32 half_quantize(vec_u32 x, int k)
{
	__m512h scaled =
		_mm512_scalef_round_ph((__m512h)x, _mm512_set1_ph((_Float16)k), VEC_NEAREST);

	return (vec_u32)_mm512_cvt_roundph_epi16(scaled, VEC_NEAREST);
}

VEC_FN vec_u32 half_dequantize(vec_u32 sums, int k)
{
	__m512h x = _mm512_cvt_roundepi16_ph((__m512i)sums, VEC_NEAREST);

	return (vec_u32)_mm512_scalef_round_ph(x, _mm512_set1_ph((_Float16)-k), VEC_NEAREST);
}

#include "kernels/quant_body.h"

const struct quant_ops quant_ops_avx512fp16 = BODY_OPS("avx512fp16");

#endif
