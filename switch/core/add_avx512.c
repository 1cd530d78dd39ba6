// SPDX-License-Identifier: BSD-3-Clause
/* add_avx512.c - the arithmetic of a cell with 512-bit vectors. */
#include "switch/core/add_isa.h"

#ifdef TALLY_X86
#include <immintrin.h>

typedef __m512i vec;
enum { VEC_BYTES = 64 };
#define VEC_NAME "avx512"
#define VEC_TABLE add_avx512

_Static_assert((int)VEC_BYTES == 2 * (int)WIRE_PAD, "a shorter piece is half a vector");

static inline vec vec_zero(void)
{
	return _mm512_setzero_si512();
}

static inline vec vec_load(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

static inline void vec_store(uint8_t *p, vec v)
{
	_mm512_storeu_si512(p, v);
}

static inline vec vec_load_pad(const uint8_t *p)
{
	return _mm512_zextsi256_si512(_mm256_loadu_si256((const void *)p));
}

static inline void vec_store_pad(uint8_t *p, vec v)
{
	_mm256_storeu_si256((void *)p, _mm512_castsi512_si256(v));
}

static inline vec vec_swap32(vec v)
{
	return _mm512_shuffle_epi8(v,
				   _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11,
									10, 9, 8, 15, 14, 13, 12)));
}

static inline vec vec_swap16(vec v)
{
	return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6,
									   9, 8, 11, 10, 13, 12, 15,
									   14)));
}

static inline vec vec_add32(vec a, vec b)
{
	return _mm512_add_epi32(a, b);
}

static inline vec vec_add16(vec a, vec b)
{
	return _mm512_add_epi16(a, b);
}

static inline vec vec_max32(vec a, vec b)
{
	return _mm512_max_epi32(a, b);
}

static inline vec vec_max8(vec a, vec b)
{
	return _mm512_max_epu8(a, b);
}

/*
 * A sum overflowed where its sign differs from both operands'; the end it passed is told by a's
 * sign.
 */
static inline vec vec_sat32(vec a, vec b, vec *over)
{
	vec sum = _mm512_add_epi32(a, b);
	/* Truth table of (a ^ sum) & (b ^ sum). */
	vec passed = _mm512_ternarylogic_epi32(a, b, sum, 0x42);
	vec end = _mm512_xor_si512(_mm512_srai_epi32(a, 31), _mm512_set1_epi32(INT32_MAX));

	*over = _mm512_or_si512(*over, passed);
	return _mm512_mask_mov_epi32(sum, _mm512_movepi32_mask(passed), end);
}

static inline bool vec_any(vec over)
{
	return _mm512_movepi32_mask(over) != 0;
}

#include "switch/core/add_vec.h"
#endif
