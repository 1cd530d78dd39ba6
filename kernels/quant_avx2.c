// SPDX-License-Identifier: BSD-3-Clause
// The quantiser in AVX2; compiled with -mavx2, run only where quant_select finds it.
#include "kernels/quant_isa.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>

#define VEC_LANES 8

/* Round to nearest, subnormals kept, every exception masked. */
#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_STICKY 0x003fu

static inline bool mxcsr_is_default(unsigned mxcsr)
{
	return (mxcsr & ~MXCSR_STICKY) == MXCSR_DEFAULT;
}

static inline __m256i vec_swap(__m256i words)
{
	const __m256i order = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
					       3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13,
					       12);

	return _mm256_shuffle_epi8(words, order);
}

struct vec {
	double scale;
	__m256i least;
};

static inline struct vec vec_init(double scale)
{
	struct vec vec = { .scale = scale, .least = _mm256_setzero_si256() };

	return vec;
}

/* What does not fit converts to -2^31, which nothing that fits does. */
static inline bool vec_overflowed(const struct vec *vec)
{
	__m256i beyond = _mm256_cmpeq_epi32(vec->least, _mm256_set1_epi32(INT32_MIN));

	return _mm256_movemask_epi8(beyond) != 0;
}

static inline void vec_quantize(void *dst, const void *src, struct vec *vec)
{
	__m256 x = _mm256_castsi256_ps(_mm256_loadu_si256(src));
	__m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps((float)vec->scale)));

	vec->least = _mm256_min_epi32(vec->least, q);
	_mm256_storeu_si256(dst, vec_swap(q));
}

static inline void vec_dequantize(void *dst, const void *src, struct vec *vec)
{
	__m256 sum = _mm256_cvtepi32_ps(vec_swap(_mm256_loadu_si256(src)));
	__m256 result = _mm256_mul_ps(sum, _mm256_set1_ps((float)vec->scale));

	_mm256_storeu_si256(dst, _mm256_castps_si256(result));
}

/*
 * sum * scale is off by at most 2^-52 of itself, while sum / divisor is either one of the points
 * where rounding to float turns, or 2^-41 away from all of them. Rounding away the lowest 6 of 53
 * bits first restores the former and cannot cross with the latter.
 */
static inline __m128 half_average(__m128i sum, double scale)
{
	__m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(sum), _mm256_set1_pd(scale));
	__m256i bits = _mm256_castpd_si256(product);

	bits = _mm256_add_epi64(bits, _mm256_set1_epi64x(32));
	bits = _mm256_and_si256(bits, _mm256_set1_epi64x(~63ll));
	return _mm256_cvtpd_ps(_mm256_castsi256_pd(bits));
}

static inline void vec_average(void *dst, const void *src, struct vec *vec)
{
	__m256i sum = vec_swap(_mm256_loadu_si256(src));
	__m128 low = half_average(_mm256_castsi256_si128(sum), vec->scale);
	__m128 high = half_average(_mm256_extracti128_si256(sum, 1), vec->scale);

	_mm256_storeu_si256(dst, _mm256_castps_si256(_mm256_set_m128(high, low)));
}

static inline double vec_divide(double dividend, double divisor)
{
	return dividend / divisor;
}

#include "kernels/quant_body.h"

/*
 * AVX2 rounds as the thread's MXCSR says. It is the default nearly always, and each write costs
 * 5 to 10 ns (on Sapphire Rapids, where a packet of 352 elements takes 40). The bodies are not
 * inlined, so that no float operation moves out from between.
 */
static void avx2_quantize_f32(void *dst, const void *src, const struct quant_chunk *chunk)
{
	unsigned saved = _mm_getcsr();

	if (mxcsr_is_default(saved)) {
		body_quantize_f32(dst, src, chunk);
		return;
	}
	_mm_setcsr(MXCSR_DEFAULT);
	body_quantize_f32(dst, src, chunk);
	_mm_setcsr(saved);
}

static uint64_t avx2_dequantize_f32(void *dst, const void *src, const struct quant_chunk *chunk,
				    uint32_t divisor)
{
	unsigned saved = _mm_getcsr();
	uint64_t nonfinite;

	if (mxcsr_is_default(saved))
		return body_dequantize_f32(dst, src, chunk, divisor);
	_mm_setcsr(MXCSR_DEFAULT);
	nonfinite = body_dequantize_f32(dst, src, chunk, divisor);
	_mm_setcsr(saved);
	return nonfinite;
}

const struct quant_ops quant_ops_avx2 = {
	.name = "avx2",
	.floats = {
		[QUANT_F32] = {
			.scan = body_scan_f32,
			.quantize = { avx2_quantize_f32, quant_scalar_f32_quantize16 },
			.dequantize = { avx2_dequantize_f32, quant_scalar_f32_dequantize16 },
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
