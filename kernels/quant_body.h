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

#include "kernels/quant_vec.h"

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

/* --- Rows: two registers ------------------------------------------------------------- */

/* Bytes of an element, there and here. */
struct sizes {
	size_t dst;
	size_t src;
};

/* What a loop keeps in registers. The first three are constants, once inlined. */
struct vec {
	struct sizes size;
	enum quant_dtype dtype;
	enum quant_wire wire;
	float scale;
	bool divides;
	struct vec_divisor divisor;
	int32_t limit;	  /* of int16 */
	uint32_t reverse; /* of an order: all ones */
	vec_u32 least;	  /* of all int32 made */
};

typedef void (*row_fn)(void *dst, const void *src, struct vec *vec);

VEC_FN size_t dtype_size(enum quant_dtype dtype)
{
	return dtype == QUANT_F32 ? 4 : 2;
}

VEC_FN size_t wire_size(enum quant_wire wire)
{
	return wire == QUANT_WIRE_32 ? 4 : 2;
}

/*
 * Memory of any alignment, a row at a time; the last one overlaps the one before, and what is
 * shorter than a row goes through a padded copy.
 */
VEC_FN void body_rows(row_fn row, void *dst, const void *src, size_t count, struct vec *vec)
{
	const struct sizes size = vec->size;
	uint8_t *to = dst;
	const uint8_t *from = src;
	size_t i = 0;

	/* At most a block, the compiler knows, and would lay each row of it out: 25 % more code. */
	__asm__("" : "+r"(count));
	if (count < VEC_PAIR) {
		uint8_t in[VEC_PAIR * 4] = { 0 };
		uint8_t out[VEC_PAIR * 4];

		memcpy(in, from, size.src * count);
		row(out, in, vec);
		memcpy(to, out, size.dst * count);
		return;
	}
	for (; i + VEC_PAIR <= count; i += VEC_PAIR)
		row(to + size.dst * i, from + size.src * i, vec);
	if (i < count) {
		i = count - VEC_PAIR;
		row(to + size.dst * i, from + size.src * i, vec);
	}
}

VEC_FN struct pair pair_load(const void *src)
{
	struct pair words = { vec_load(src), vec_load((const char *)src + VEC_BYTES) };

	return words;
}

VEC_FN void pair_store(void *dst, struct pair words)
{
	vec_store(dst, words.low);
	vec_store((char *)dst + VEC_BYTES, words.high);
}

/* Floats of the user's memory, widened. */
VEC_FN struct pair pair_load_float(enum quant_dtype dtype, const void *src)
{
	if (dtype == QUANT_F32)
		return pair_load(src);
	if (dtype == QUANT_F16)
		return pair_load_half(src);
	return pair_load_upper(src);
}

/* Floats narrowed into the user's memory, ties to even. The only NaN is QM_NAN. */
VEC_FN void pair_store_float(enum quant_dtype dtype, void *dst, struct pair x)
{
	if (dtype == QUANT_F32) {
		pair_store(dst, x);
	} else if (dtype == QUANT_F16) {
		pair_store_half(dst, x);
	} else {
		x.low = vec_round_upper(x.low);
		x.high = vec_round_upper(x.high);
		pair_store_upper(dst, x);
	}
}

/* Words with QM_NAN where bits are a NaN's. */
VEC_FN vec_u32 vec_or_nan(vec_u32 words, vec_u32 bits)
{
	vec_u32 nan = (vec_u32)((vec_i32)(bits & 0x7fffffffu) > (int32_t)QM_INF);

	return (words & ~nan) | (nan & QM_NAN);
}

VEC_FN void row_quantize(void *dst, const void *src, struct vec *vec)
{
	const bool mixed = vec->dtype == QUANT_BF16 && vec->wire == QUANT_WIRE_16;
	struct pair x = mixed ? pair_load_upper_mixed(src) : pair_load_float(vec->dtype, src);
	struct pair q = { vec_quantize(x.low, vec->scale), vec_quantize(x.high, vec->scale) };

	vec->least = vec_min(vec->least, vec_min(q.low, q.high));
	if (vec->wire == QUANT_WIRE_16) {
		pair_store_be16(dst, q, vec->limit, mixed);
		return;
	}
	vec_store(dst, vec_swap(q.low));
	vec_store((char *)dst + VEC_BYTES, vec_swap(q.high));
}

/*
 * To 16 bits it has to be rounded once. What the float32 in between cannot hold of a sum of 32
 * bits, or of that divided by up to DIVISOR_NARROW_MAX, is told by its lowest bit: it is on the
 * right side of each point where the second rounding turns. Sums of 16 bits it holds.
 */
VEC_FN vec_u32 vec_result(vec_u32 sum, const struct vec *vec)
{
	vec_u32 x;

	if (vec->wire == QUANT_WIRE_32 && vec->dtype == QUANT_F32 && vec->divides)
		return vec_multiply(vec_average(sum, &vec->divisor), vec->scale);
	if (vec->wire == QUANT_WIRE_32 && vec->dtype != QUANT_F32)
		x = vec_float_odd(sum);
	else
		x = vec_float(sum);
	if (vec->divides)
		x = vec_divide(x, &vec->divisor);
	return vec_multiply(x, vec->scale);
}

/* Both of 16 bits, in one register: every other one by turns, which needs no moves. */
VEC_FN void row_dequantize_bf16(void *dst, const void *src, struct vec *vec)
{
	vec_u32 words = vec_swap(vec_load(src));
	vec_u32 even = vec_result((vec_u32)((vec_i32)words >> 16), vec);
	vec_u32 odd = vec_result((vec_u32)((vec_i32)(words << 16) >> 16), vec);

	vec_store(dst, vec_round_upper(even) >> 16 | (vec_round_upper(odd) & 0xffff0000u));
}

VEC_FN void row_dequantize(void *dst, const void *src, struct vec *vec)
{
	struct pair sum;

	if (vec->dtype == QUANT_BF16 && vec->wire == QUANT_WIRE_16) {
		row_dequantize_bf16(dst, src, vec);
		return;
	}
	if (vec->wire == QUANT_WIRE_16) {
		sum = pair_load_be16(src);
	} else {
		sum = pair_load(src);
		sum.low = vec_swap(sum.low);
		sum.high = vec_swap(sum.high);
	}
	sum.low = vec_result(sum.low, vec);
	sum.high = vec_result(sum.high, vec);
	pair_store_float(vec->dtype, dst, sum);
}

VEC_FN vec_u32 vec_order(vec_u32 x, uint32_t reverse)
{
	vec_u32 key = x ^ ((vec_u32)((vec_i32)x >> 31) >> 1) ^ reverse;

	return vec_swap(vec_or_nan(key, x));
}

VEC_FN void row_order(void *dst, const void *src, struct vec *vec)
{
	struct pair x = pair_load_float(vec->dtype, src);

	vec_store(dst, vec_order(x.low, vec->reverse));
	vec_store((char *)dst + VEC_BYTES, vec_order(x.high, vec->reverse));
}

VEC_FN vec_u32 vec_unorder(vec_u32 key, uint32_t reverse)
{
	vec_u32 plain = vec_swap(key) ^ reverse;
	vec_u32 x = plain ^ ((vec_u32)((vec_i32)plain >> 31) >> 1);

	return vec_or_nan(x, x);
}

VEC_FN void row_unorder(void *dst, const void *src, struct vec *vec)
{
	struct pair x = pair_load(src);

	x.low = vec_unorder(x.low, vec->reverse);
	x.high = vec_unorder(x.high, vec->reverse);
	pair_store_float(vec->dtype, dst, x);
}

VEC_FN struct pair pair_multiply(struct pair x, float factor)
{
	x.low = vec_multiply(x.low, factor);
	x.high = vec_multiply(x.high, factor);
	x.low = vec_or_nan(x.low, x.low);
	x.high = vec_or_nan(x.high, x.high);
	return x;
}

VEC_FN void row_widen(void *dst, const void *src, struct vec *vec)
{
	pair_store(dst, pair_multiply(pair_load_float(vec->dtype, src), vec->scale));
}

VEC_FN void row_narrow(void *dst, const void *src, struct vec *vec)
{
	pair_store_float(vec->dtype, dst, pair_multiply(pair_load(src), vec->scale));
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

static inline double body_pow2(int k)
{
	uint64_t bits = (uint64_t)(k + 1023) << 52;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* A run: the elements of one block. */
struct run {
	void *dst;
	const void *src;
	struct quant_chunk chunk; /* of the run alone */
	uint8_t exp;
	int k;
};

VEC_FN struct run run_at(const struct quant_chunk *chunk, enum quant_wire wire, size_t done)
{
	struct run run = {
		.chunk = {
			.exp = chunk->exp + (chunk->phase + done) / QUANT_BLOCK,
			.phase = (uint32_t)((chunk->phase + done) % QUANT_BLOCK),
			.world = chunk->world,
			.count = quant_run(chunk, done),
		},
		.exp = quant_exp(chunk, done),
	};

	run.k = wire == QUANT_WIRE_32 ? qm_shift(run.exp, chunk->world)
				      : qm_shift16(run.exp, chunk->world);
	return run;
}

static bool memory_is_zero(const uint8_t *src, size_t bytes)
{
	uint8_t any = 0;

	for (size_t i = 0; i < bytes; i++)
		any |= src[i];
	return !any;
}

/* Blocks near the subnormals: zeros are common there, other values are not. And lies. */
RUN_FN void run_quantize_rare(enum quant_dtype dtype, enum quant_wire wire, const struct run *run)
{
	if (block_largest(dtype, run->src, run->chunk.count) == 0)
		memset(run->dst, 0, wire_size(wire) * run->chunk.count);
	else
		quant_ops_scalar.floats[dtype].quantize[wire](run->dst, run->src, &run->chunk);
}

VEC_FN void run_quantize(enum quant_dtype dtype, enum quant_wire wire, const struct run *run)
{
	struct vec vec = {
		.size = { wire_size(wire), dtype_size(dtype) },
		.dtype = dtype,
		.wire = wire,
		.scale = (float)body_pow2(run->k),
		.limit = wire == QUANT_WIRE_16 ? qm_limit16(run->chunk.world) : 0,
	};

	body_rows(row_quantize, run->dst, run->src, run->chunk.count, &vec);
	if (vec_beyond(vec.least))
		run_quantize_rare(dtype, wire, run);
}

VEC_FN void body_quantize(enum quant_dtype dtype, enum quant_wire wire, void *dst, const void *src,
			  const struct quant_chunk *chunk)
{
	struct run run;

	for (size_t done = 0; done < chunk->count; done += run.chunk.count) {
		run = run_at(chunk, wire, done);
		run.dst = (char *)dst + wire_size(wire) * done;
		run.src = (const char *)src + dtype_size(dtype) * done;
		if (run.exp == QM_EXP_NONFINITE)
			memset(run.dst, 0, wire_size(wire) * run.chunk.count);
		else if (run.k > QM_SHIFT_FLOAT_MAX)
			run_quantize_rare(dtype, wire, &run);
		else
			run_quantize(dtype, wire, &run);
	}
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

/* Whether a result could be subnormal as float32, an average overflow, or be rounded twice. */
VEC_FN bool ratio_is_rare(const struct ratio *ratio, enum quant_dtype dtype, enum quant_wire wire,
			  int k)
{
	const int most = dtype == QUANT_F16 ? 15 : 127;
	const int top = (wire == QUANT_WIRE_32 ? 31 : 15) - k - ratio->log2 + ratio->divides;

	return k + ratio->log2 > QM_SHIFT_FLOAT_MAX || (ratio->divisor > 1 && top > most) ||
	       (ratio->divides && dtype != QUANT_F32 && ratio->divisor > DIVISOR_NARROW_MAX);
}

RUN_FN void run_dequantize_rare(enum quant_dtype dtype, enum quant_wire wire, const struct run *run,
				uint32_t divisor)
{
	if (memory_is_zero(run->src, wire_size(wire) * run->chunk.count))
		memset(run->dst, 0, dtype_size(dtype) * run->chunk.count);
	else
		quant_ops_scalar.floats[dtype].dequantize[wire](run->dst, run->src, &run->chunk,
								divisor);
}

VEC_FN void run_dequantize(enum quant_dtype dtype, enum quant_wire wire, const struct run *run,
			   const struct ratio *ratio)
{
	struct vec vec = {
		.size = { dtype_size(dtype), wire_size(wire) },
		.dtype = dtype,
		.wire = wire,
	};

	if (!ratio->divides) {
		vec.scale = (float)body_pow2(-run->k - ratio->log2);
		body_rows(row_dequantize, run->dst, run->src, run->chunk.count, &vec);
		return;
	}
	vec.divides = true;
	vec.scale = (float)body_pow2(-run->k);
	vec.divisor = ratio->by;
	body_rows(row_dequantize, run->dst, run->src, run->chunk.count, &vec);
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

VEC_FN uint64_t body_dequantize(enum quant_dtype dtype, enum quant_wire wire, void *dst,
				const void *src, const struct quant_chunk *chunk, uint32_t divisor)
{
	const struct ratio ratio = ratio_of(divisor);
	uint64_t nonfinite = 0;
	struct run run;

	for (size_t done = 0; done < chunk->count; done += run.chunk.count) {
		run = run_at(chunk, wire, done);
		run.dst = (char *)dst + dtype_size(dtype) * done;
		run.src = (const char *)src + wire_size(wire) * done;
		if (run.exp == QM_EXP_NONFINITE) {
			run_fill_nan(dtype, run.dst, run.chunk.count);
			nonfinite += run.chunk.count;
		} else if (ratio_is_rare(&ratio, dtype, wire, run.k)) {
			run_dequantize_rare(dtype, wire, &run, divisor);
		} else {
			run_dequantize(dtype, wire, &run, &ratio);
		}
	}
	return nonfinite;
}

/* --- Each format, each width: a run that stays in the mode, and the function that sets it  */

#define BODY_WIRE(n, kind, w, width)                                                               \
	RUN_FN void n##_run_quantize##w(void *dst, const void *src,                                \
					const struct quant_chunk *chunk)                           \
	{                                                                                          \
		body_quantize(kind, width, dst, src, chunk);                                       \
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
		return body_dequantize(kind, width, dst, src, chunk, divisor);                     \
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

static void body_sum_be32(uint32_t sums[2], const void *src, size_t count)
{
	const uint8_t *from = src;
	uint32_t sum = 0, weighted = 0;

	for (uint32_t i = 0; i < (uint32_t)count; i++) {
		uint32_t word = qm_be32(qm_load32(from + 4 * (size_t)i));

		sum += word;
		weighted += i * word;
	}
	sums[0] = sum;
	sums[1] = weighted;
}

static void body_sum_be16(uint32_t sums[2], const void *src, size_t count)
{
	const uint8_t *from = src;
	uint32_t sum = 0, weighted = 0;

	for (uint32_t i = 0; i < (uint32_t)count; i++) {
		uint32_t word = qm_be16(qm_load16(from + 2 * (size_t)i));

		word = (uint32_t)(int32_t)(int16_t)word;
		sum += word;
		weighted += i * word;
	}
	sums[0] = sum;
	sums[1] = weighted;
}

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
