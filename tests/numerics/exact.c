// SPDX-License-Identifier: BSD-3-Clause
// exact.c - the quantiser anew: as docs/numerics.md says it, in long double, one element at a time.
#include "tests/numerics/exact.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define NAN_KEY 0x7fc00000u

static const struct format {
	int mant, exp_bits, bytes;
} formats[] = {
	[QUANT_F32] = { 23, 8, 4 },
	[QUANT_F16] = { 10, 5, 2 },
	[QUANT_BF16] = { 7, 8, 2 },
};

/* --- Bytes ---------------------------------------------------------------------------------------- */

static uint32_t host_load(const void *src, int bytes, size_t i)
{
	const unsigned char *at = (const unsigned char *)src + (size_t)bytes * i;
	uint32_t word = 0;
	uint16_t half;

	if (bytes == 4) {
		memcpy(&word, at, 4);
		return word;
	}
	memcpy(&half, at, 2);
	return half;
}

static void host_store(void *dst, int bytes, size_t i, uint32_t word)
{
	unsigned char *at = (unsigned char *)dst + (size_t)bytes * i;
	uint16_t half = (uint16_t)word;

	if (bytes == 4)
		memcpy(at, &word, 4);
	else
		memcpy(at, &half, 2);
}

static int32_t wire_load(const void *src, int bytes, size_t i)
{
	const unsigned char *at = (const unsigned char *)src + (size_t)bytes * i;
	uint32_t word = 0;

	for (int b = 0; b < bytes; b++)
		word = word << 8 | at[b];
	return bytes == 2 ? (int16_t)word : (int32_t)word;
}

static void wire_store(void *dst, int bytes, size_t i, uint32_t word)
{
	unsigned char *at = (unsigned char *)dst + (size_t)bytes * i;

	for (int b = 0; b < bytes; b++)
		at[b] = (unsigned char)(word >> 8 * (bytes - 1 - b));
}

/* --- Formats ------------------------------------------------------------------------------------- */

static int format_bias(const struct format *format)
{
	return (1 << (format->exp_bits - 1)) - 1;
}

long double exact_decode(enum quant_dtype dtype, uint32_t bits)
{
	const struct format *format = &formats[dtype];
	uint32_t infinite = (1u << format->exp_bits) - 1;
	uint32_t exp = bits >> format->mant & infinite, frac = bits & ((1u << format->mant) - 1);
	bool negative = bits >> (format->mant + format->exp_bits) & 1;
	long double value;

	if (exp == infinite)
		value = frac ? (long double)NAN : (long double)INFINITY;
	else if (exp == 0)
		value = ldexpl(frac, 1 - format_bias(format) - format->mant);
	else
		value = ldexpl(frac + (1u << format->mant),
			       (int)exp - format_bias(format) - format->mant);
	return negative ? -value : value;
}

uint32_t exact_encode(enum quant_dtype dtype, long double value)
{
	const struct format *format = &formats[dtype];
	const uint32_t infinite = ((1u << format->exp_bits) - 1) << format->mant;
	uint32_t sign = signbit(value) ? 1u << (format->mant + format->exp_bits) : 0;
	int exp, least = 1 - format_bias(format);
	uint32_t units;

	if (isnan(value))
		return infinite | 1u << (format->mant - 1);
	if (isinf(value))
		return sign | infinite;
	if (value == 0)
		return sign;
	exp = ilogbl(value) > least ? ilogbl(value) : least;
	units = (uint32_t)rintl(ldexpl(fabsl(value), format->mant - exp));
	if (units == 2u << format->mant) {
		units >>= 1;
		exp++;
	}
	if (exp > format_bias(format))
		return sign | infinite;
	if (units < 1u << format->mant)
		return sign | units;
	units -= 1u << format->mant;
	return sign | (uint32_t)(exp + format_bias(format)) << format->mant | units;
}

/* --- Sums ---------------------------------------------------------------------------------------- */

static int shift_of(const struct quant_chunk *chunk, size_t i, enum quant_wire wire,
		    bool *nonfinite)
{
	int exp = chunk->exp[(chunk->phase + i) / 256], log2 = 0;

	*nonfinite = exp == 255;
	while ((UINT64_C(1) << log2) < chunk->world)
		log2++;
	exp = exp ? exp : 1;
	return wire == QUANT_WIRE_16 ? 141 - exp - log2 : 157 - exp - log2 - (chunk->world >= 256);
}

static int biased_exponent(long double value)
{
	if (!isfinite(value))
		return 255;
	return value == 0 || ilogbl(value) < -126 ? 0 : ilogbl(value) + 127;
}

static uint64_t exact_scan(enum quant_dtype dtype, uint8_t *exp, const void *src, size_t count)
{
	uint64_t nonfinite = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t bits = host_load(src, formats[dtype].bytes, i);
		int own = biased_exponent(exact_decode(dtype, bits));

		nonfinite += own == 255;
		if (i % 256 == 0 || own > exp[i / 256])
			exp[i / 256] = (uint8_t)own;
	}
	return nonfinite;
}

static void exact_quantize(enum quant_dtype dtype, enum quant_wire wire, void *dst, const void *src,
			   const struct quant_chunk *chunk)
{
	const long double limit = wire == QUANT_WIRE_16 ? 32767 / chunk->world : 2147483647;
	bool nonfinite;

	for (size_t i = 0; i < chunk->count; i++) {
		int k = shift_of(chunk, i, wire, &nonfinite);
		uint32_t bits = host_load(src, formats[dtype].bytes, i);
		long double value = exact_decode(dtype, bits), q = limit;

		if (!isnan(value))
			q = fminl(rintl(ldexpl(fabsl(value), k)), limit);
		if (signbit(value))
			q = -q;
		wire_store(dst, wire == QUANT_WIRE_16 ? 2 : 4, i,
			   nonfinite ? 0 : (uint32_t)(int32_t)q);
	}
}

/*
 * The quotient has 64 bits: a sum over a divisor below 2^16 that is no tie of a format is further than
 * 2^-41 of itself from one, so that it is rounded as the exact quotient would be.
 */
static uint64_t exact_dequantize(enum quant_dtype dtype, enum quant_wire wire, void *dst,
				 const void *src, const struct quant_chunk *chunk, uint32_t divisor)
{
	uint64_t count = 0;
	bool nonfinite;

	for (size_t i = 0; i < chunk->count; i++) {
		int k = shift_of(chunk, i, wire, &nonfinite);
		long double sum = wire_load(src, wire == QUANT_WIRE_16 ? 2 : 4, i);
		uint32_t bits = exact_encode(dtype, ldexpl(sum / divisor, -k));

		if (divisor > 1 && isinf(exact_decode(dtype, bits)))
			bits--;
		if (nonfinite)
			bits = exact_encode(dtype, NAN);
		count += nonfinite;
		host_store(dst, formats[dtype].bytes, i, bits);
	}
	return count;
}

/* --- Maximum, minimum, factors ------------------------------------------------------------------- */

static void exact_order(enum quant_dtype dtype, void *dst, const void *src, size_t count,
			int negate)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t bits = host_load(src, formats[dtype].bytes, i);
		long double value = exact_decode(dtype, bits);
		uint32_t wide = exact_encode(QUANT_F32, fabsl(value));
		int64_t key = signbit(value) ? -1 - (int64_t)wide : wide;

		if (negate)
			key = -1 - key;
		wire_store(dst, 4, i, isnan(value) ? NAN_KEY : (uint32_t)(uint64_t)key);
	}
}

static void exact_unorder(enum quant_dtype dtype, void *dst, const void *src, size_t count,
			  int negate)
{
	for (size_t i = 0; i < count; i++) {
		int64_t key = wire_load(src, 4, i);
		long double value;

		if (negate)
			key = -1 - key;
		value = exact_decode(QUANT_F32, (uint32_t)(key < 0 ? -1 - key : key));
		host_store(dst, formats[dtype].bytes, i,
			   exact_encode(dtype, key < 0 && !isnan(value) ? -value : value));
	}
}

/* The float32 product: exact in long double, so rounded once. A NaN has no sign. */
static long double product(long double value, float factor)
{
	long double exact = value * (long double)factor;

	return isnan(exact) ? (long double)NAN
			    : exact_decode(QUANT_F32, exact_encode(QUANT_F32, exact));
}

static void exact_widen(enum quant_dtype dtype, float *dst, const void *src, size_t count,
			float factor)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t bits = host_load(src, formats[dtype].bytes, i);

		host_store(dst, 4, i,
			   exact_encode(QUANT_F32, product(exact_decode(dtype, bits), factor)));
	}
}

static void exact_narrow(enum quant_dtype dtype, void *dst, const float *src, size_t count,
			 float factor)
{
	for (size_t i = 0; i < count; i++) {
		long double value = exact_decode(QUANT_F32, host_load(src, 4, i));

		host_store(dst, formats[dtype].bytes, i,
			   exact_encode(dtype, product(value, factor)));
	}
}

/* --- Integers ------------------------------------------------------------------------------------ */

static void exact_store(void *dst, const uint32_t *src, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_store(dst, 4, i, host_load(src, 4, i));
}

static void exact_load(uint32_t *dst, const void *src, size_t count)
{
	for (size_t i = 0; i < count; i++)
		host_store(dst, 4, i, (uint32_t)wire_load(src, 4, i));
}

static void exact_invert(void *dst, const uint32_t *src, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_store(dst, 4, i, 0xffffffffu - host_load(src, 4, i));
}

static void exact_uninvert(uint32_t *dst, const void *src, size_t count)
{
	for (size_t i = 0; i < count; i++)
		host_store(dst, 4, i, 0xffffffffu - (uint32_t)wire_load(src, 4, i));
}

static void sum_words(uint64_t sums[2], const void *src, size_t count, int bytes)
{
	__extension__ __int128 plain = 0, weighted = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t word = wire_load(src, bytes, i);

		plain += word;
		weighted += (__int128)word * (int64_t)i;
	}
	sums[0] = (uint64_t)plain;
	sums[1] = (uint64_t)weighted;
}

static void exact_sum32(uint64_t sums[2], const void *src, size_t count)
{
	sum_words(sums, src, count, 4);
}

static void exact_sum16(uint64_t sums[2], const void *src, size_t count)
{
	sum_words(sums, src, count, 2);
}

static void exact_average(int32_t *dst, const void *src, size_t count, uint32_t divisor)
{
	for (size_t i = 0; i < count; i++) {
		int64_t sum = wire_load(src, 4, i);
		int64_t mag = (sum < 0 ? -sum : sum) / divisor;

		host_store(dst, 4, i, (uint32_t)(uint64_t)(sum < 0 ? -mag : mag));
	}
}

/* --- The table ----------------------------------------------------------------------------------- */

#define EXACT(name, dtype)                                                                         \
	static uint64_t name##_scan(uint8_t *exp, const void *src, size_t count)                   \
	{                                                                                          \
		return exact_scan(dtype, exp, src, count);                                         \
	}                                                                                          \
	static void name##_quantize32(void *dst, const void *src, const struct quant_chunk *chunk) \
	{                                                                                          \
		exact_quantize(dtype, QUANT_WIRE_32, dst, src, chunk);                             \
	}                                                                                          \
	static void name##_quantize16(void *dst, const void *src, const struct quant_chunk *chunk) \
	{                                                                                          \
		exact_quantize(dtype, QUANT_WIRE_16, dst, src, chunk);                             \
	}                                                                                          \
	static uint64_t name##_dequantize32(void *dst, const void *src,                            \
					    const struct quant_chunk *chunk, uint32_t divisor)     \
	{                                                                                          \
		return exact_dequantize(dtype, QUANT_WIRE_32, dst, src, chunk, divisor);           \
	}                                                                                          \
	static uint64_t name##_dequantize16(void *dst, const void *src,                            \
					    const struct quant_chunk *chunk, uint32_t divisor)     \
	{                                                                                          \
		return exact_dequantize(dtype, QUANT_WIRE_16, dst, src, chunk, divisor);           \
	}                                                                                          \
	static void name##_order(void *dst, const void *src, size_t count, int negate)             \
	{                                                                                          \
		exact_order(dtype, dst, src, count, negate);                                       \
	}                                                                                          \
	static void name##_unorder(void *dst, const void *src, size_t count, int negate)           \
	{                                                                                          \
		exact_unorder(dtype, dst, src, count, negate);                                     \
	}                                                                                          \
	static void name##_widen(float *dst, const void *src, size_t count, float factor)          \
	{                                                                                          \
		exact_widen(dtype, dst, src, count, factor);                                       \
	}                                                                                          \
	static void name##_narrow(void *dst, const float *src, size_t count, float factor)         \
	{                                                                                          \
		exact_narrow(dtype, dst, src, count, factor);                                      \
	}

#define EXACT_FLOAT(name)                                                                          \
	{                                                                                          \
		.scan = name##_scan, .quantize = { name##_quantize32, name##_quantize16 },         \
		.dequantize = { name##_dequantize32, name##_dequantize16 }, .order = name##_order, \
		.unorder = name##_unorder, .widen = name##_widen, .narrow = name##_narrow,         \
	}

EXACT(f32, QUANT_F32)
EXACT(f16, QUANT_F16)
EXACT(bf16, QUANT_BF16)

const struct quant_ops exact_ops = {
	.name = "long double",
	.floats = {
		[QUANT_F32] = EXACT_FLOAT(f32),
		[QUANT_F16] = EXACT_FLOAT(f16),
		[QUANT_BF16] = EXACT_FLOAT(bf16),
	},
	.store_be32 = exact_store,
	.load_be32 = exact_load,
	.invert_be32 = exact_invert,
	.uninvert_be32 = exact_uninvert,
	.sum_be32 = exact_sum32,
	.sum_be16 = exact_sum16,
	.average_i32 = exact_average,
};
