/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The quantiser for wide registers: one body for every x86-64 instruction set.
 *
 * Included once by each quant_<isa>.c, after the compiler's flags (and that file) have named the
 * instruction set and supplied what quant_vec.h lists. The loops over integers are plain C for the
 * compiler to vectorise; those over floats take two registers of elements at a time, in one pass
 * between the user's memory and the packet. What is rare goes through the scalar table: numbers
 * near the subnormals, lies, averages that could overflow.
 */
#ifndef KERNELS_QUANT_BODY_H
#define KERNELS_QUANT_BODY_H

#include <xmmintrin.h>

#include "kernels/quant_rows_body.h"

/* Not inlined: no float operation leaves the default mode, and no constants the rare loops. */
#define RUN_FN static __attribute__((noinline))

/* --- The thread's float control ------------------------------------------------------ */

/* Round to nearest, subnormals kept, every exception masked. */
#define MXCSR_DEFAULT 0x1f80u

/* It is the default nearly always, and each write costs 5 to 10 ns (on Sapphire Rapids). */
static inline unsigned mode_enter(unsigned matters)
{
	unsigned saved = matters ? _mm_getcsr() : MXCSR_DEFAULT;

	if ((saved ^ MXCSR_DEFAULT) & matters)
		_mm_setcsr(MXCSR_DEFAULT);
	return saved;
}

static inline void mode_leave(unsigned saved, unsigned matters)
{
	if ((saved ^ MXCSR_DEFAULT) & matters)
		_mm_setcsr(saved);
}

/* What matters where floats of a format are loaded, and stored. */
VEC_FN unsigned mode_load(enum quant_dtype dtype)
{
	return dtype == QUANT_F16 ? VEC_MODE : MODE_NONE;
}

VEC_FN unsigned mode_store(enum quant_dtype dtype)
{
	return dtype == QUANT_F16 ? VEC_MODE_STORE_HALF : MODE_NONE;
}

/* --- Scan ---------------------------------------------------------------------------- */

static inline uint32_t block_largest32(const uint8_t *restrict src, size_t count)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t mag = qm_load32(src + 4 * i) & 0x7fffffffu;

		largest = mag > largest ? mag : largest;
	}
	return largest;
}

static inline uint32_t block_largest16(const uint8_t *restrict src, size_t count)
{
	uint16_t largest = 0;

	for (size_t i = 0; i < count; i++) {
		uint16_t mag = (uint16_t)(qm_load16(src + 2 * i) & 0x7fffu);

		largest = mag > largest ? mag : largest;
	}
	return largest;
}

/* Bits of the largest |x|, widened. NaN is larger than all else. */
static inline uint32_t block_largest(enum quant_dtype dtype, const uint8_t *src, size_t count)
{
	if (dtype == QUANT_F32)
		return block_largest32(src, count);
	if (dtype == QUANT_F16)
		return qm_widen_f16(block_largest16(src, count));
	return qm_widen_bf16(block_largest16(src, count));
}

RUN_FN uint64_t block_nonfinite(const uint8_t *src, size_t count, size_t size, uint32_t infinite)
{
	uint64_t nonfinite = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t bits = size == 4 ? qm_load32(src + 4 * i) : qm_load16(src + 2 * i);

		nonfinite += (bits & infinite) == infinite;
	}
	return nonfinite;
}

VEC_FN uint64_t body_scan(enum quant_dtype dtype, uint8_t *exp, const void *src, size_t count)
{
	const size_t size = dtype_size(dtype);
	const uint32_t infinite = dtype == QUANT_F32   ? QM_INF
				  : dtype == QUANT_F16 ? 0x7c00u
						       : QM_INF >> 16;
	const uint8_t *from = src;
	uint64_t nonfinite = 0;

	for (size_t done = 0; done < count; done += QUANT_BLOCK) {
		size_t run = count - done < QUANT_BLOCK ? count - done : QUANT_BLOCK;
		const uint8_t *at = from + size * done;
		uint32_t largest;

		/* Its length known, the usual loop is unrolled. */
		if (run == QUANT_BLOCK)
			largest = block_largest(dtype, at, QUANT_BLOCK);
		else
			largest = block_largest(dtype, at, run);
		if (largest >= QM_INF)
			nonfinite += block_nonfinite(at, run, size, infinite);
		exp[done / QUANT_BLOCK] = (uint8_t)(largest >> 23);
	}
	return nonfinite;
}

/* --- Quantise and dequantise --------------------------------------------------------- */

/* For divisors up to here, and powers of two, an average has its one rounding: see vec_result. */
#define DIVISOR_NARROW_MAX 1024u

/* 2^k, -126 <= k <= 127 */
static inline float body_pow2(int k)
{
	uint32_t bits = (uint32_t)(k + 127) << QM_F32_MANT;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* What a call is given. */
struct piece {
	void *dst;
	const void *src;
	const struct quant_chunk *chunk;
};

/* The k of a block whose exponent is 0, were that not counted as 1. */
static inline int piece_shift(const struct piece *piece, enum quant_wire wire)
{
	const uint32_t world = piece->chunk->world;

	return 1 + (wire == QUANT_WIRE_32 ? qm_shift(1, world) : qm_shift16(1, world));
}

/* A run: the elements of one block. Passed by value, so that it stays in registers. */
struct run {
	size_t done; /* elements of the piece before it */
	size_t count;
	uint32_t exp;
	int k;
};

VEC_FN struct run run_at(const struct piece *piece, int shift, size_t done)
{
	struct run run = {
		.done = done,
		.count = quant_run(piece->chunk, done),
		.exp = quant_exp(piece->chunk, done),
	};

	run.k = shift - (int)(run.exp ? run.exp : 1u);
	return run;
}

/* The piece that a run is. */
static inline struct quant_chunk run_chunk(const struct piece *piece, struct run run)
{
	struct quant_chunk chunk = {
		.exp = piece->chunk->exp + (piece->chunk->phase + run.done) / QUANT_BLOCK,
		.phase = (uint32_t)((piece->chunk->phase + run.done) % QUANT_BLOCK),
		.world = piece->chunk->world,
		.count = run.count,
	};

	return chunk;
}

VEC_FN void *run_dst(const struct piece *piece, struct run run, size_t size)
{
	return (char *)piece->dst + size * run.done;
}

VEC_FN const void *run_src(const struct piece *piece, struct run run, size_t size)
{
	return (const char *)piece->src + size * run.done;
}

static bool memory_is_zero(const uint8_t *src, size_t bytes)
{
	uint8_t any = 0;

	for (size_t i = 0; i < bytes; i++)
		any |= src[i];
	return !any;
}

/* Blocks of NaN, or near the subnormals: zeros are common there, other values are not. */
RUN_FN void run_quantize_rare(enum quant_dtype dtype, enum quant_wire wire,
			      const struct piece *piece, struct run run)
{
	const struct quant_chunk chunk = run_chunk(piece, run);
	const void *src = run_src(piece, run, dtype_size(dtype));
	void *dst = run_dst(piece, run, wire_size(wire));

	if (run.exp == QM_EXP_NONFINITE || block_largest(dtype, src, run.count) == 0)
		memset(dst, 0, wire_size(wire) * run.count);
	else
		quant_ops_scalar.floats[dtype].quantize[wire](dst, src, &chunk);
}

/* Returns the least of all made so far. */
VEC_FN vec_u32 run_quantize(enum quant_dtype dtype, enum quant_wire wire, const struct piece *piece,
			    struct run run, vec_u32 least)
{
	const bool half = VEC_HALF && dtype == QUANT_F16 && wire == QUANT_WIRE_16;
	struct vec vec = {
		.size = { wire_size(wire), dtype_size(dtype) },
		.dtype = dtype,
		.wire = wire,
		.scale = body_pow2(run.k),
		.k = run.k,
		.limit = wire == QUANT_WIRE_16 ? qm_limit16(piece->chunk->world) : 0,
		.ahead = wire == QUANT_WIRE_32,
		.end = (uintptr_t)piece->dst + wire_size(wire) * piece->chunk->count,
		.least = least,
	};

	body_rows(half ? row_quantize_half : row_quantize, run_dst(piece, run, vec.size.dst),
		  run_src(piece, run, vec.size.src), run.count, &vec);
	return vec.least;
}

/* Lies are looked for once, at the end: they are rare, and the scalar table then does it all. */
VEC_FN void body_quantize(enum quant_dtype dtype, enum quant_wire wire, const struct piece *piece)
{
	const size_t count = piece->chunk->count;
	const int shift = piece_shift(piece, wire);
	vec_u32 least = { 0 };
	struct run run;

	for (size_t done = 0; done < count; done += run.count) {
		run = run_at(piece, shift, done);
		if (run.exp == QM_EXP_NONFINITE || run.k > QM_SHIFT_FLOAT_MAX)
			run_quantize_rare(dtype, wire, piece, run);
		else
			least = run_quantize(dtype, wire, piece, run, least);
	}
	if (wire == QUANT_WIRE_16 ? vec_beyond16(least) : vec_beyond(least))
		quant_ops_scalar.floats[dtype].quantize[wire](piece->dst, piece->src, piece->chunk);
}

/* How a call divides. */
struct ratio {
	uint32_t divisor;
	int log2; /* rounded up */
	bool divides;
	struct vec_divisor by;
};

static inline struct ratio ratio_of(uint32_t divisor)
{
	struct ratio ratio = {
		.divisor = divisor,
		.log2 = qm_log2_ceil(divisor),
		.divides = (divisor & (divisor - 1)) != 0,
	};

	if (ratio.divides) {
		ratio.by.value = (float)(int32_t)divisor;
		ratio.by.inverse = vec_reciprocal(ratio.by.value);
	}
	return ratio;
}

/* Sums of 16 bits come times 2^16. */
VEC_FN int wire_up(enum quant_wire wire)
{
	return wire == QUANT_WIRE_32 ? 0 : 16;
}

/* Whether a result could be subnormal as float32, an average overflow, or be rounded twice. */
VEC_FN bool ratio_is_rare(const struct ratio *ratio, enum quant_dtype dtype, enum quant_wire wire,
			  int k)
{
	const int most = dtype == QUANT_F16 ? 15 : 127;
	const int top = (wire == QUANT_WIRE_32 ? 31 : 15) - k - ratio->log2 + ratio->divides;

	return k + ratio->log2 + wire_up(wire) > QM_SHIFT_FLOAT_MAX ||
	       (ratio->divisor > 1 && top > most) ||
	       (ratio->divides && dtype != QUANT_F32 && ratio->divisor > DIVISOR_NARROW_MAX);
}

RUN_FN void run_dequantize_rare(enum quant_dtype dtype, enum quant_wire wire,
				const struct piece *piece, struct run run, uint32_t divisor)
{
	const struct quant_chunk chunk = run_chunk(piece, run);
	const void *src = run_src(piece, run, wire_size(wire));
	void *dst = run_dst(piece, run, dtype_size(dtype));

	if (memory_is_zero(src, wire_size(wire) * run.count))
		memset(dst, 0, dtype_size(dtype) * run.count);
	else
		quant_ops_scalar.floats[dtype].dequantize[wire](dst, src, &chunk, divisor);
}

/* To here what becomes subnormal has 11 bits, which float16 holds: nothing is rounded twice. */
#define HALF_SHIFT_MAX 25

VEC_FN void run_dequantize(enum quant_dtype dtype, enum quant_wire wire, const struct piece *piece,
			   struct run run, const struct ratio *ratio)
{
	const bool turns = VEC_TURNS && dtype == QUANT_BF16 && wire == QUANT_WIRE_16;
	const bool half = VEC_HALF && dtype == QUANT_F16 && wire == QUANT_WIRE_16;
	const row_fn row = turns ? row_dequantize_turns : row_dequantize;
	const void *src = run_src(piece, run, wire_size(wire));
	void *dst = run_dst(piece, run, dtype_size(dtype));
	struct vec vec = {
		.size = { dtype_size(dtype), wire_size(wire) },
		.dtype = dtype,
		.wire = wire,
		.k = run.k + ratio->log2,
		.ahead = dtype == QUANT_F32,
		.end = (uintptr_t)piece->dst + dtype_size(dtype) * piece->chunk->count,
	};

	if (ratio->divides) {
		vec.divides = true;
		vec.scale = body_pow2(-run.k - wire_up(wire));
		vec.divisor = ratio->by;
		body_rows(row, dst, src, run.count, &vec);
		return;
	}
	if (half && vec.k <= HALF_SHIFT_MAX) {
		vec.ahead = true;
		body_rows(row_dequantize_half, dst, src, run.count, &vec);
		return;
	}
	vec.scale = body_pow2(-vec.k - wire_up(wire));
	body_rows(row, dst, src, run.count, &vec);
}

RUN_FN void run_fill_nan(enum quant_dtype dtype, void *dst, size_t count)
{
	uint8_t *to = dst;

	for (size_t i = 0; i < count; i++) {
		if (dtype == QUANT_F32)
			qm_store32(to + 4 * i, QM_NAN);
		else
			qm_store16(to + 2 * i, dtype == QUANT_F16 ? 0x7e00u : QM_NAN >> 16);
	}
}

VEC_FN uint64_t body_dequantize(enum quant_dtype dtype, enum quant_wire wire,
				const struct piece *piece, uint32_t divisor)
{
	const struct ratio ratio = ratio_of(divisor);
	const size_t count = piece->chunk->count;
	const int shift = piece_shift(piece, wire);
	uint64_t nonfinite = 0;
	struct run run;

	for (size_t done = 0; done < count; done += run.count) {
		run = run_at(piece, shift, done);
		if (run.exp == QM_EXP_NONFINITE) {
			run_fill_nan(dtype, run_dst(piece, run, dtype_size(dtype)), run.count);
			nonfinite += run.count;
		} else if (ratio_is_rare(&ratio, dtype, wire, run.k)) {
			run_dequantize_rare(dtype, wire, piece, run, divisor);
		} else {
			run_dequantize(dtype, wire, piece, run, &ratio);
		}
	}
	return nonfinite;
}

/* --- Each format, each width: a run that stays in the mode, and the function that sets it  */

#define BODY_WIRE(n, kind, w, width)                                                               \
	RUN_FN void n##_run_quantize##w(void *dst, const void *src,                                \
					const struct quant_chunk *chunk)                           \
	{                                                                                          \
		const struct piece piece = { dst, src, chunk };                                    \
                                                                                                   \
		body_quantize(kind, width, &piece);                                                \
	}                                                                                          \
	static void n##_quantize##w(void *dst, const void *src, const struct quant_chunk *chunk)   \
	{                                                                                          \
		unsigned saved = mode_enter(VEC_MODE);                                             \
                                                                                                   \
		n##_run_quantize##w(dst, src, chunk);                                              \
		mode_leave(saved, VEC_MODE);                                                       \
	}                                                                                          \
	RUN_FN uint64_t n##_run_dequantize##w(void *dst, const void *src,                          \
					      const struct quant_chunk *chunk, uint32_t divisor)   \
	{                                                                                          \
		const struct piece piece = { dst, src, chunk };                                    \
                                                                                                   \
		return body_dequantize(kind, width, &piece, divisor);                              \
	}                                                                                          \
	static uint64_t n##_dequantize##w(void *dst, const void *src,                              \
					  const struct quant_chunk *chunk, uint32_t divisor)       \
	{                                                                                          \
		unsigned saved = mode_enter(VEC_MODE | mode_store(kind));                          \
		uint64_t nonfinite = n##_run_dequantize##w(dst, src, chunk, divisor);              \
                                                                                                   \
		mode_leave(saved, VEC_MODE | mode_store(kind));                                    \
		return nonfinite;                                                                  \
	}

/* Pieces of any length, without exponents. */
#define BODY_PLAIN(n, kind)                                                                        \
	static uint64_t n##_scan(uint8_t *exp, const void *src, size_t count)                      \
	{                                                                                          \
		return body_scan(kind, exp, src, count);                                           \
	}                                                                                          \
	RUN_FN void n##_run_order(void *dst, const void *src, size_t count, uint32_t reverse)      \
	{                                                                                          \
		struct vec vec = { .size = { 4, dtype_size(kind) },                                \
				   .dtype = kind,                                                  \
				   .ahead = true,                                                  \
				   .end = (uintptr_t)dst + 4 * count,                              \
				   .reverse = reverse };                                           \
                                                                                                   \
		body_rows(row_order, dst, src, count, &vec);                                       \
	}                                                                                          \
	static void n##_order(void *dst, const void *src, size_t count, int negate)                \
	{                                                                                          \
		unsigned saved = mode_enter(mode_load(kind));                                      \
                                                                                                   \
		n##_run_order(dst, src, count, negate ? 0xffffffffu : 0u);                         \
		mode_leave(saved, mode_load(kind));                                                \
	}                                                                                          \
	RUN_FN void n##_run_unorder(void *dst, const void *src, size_t count, uint32_t reverse)    \
	{                                                                                          \
		struct vec vec = { .size = { dtype_size(kind), 4 },                                \
				   .dtype = kind,                                                  \
				   .ahead = (kind) == QUANT_F32,                                   \
				   .end = (uintptr_t)dst + dtype_size(kind) * count,               \
				   .reverse = reverse };                                           \
                                                                                                   \
		body_rows(row_unorder, dst, src, count, &vec);                                     \
	}                                                                                          \
	static void n##_unorder(void *dst, const void *src, size_t count, int negate)              \
	{                                                                                          \
		unsigned saved = mode_enter(mode_store(kind));                                     \
                                                                                                   \
		n##_run_unorder(dst, src, count, negate ? 0xffffffffu : 0u);                       \
		mode_leave(saved, mode_store(kind));                                               \
	}                                                                                          \
	RUN_FN void n##_run_widen(float *dst, const void *src, size_t count, float factor)         \
	{                                                                                          \
		struct vec vec = { .size = { 4, dtype_size(kind) },                                \
				   .dtype = kind,                                                  \
				   .ahead = true,                                                  \
				   .end = (uintptr_t)dst + 4 * count,                              \
				   .scale = factor };                                              \
                                                                                                   \
		body_rows(row_widen, dst, src, count, &vec);                                       \
	}                                                                                          \
	static void n##_widen(float *dst, const void *src, size_t count, float factor)             \
	{                                                                                          \
		unsigned saved = mode_enter(MODE_ALL);                                             \
                                                                                                   \
		n##_run_widen(dst, src, count, factor);                                            \
		mode_leave(saved, MODE_ALL);                                                       \
	}                                                                                          \
	RUN_FN void n##_run_narrow(void *dst, const float *src, size_t count, float factor)        \
	{                                                                                          \
		struct vec vec = { .size = { dtype_size(kind), 4 },                                \
				   .dtype = kind,                                                  \
				   .ahead = (kind) == QUANT_F32,                                   \
				   .end = (uintptr_t)dst + dtype_size(kind) * count,               \
				   .scale = factor };                                              \
                                                                                                   \
		body_rows(row_narrow, dst, src, count, &vec);                                      \
	}                                                                                          \
	static void n##_narrow(void *dst, const float *src, size_t count, float factor)            \
	{                                                                                          \
		unsigned saved = mode_enter(MODE_ALL);                                             \
                                                                                                   \
		n##_run_narrow(dst, src, count, factor);                                           \
		mode_leave(saved, MODE_ALL);                                                       \
	}

#define BODY_FLOAT(n, kind)                                                                        \
	BODY_WIRE(n, kind, 32, QUANT_WIRE_32)                                                      \
	BODY_WIRE(n, kind, 16, QUANT_WIRE_16)                                                      \
	BODY_PLAIN(n, kind)

BODY_FLOAT(body_f32, QUANT_F32)
BODY_FLOAT(body_f16, QUANT_F16)
BODY_FLOAT(body_bf16, QUANT_BF16)

/* --- Integers ------------------------------------------------------------------------ */

/* Swapped and xored with mask: a copy to or from the wire, or its complement. */
static void run_swap(uint8_t *restrict dst, const uint8_t *restrict src, size_t count,
		     uint32_t mask)
{
	for (size_t i = 0; i < count; i++)
		qm_store32(dst + 4 * i, qm_be32(qm_load32(src + 4 * i)) ^ mask);
}

static void body_store_be32(void *dst, const uint32_t *src, size_t count)
{
	run_swap(dst, (const uint8_t *)src, count, 0u);
}

static void body_load_be32(uint32_t *dst, const void *src, size_t count)
{
	run_swap((uint8_t *)dst, src, count, 0u);
}

/*
 * Sums by rows of SUM_LANES numbers: rising gets the plain sum so far after each, so that row r of R is in it
 * R - r times, and nothing is multiplied but at the end. Those of 16 bits fit 32 for SUM_ROWS rows.
 */
enum { SUM_LANES = 32, SUM_ROWS = 256 };

#define BODY_SUM(n, number, load, bytes)                                                           \
	static void n##_rows(uint64_t sums[2], const uint8_t *from, size_t rows)                   \
	{                                                                                          \
		number plain[SUM_LANES] = { 0 }, rising[SUM_LANES] = { 0 };                        \
                                                                                                   \
		for (size_t row = 0; row < rows; row++, from += SUM_LANES * (bytes)) {             \
			for (size_t lane = 0; lane < SUM_LANES; lane++) {                          \
				plain[lane] += load(from + lane * (bytes));                        \
				rising[lane] += plain[lane];                                       \
			}                                                                          \
		}                                                                                  \
		sums[0] = sums[1] = 0;                                                             \
		for (size_t lane = 0; lane < SUM_LANES; lane++) {                                  \
			sums[0] += (uint64_t)plain[lane];                                          \
			sums[1] += (lane + SUM_LANES * rows) * (uint64_t)plain[lane] -             \
				   SUM_LANES * (uint64_t)rising[lane];                             \
		}                                                                                  \
	}                                                                                          \
	static void n(uint64_t sums[2], const void *src, size_t count)                             \
	{                                                                                          \
		const uint8_t *from = src;                                                         \
		uint64_t part[2];                                                                  \
		size_t i = 0, rows;                                                                \
                                                                                                   \
		sums[0] = sums[1] = 0;                                                             \
		for (; count - i >= SUM_LANES; i += rows * SUM_LANES) {                            \
			rows = (count - i) / SUM_LANES < SUM_ROWS ? (count - i) / SUM_LANES        \
								  : SUM_ROWS;                      \
			n##_rows(part, from + i * (bytes), rows);                                  \
			sums[0] += part[0];                                                        \
			sums[1] += i * part[0] + part[1];                                          \
		}                                                                                  \
		for (; i < count; i++) {                                                           \
			sums[0] += (uint64_t)load(from + i * (bytes));                             \
			sums[1] += i * (uint64_t)load(from + i * (bytes));                         \
		}                                                                                  \
	}

static inline int64_t sum_load_be32(const uint8_t *from)
{
	return (int32_t)qm_be32(qm_load32(from));
}

static inline int32_t sum_load_be16(const uint8_t *from)
{
	return (int16_t)qm_be16(qm_load16(from));
}

BODY_SUM(body_sum_be32, int64_t, sum_load_be32, 4)
BODY_SUM(body_sum_be16, int32_t, sum_load_be16, 2)

static void body_invert_be32(void *dst, const uint32_t *src, size_t count)
{
	run_swap(dst, (const uint8_t *)src, count, 0xffffffffu);
}

static void body_uninvert_be32(uint32_t *dst, const void *src, size_t count)
{
	run_swap((uint8_t *)dst, src, count, 0xffffffffu);
}

/*
 * Division by multiplication: factor = ceil(2^shift / divisor) with shift = 31 + ceil(log2
 * divisor) is below 2^32 for divisors up to QUANT_WORLD_MAX and too large by less than 1, so that
 * mag * factor >> shift is exact for mag <= 2^31.
 */
static void run_divide(uint8_t *restrict dst, const uint8_t *restrict src, size_t count,
		       uint32_t divisor)
{
	uint32_t shift = 31u + (uint32_t)qm_log2_ceil(divisor);
	uint32_t factor = (uint32_t)(((1ull << shift) + divisor - 1u) / divisor);

	for (size_t i = 0; i < count; i++) {
		uint32_t sum = qm_be32(qm_load32(src + 4 * i));
		uint32_t sign = 0u - (sum >> 31);
		uint32_t mag = (sum ^ sign) - sign;
		uint32_t quotient = (uint32_t)((uint64_t)mag * factor >> shift);

		qm_store32(dst + 4 * i, (quotient ^ sign) - sign);
	}
}

static void body_average_i32(int32_t *dst, const void *src, size_t count, uint32_t divisor)
{
	run_divide((uint8_t *)dst, src, count, divisor);
}

#define BODY_OPS(isa)                                                                                \
	{                                                                                            \
		.name = (isa),                                                                     \
		.floats = {                                                                        \
			[QUANT_F32] = QUANT_FLOAT(body_f32),                                       \
			[QUANT_F16] = QUANT_FLOAT(body_f16),                                       \
			[QUANT_BF16] = QUANT_FLOAT(body_bf16),                                     \
		},                                                                                 \
		.store_be32 = body_store_be32,                                                     \
		.load_be32 = body_load_be32,                                                       \
		.invert_be32 = body_invert_be32,                                                   \
		.uninvert_be32 = body_uninvert_be32,                                               \
		.sum_be32 = body_sum_be32,                                                         \
		.sum_be16 = body_sum_be16,                                                         \
		.average_i32 = body_average_i32, \
	}

#endif
