// SPDX-License-Identifier: BSD-3-Clause
// The quantiser in AVX-512; compiled with -mavx512f -mavx512bw -mavx512vl -mavx512dq.
#include "kernels/quant_isa.h"

#if defined(__x86_64__)

#include "kernels/quant_avx512_vec.h"

#define VEC_HALF 0
#define VEC_TURNS 1

VEC_FN struct pair pair_load_be16(const void *src)
{
	__m512i halves = (__m512i)vec_swap16(vec_load(src));
	struct pair sums = { vec_spread_upper(halves, 0), vec_spread_upper(halves, 16) };

	return sums;
}

/* Packing works within 128 bits; this puts the quarters of two registers in order. */
VEC_FN vec_u32 vec_swap16_packed(vec_u32 packed)
{
	const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);

	return vec_swap16((vec_u32)_mm512_permutexvar_epi64(order, (__m512i)packed));
}

VEC_FN void pair_store_upper_normal(void *dst, struct pair x)
{
	struct pair rounded = { vec_round_upper(x.low), vec_round_upper(x.high) };

	pair_store_upper(dst, rounded);
}

#include "kernels/quant_body.h"

const struct quant_ops quant_ops_avx512 = BODY_OPS("avx512");

#endif
