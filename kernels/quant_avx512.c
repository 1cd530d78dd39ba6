// SPDX-License-Identifier: BSD-3-Clause
// The quantiser in AVX-512; compiled with -mavx512f -mavx512bw -mavx512vl -mavx512dq.
#include "kernels/quant_isa.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>

#define VEC_LANES 16

/* The rounding is in the instruction and traps are off, whatever the thread's MXCSR says. */
#define VEC_NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

static inline __m512i vec_swap(__m512i words)
{
	const __m512i order = _mm512_broadcast_i32x4(
		_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	return _mm512_shuffle_epi8(words, order);
}

struct vec {
	double scale;
	__m512i least;
};

static inline struct vec vec_init(double scale)
{
	struct vec vec = { .scale = scale, .least = _mm512_setzero_si512() };

	return vec;
}

/* What does not fit converts to -2^31, which nothing that fits does. */
static inline bool vec_overflowed(const struct vec *vec)
{
	return _mm512_cmpeq_epi32_mask(vec->least, _mm512_set1_epi32(INT32_MIN)) != 0;
}

static inline void vec_quantize(void *dst, const void *src, struct vec *vec)
{
	__m512 x = _mm512_castsi512_ps(_mm512_loadu_si512(src));
	__m512 scaled = _mm512_mul_round_ps(x, _mm512_set1_ps((float)vec->scale), VEC_NEAREST);
	__m512i q = _mm512_cvt_roundps_epi32(scaled, VEC_NEAREST);

	vec->least = _mm512_min_epi32(vec->least, q);
	_mm512_storeu_si512(dst, vec_swap(q));
}

static inline void vec_dequantize(void *dst, const void *src, struct vec *vec)
{
	__m512i sum = vec_swap(_mm512_loadu_si512(src));
	__m512 result = _mm512_mul_round_ps(_mm512_cvt_roundepi32_ps(sum, VEC_NEAREST),
					    _mm512_set1_ps((float)vec->scale), VEC_NEAREST);

	_mm512_storeu_si512(dst, _mm512_castps_si512(result));
}

/* See half_average in quant_avx2.c for why the lowest 6 bits are rounded away first. */
static inline __m256 half_average(__m256i sum, double scale)
{
	__m512d product =
		_mm512_mul_round_pd(_mm512_cvtepi32_pd(sum), _mm512_set1_pd(scale), VEC_NEAREST);
	__m512i bits = _mm512_castpd_si512(product);

	bits = _mm512_add_epi64(bits, _mm512_set1_epi64(32));
	bits = _mm512_and_si512(bits, _mm512_set1_epi64(~63ll));
	return _mm512_cvt_roundpd_ps(_mm512_castsi512_pd(bits), VEC_NEAREST);
}

static inline void vec_average(void *dst, const void *src, struct vec *vec)
{
	__m512i sum = vec_swap(_mm512_loadu_si512(src));
	__m256 low = half_average(_mm512_castsi512_si256(sum), vec->scale);
	__m256 high = half_average(_mm512_extracti64x4_epi64(sum, 1), vec->scale);

	_mm256_storeu_ps(dst, low);
	_mm256_storeu_ps((float *)dst + 8, high);
}

static inline double vec_divide(double dividend, double divisor)
{
	return _mm_cvtsd_f64(
		_mm_div_round_sd(_mm_set_sd(dividend), _mm_set_sd(divisor), VEC_NEAREST));
}

#include "kernels/quant_body.h"

const struct quant_ops quant_ops_avx512 = {
	.name = "avx512",
	.floats = {
		[QUANT_F32] = {
			.scan = body_scan_f32,
			.quantize = { body_quantize_f32, quant_scalar_f32_quantize16 },
			.dequantize = { body_dequantize_f32, quant_scalar_f32_dequantize16 },
			.order = body_order_f32,
			.unorder = body_unorder_f32,
			.widen = quant_scalar_f32_widen,
			.narrow = quant_scalar_f32_narrow,
		},
		[QUANT_F16] = QUANT_FLOAT(quant_scalar_f16),
		[QUANT_BF16] = QUANT_FLOAT(quant_scalar_bf16),
	},
	.store_be32 = body_store_be32,
	.load_be32 = body_load_be32,
	.invert_be32 = body_invert_be32,
	.uninvert_be32 = body_uninvert_be32,
	.sum_be32 = body_sum_be32,
	.sum_be16 = quant_scalar_sum_be16,
	.average_i32 = body_average_i32,
};

#endif
