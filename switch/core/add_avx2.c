// SPDX-License-Identifier: BSD-3-Clause
/* add_avx2.c - the arithmetic of a cell with 256-bit vectors. */
#include "switch/core/add_isa.h"

#ifdef TALLY_X86
#include <immintrin.h>

typedef __m256i vec;
enum { VEC_BYTES = 32 };
#define VEC_NAME "avx2"
#define VEC_TABLE add_avx2

_Static_assert((int)VEC_BYTES == (int)WIRE_PAD, "there is no shorter piece");
#define vec_load_pad vec_load
#define vec_store_pad vec_store

static inline vec vec_zero(void)
{
	return _mm256_setzero_si256();
}

static inline vec vec_load(const uint8_t *p)
{
	return _mm256_loadu_si256((const void *)p);
}

static inline void vec_store(uint8_t *p, vec v)
{
	_mm256_storeu_si256((void *)p, v);
}

static inline vec vec_swap32(vec v)
{
	return _mm256_shuffle_epi8(v, _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14,
						       13, 12, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8,
						       15, 14, 13, 12));
}

static inline vec vec_swap16(vec v)
{
	return _mm256_shuffle_epi8(v, _mm256_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12,
						       15, 14, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10,
						       13, 12, 15, 14));
}

static inline vec vec_add32(vec a, vec b)
{
	return _mm256_add_epi32(a, b);
}

static inline vec vec_add16(vec a, vec b)
{
	return _mm256_add_epi16(a, b);
}

static inline vec vec_max32(vec a, vec b)
{
	return _mm256_max_epi32(a, b);
}

static inline vec vec_max8(vec a, vec b)
{
	return _mm256_max_epu8(a, b);
}

/*
 * A sum overflowed where its sign differs from both operands'; the end it passed is told by a's
 * sign.  Hardly any does, so the correction is off the straight path: 1.0 of memcpy's time where
 * none does and 2.1 where most do, against 1.45 always (2 cores of a 2.3 GHz Xeon, 2026-11-30).
 * AVX-512 has a cheap blend and needs no such choice.
 */
static inline vec vec_sat32(vec a, vec b, vec *over)
{
	vec sum = _mm256_add_epi32(a, b);
	vec passed = _mm256_and_si256(_mm256_xor_si256(a, sum), _mm256_xor_si256(b, sum));
	vec end;

	if (__builtin_expect(_mm256_movemask_ps(_mm256_castsi256_ps(passed)) == 0, 1))
		return sum;
	*over = _mm256_or_si256(*over, passed);
	end = _mm256_xor_si256(_mm256_srai_epi32(a, 31), _mm256_set1_epi32(INT32_MAX));
	return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(sum),
						    _mm256_castsi256_ps(end),
						    _mm256_castsi256_ps(passed)));
}

static inline bool vec_any(vec over)
{
	return _mm256_movemask_ps(_mm256_castsi256_ps(over)) != 0;
}

#include "switch/core/add_vec.h"
#endif
