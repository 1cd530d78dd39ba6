// SPDX-License-Identifier: BSD-3-Clause
// Tests of the quantiser's 16-bit formats and words, in each table: against values, not bits.
#include "kernels/quant.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/quant_piece.h"

#define ALL 65536 /* numbers of 16 bits */

static const enum quant_dtype halves[] = { QUANT_F16, QUANT_BF16 };

static const struct quant_ops *table(size_t t)
{
	static const char *const names[] = { "scalar", "avx2", "avx512", "avx512fp16" };

	return quant_select(names[t]);
}
#define NR_TABLES 4

/* ---- the naive side: a format is a number of values, rounding picks the nearest ---- */

struct format {
	int mant;  /* bits after the point */
	int least; /* exponent of the smallest normal number */
	int most;  /* of the largest */
	uint32_t nan;
};

static const struct format formats[] = {
	[QUANT_F32] = { 23, -126, 127, 0x7fc00000u },
	[QUANT_F16] = { 10, -14, 15, 0x7e00u },
	[QUANT_BF16] = { 7, -126, 127, 0x7fc0u },
};

static uint32_t format_sign(const struct format *f)
{
	uint32_t infinite = (uint32_t)(f->most - f->least + 2) << f->mant;

	return infinite + (1u << f->mant);
}

static uint32_t format_infinite(const struct format *f)
{
	return (uint32_t)(f->most - f->least + 2) << f->mant;
}

static long double naive_value(enum quant_dtype dtype, uint32_t bits)
{
	const struct format *f = &formats[dtype];
	uint32_t mag = bits & (format_sign(f) - 1);
	int exp = (int)(mag >> f->mant);
	long double mant = mag & ((1u << f->mant) - 1);
	long double value = exp ? ldexpl(ldexpl(1, f->mant) + mant, f->least + exp - 1 - f->mant)
				: ldexpl(mant, f->least - f->mant);

	if (mag >= format_infinite(f))
		value = mag == format_infinite(f) ? INFINITY : NAN;
	return bits & format_sign(f) ? -value : value;
}

/* Bits of the nearest number, ties to the even one: those of value / unit, a whole number then. */
static uint32_t naive_bits(enum quant_dtype dtype, long double value)
{
	const struct format *f = &formats[dtype];
	uint32_t sign = signbit(value) ? format_sign(f) : 0;
	long double units;
	int exp;

	if (isnan(value))
		return f->nan;
	value = fabsl(value);
	if (isinf(value))
		return sign | format_infinite(f);
	frexpl(value, &exp);
	exp--;
	if (value == 0 || exp < f->least)
		exp = f->least;
	if (exp > f->most)
		return sign | format_infinite(f);
	units = rintl(ldexpl(value, f->mant - exp));
	if (units >= ldexpl(1, f->mant + 1) && exp == f->most)
		return sign | format_infinite(f);
	return sign | (((uint32_t)(exp - f->least) << f->mant) + (uint32_t)units);
}

static int naive_shift(enum quant_wire wire, unsigned exp, uint32_t world)
{
	int log2 = 0;

	while ((1ull << log2) < world)
		log2++;
	exp = exp ? exp : 1;
	if (wire == QUANT_WIRE_16)
		return 141 - (int)exp - log2;
	return 157 - (int)exp - log2 - (world >= 256);
}

static int32_t naive_quantize(enum quant_wire wire, long double value, unsigned exp, uint32_t world)
{
	int32_t limit = wire == QUANT_WIRE_16 ? 32767 / (int32_t)world : INT32_MAX;
	long double q = isnan(value) ? INFINITY : fabsl(value);

	if (exp == 255)
		return 0;
	q = rintl(ldexpl(q, naive_shift(wire, exp, world)));
	q = q > limit ? limit : q;
	return (int32_t)(signbit(value) ? -q : q);
}

static uint32_t naive_dequantize(enum quant_dtype dtype, int32_t sum, int k, uint32_t divisor)
{
	const struct format *f = &formats[dtype];
	uint32_t bits = naive_bits(dtype, ldexpl((long double)sum / divisor, -k));

	if (divisor > 1 && (bits & (format_sign(f) - 1)) == format_infinite(f))
		bits--;
	return bits;
}

/* ---- memory of elements ---- */

static uint32_t element_get(enum quant_dtype dtype, const void *base, size_t i)
{
	return dtype == QUANT_F32 ? host_get(base, i) : host_get16(base, i);
}

static int32_t word_get(enum quant_wire wire, const void *base, size_t i)
{
	if (wire == QUANT_WIRE_32)
		return (int32_t)wire_get(base, i);
	return (int16_t)wire_get16(base, i);
}

/* Every number of 16 bits in turn, for every format of 16 bits. */
static const uint8_t *all_halves(void)
{
	static uint8_t all[2 * ALL];

	for (uint32_t i = 0; i < ALL; i++)
		host_put16(all, i, i);
	return all;
}

/* ---- widen and narrow ---- */

static void widen__every_half(void **state)
{
	static const float factors[] = { 1.0f, -0.3f, 3e38f, 1e-30f };
	static float got[ALL];

	(void)state;
	for (size_t d = 0; d < 2; d++) {
		for (size_t c = 0; c < NR_TABLES * 4; c++) {
			float factor = factors[c % 4];

			if (!table(c / 4))
				continue;
			table(c / 4)->floats[halves[d]].widen(got, all_halves(), ALL, factor);
			for (uint32_t i = 0; i < ALL; i++) {
				/* The product of 24 and 11 bits is exact in double. */
				double value = (double)naive_value(halves[d], i) * factor;
				uint32_t want = isnan(value) ? NAN_BITS : float_bits((float)value);

				assert_int_equal(float_bits(got[i]), want);
			}
		}
	}
}

/* Each half, the middle between it and the next one, and the floats beside both. */
static void narrow__every_half_and_what_lies_between(void **state)
{
	enum { EACH = 6 };
	static float src[EACH * ALL];
	static uint32_t want[EACH * ALL];
	static uint8_t got[2 * EACH * ALL];

	(void)state;
	for (size_t d = 0; d < 2; d++) {
		for (uint32_t i = 0; i < ALL; i++) {
			float value = (float)naive_value(halves[d], i);
			float next =
				(float)naive_value(halves[d], (i & 0x7fffu) == 0x7fffu ? i : i + 1);
			uint32_t bits = float_bits(value);
			uint32_t middle = bits + (float_bits(next) - bits) / 2;
			uint32_t at[EACH] = { bits,   bits - 1,	  bits + 1,
					      middle, middle - 1, middle + 1 };

			for (size_t e = 0; e < EACH; e++) {
				src[EACH * i + e] = bits_float(at[e]);
				want[EACH * i + e] = naive_bits(halves[d], bits_float(at[e]));
			}
		}
		for (size_t t = 0; t < NR_TABLES; t++) {
			if (!table(t))
				continue;
			table(t)->floats[halves[d]].narrow(got, src, EACH * ALL, 1.0f);
			for (size_t i = 0; i < EACH * ALL; i++)
				assert_int_equal(host_get16(got, i), want[i]);
		}
	}
}

/* Any float by any factor: the product is rounded to float32, then to the format. */
static void narrow__product_is_float32_first(void **state)
{
	enum { NR = 1000 };
	static float src[NR];
	static uint8_t got[4 * NR];

	(void)state;
	for (int round = 0; round < 300; round++) {
		enum quant_dtype dtype = (enum quant_dtype)(round % QUANT_DTYPES);
		float factor = bits_float(((uint32_t)rng() & 0x807fffffu) | rng_below(255) << 23);
		const struct quant_ops *ops = table((size_t)round / QUANT_DTYPES % NR_TABLES);

		for (size_t i = 0; i < NR; i++)
			src[i] = bits_float((uint32_t)rng() >> (rng_below(8) ? 0 : 9));
		if (!ops)
			continue;
		ops->floats[dtype].narrow(got, src, NR, factor);
		for (size_t i = 0; i < NR; i++) {
			float product = (float)((double)src[i] * factor);

			assert_int_equal(element_get(dtype, got, i), naive_bits(dtype, product));
		}
		if (dtype != QUANT_F32)
			continue;
		ops->floats[dtype].widen((void *)got, src, NR, factor);
		for (size_t i = 0; i < NR; i++) {
			float product = (float)((double)src[i] * factor);

			assert_int_equal(host_get(got, i), naive_bits(dtype, product));
		}
	}
}

/* ---- scan ---- */

static unsigned naive_exp(long double value)
{
	int exp;

	if (!isfinite(value))
		return 255;
	frexpl(value, &exp);
	return value == 0 || exp < -125 ? 0 : (unsigned)(exp + 126);
}

static void scan__every_half(void **state)
{
	const uint8_t *all = all_halves();
	uint8_t exp[ALL / QUANT_BLOCK];

	(void)state;
	for (size_t c = 0; c < 2 * NR_TABLES; c++) {
		enum quant_dtype dtype = halves[c % 2];
		uint64_t nonfinite = 0;

		if (!table(c / 2))
			continue;
		for (size_t i = 0; i < ALL; i++) {
			unsigned want = naive_exp(naive_value(dtype, (uint32_t)i));
			uint64_t bad = table(c / 2)->floats[dtype].scan(exp, all + 2 * i, 1);

			assert_int_equal(exp[0], want);
			assert_int_equal(bad, want == 255);
			nonfinite += bad;
		}
		assert_int_equal(table(c / 2)->floats[dtype].scan(exp, all, ALL), nonfinite);
		for (size_t b = 0; b < ALL / QUANT_BLOCK; b++) {
			unsigned want = 0, own;

			for (uint32_t i = 0; i < QUANT_BLOCK; i++) {
				own = naive_exp(
					naive_value(dtype, (uint32_t)(QUANT_BLOCK * b) + i));
				want = own > want ? own : want;
			}
			assert_int_equal(exp[b], want);
		}
	}
}

/* ---- order ---- */

static void order__every_half_there_and_back(void **state)
{
	static uint8_t wire[4 * ALL], back[2 * ALL];

	(void)state;
	for (size_t c = 0; c < 4 * NR_TABLES; c++) {
		enum quant_dtype dtype = halves[c % 2];
		int negate = (int)(c / 2 % 2);

		if (!table(c / 4))
			continue;
		table(c / 4)->floats[dtype].order(wire, all_halves(), ALL, negate);
		table(c / 4)->floats[dtype].unorder(back, wire, ALL, negate);
		for (uint32_t i = 0; i < ALL; i++) {
			long double value = naive_value(dtype, i);
			uint32_t bits = float_bits((float)value);
			int32_t key = (int32_t)(signbit(value) ? ~(bits & 0x7fffffffu) : bits);

			key = negate ? ~key : key;
			key = isnan(value) ? (int32_t)NAN_BITS : key;
			assert_int_equal((int32_t)wire_get(wire, i), key);
			assert_int_equal(host_get16(back, i),
					 isnan(value) ? formats[dtype].nan : i);
		}
	}
}

/* ---- quantize ---- */

static void quantize_every_half(enum quant_dtype dtype, enum quant_wire wire, unsigned exp,
				uint32_t world)
{
	static int32_t want[ALL];
	static uint8_t got[4 * ALL], exps[ALL / QUANT_BLOCK];
	struct quant_chunk chunk = { exps, 0, world, ALL };

	memset(exps, (int)exp, sizeof(exps));
	for (uint32_t i = 0; i < ALL; i++)
		want[i] = naive_quantize(wire, naive_value(dtype, i), exp, world);
	for (size_t t = 0; t < NR_TABLES; t++) {
		if (!table(t))
			continue;
		table(t)->floats[dtype].quantize[wire](got, all_halves(), &chunk);
		for (size_t i = 0; i < ALL; i++)
			assert_int_equal(word_get(wire, got, i), want[i]);
	}
}

static void quantize__every_half(void **state)
{
	static const uint8_t exps[2][4] = { { 104, 121, 142, 255 }, { 20, 127, 254, 0 } };
	static const uint32_t many[] = { 1, 6, 1024 };

	(void)state;
	for (size_t d = 0; d < 2; d++)
		for (size_t e = 0; e < 4; e++)
			for (size_t w = 0; w < 6; w++)
				quantize_every_half(halves[d],
						    w % 2 ? QUANT_WIRE_32 : QUANT_WIRE_16,
						    exps[d][e], many[w / 2]);
}

/* float32 too, at every exponent, on 16 bits. */
static void quantize16__equals_exact_arithmetic(void **state)
{
	static struct piece p;
	static uint8_t out[ROOM];

	(void)state;
	for (unsigned exp = 0; exp < 256; exp++) {
		for (size_t w = 0; w < NR_WORLDS - 1; w++) {
			piece_init(&p, exp, worlds[w]);
			p.chunk.count %= 300;
			piece_floats(&p, QUANT_F32);
			table(0)->floats[QUANT_F32].quantize[QUANT_WIRE_16](out + p.dst_at,
									    p.src + p.src_at,
									    &p.chunk);
			for (size_t i = 0; i < p.chunk.count; i++) {
				float value = bits_float(host_get(p.src + p.src_at, i));

				assert_int_equal(word_get(QUANT_WIRE_16, out + p.dst_at, i),
						 naive_quantize(QUANT_WIRE_16, value,
								piece_exp(&p, i), worlds[w]));
			}
		}
	}
}

/* What all ranks could send at most, of numbers of a block or not, never leaves 16 bits. */
static void quantize16__sums_of_every_world_fit(void **state)
{
	static const uint32_t tops[3][4] = {
		{ 0x3f7fffffu, 0xbf7fffffu, 0x7f7fffffu, 0xff800000u },
		{ 0x3bffu, 0xbbffu, 0x7bffu, 0xfc00u },
		{ 0x3f7fu, 0xbf7fu, 0x7f7fu, 0xff80u },
	};
	uint8_t exp = 126, src[16], out[8];

	(void)state;
	for (uint32_t world = 1; world <= QUANT_WORLD_MAX_16; world++) {
		struct quant_chunk chunk = { &exp, 0, world, 4 };

		for (size_t c = 0; c < QUANT_DTYPES * NR_TABLES; c++) {
			enum quant_dtype dtype = (enum quant_dtype)(c % QUANT_DTYPES);

			if (!table(c / QUANT_DTYPES))
				continue;
			for (size_t i = 0; i < 4; i++) {
				if (dtype == QUANT_F32)
					host_put(src, i, tops[dtype][i]);
				else
					host_put16(src, i, tops[dtype][i]);
			}
			table(c / QUANT_DTYPES)->floats[dtype].quantize[1](out, src, &chunk);
			for (size_t i = 0; i < 4; i++) {
				int32_t q = word_get(QUANT_WIRE_16, out, i);
				int32_t sum = q * (int32_t)world;

				assert_true(sum <= INT16_MAX && sum >= INT16_MIN);
				/* And the top is used: at least half of what 16 bits have. */
				assert_true(abs(sum) >= 16384 - (int32_t)world);
				assert_int_equal(q < 0, i % 2);
			}
		}
	}
}

/* ---- dequantize ---- */

static void piece_dequantized(const struct piece *p, enum quant_dtype dtype, enum quant_wire wire)
{
	static uint8_t out[ROOM];
	uint64_t nonfinite = 0, counted;

	counted = table(0)->floats[dtype].dequantize[wire](out + p->dst_at, p->src + p->src_at,
							   &p->chunk, p->divisor);
	for (size_t i = 0; i < p->chunk.count; i++) {
		unsigned exp = piece_exp(p, i);
		int32_t sum = word_get(wire, p->src + p->src_at, i);
		int k = naive_shift(wire, exp, p->chunk.world);
		uint32_t want = exp == 255 ? formats[dtype].nan
					   : naive_dequantize(dtype, sum, k, p->divisor);

		nonfinite += exp == 255;
		assert_int_equal(element_get(dtype, out + p->dst_at, i), want);
	}
	assert_int_equal(counted, nonfinite);
}

static void dequantize__each_format_rounds_once(void **state)
{
	static struct piece p;

	(void)state;
	for (unsigned exp = 0; exp < 256; exp++) {
		for (size_t c = 0; c < QUANT_DTYPES * QUANT_WIRES; c++) {
			enum quant_wire wire = (enum quant_wire)(c % QUANT_WIRES);

			piece_init(&p, exp, worlds[rng_below(NR_WORLDS - 1)]);
			p.chunk.count %= 300;
			piece_sums(&p, wire);
			piece_dequantized(&p, (enum quant_dtype)(c / QUANT_WIRES), wire);
		}
	}
}

/* Every sum of 16 bits, over the subnormals and the largest numbers of float16. */
static void dequantize__every_sum_of_16_bits(void **state)
{
	static const uint8_t exps[] = { 103, 113, 127, 142 };
	static const uint32_t divisors[] = { 1, 2, 7, 1000 };
	static uint8_t wire[2 * ALL], got[2 * ALL], block[ALL / QUANT_BLOCK];
	static uint32_t want[ALL];
	struct quant_chunk chunk = { block, 0, 7, ALL };

	(void)state;
	for (uint32_t i = 0; i < ALL; i++)
		wire_put16(wire, i, i);
	for (size_t c = 0; c < 32; c++) {
		enum quant_dtype dtype = halves[c % 2];
		uint32_t divisor = divisors[c / 2 % 4];
		unsigned exp = exps[c / 8];
		int k = naive_shift(QUANT_WIRE_16, exp, 7);

		memset(block, (int)exp, sizeof(block));
		for (uint32_t i = 0; i < ALL; i++)
			want[i] = naive_dequantize(dtype, (int16_t)i, k, divisor);
		for (size_t t = 0; t < NR_TABLES; t++) {
			if (!table(t))
				continue;
			table(t)->floats[dtype].dequantize[1](got, wire, &chunk, divisor);
			for (size_t i = 0; i < ALL; i++)
				assert_int_equal(host_get16(got, i), want[i]);
		}
	}
}

/* A sum just above, at, and just below the middle of two numbers: float32 would hide which. */
static void dequantize__float32_between_does_not_round(void **state)
{
	/* Of 12 bits and 9, the last is the middle; so far up that they need 31. */
	static const int32_t middles[] = { 0x801 << 19, 0x803 << 19, 0x101 << 22, 0x103 << 22 };
	uint8_t exp = 127, wire[12], got[6];
	struct quant_chunk chunk = { &exp, 0, 1, 3 };

	(void)state;
	for (size_t c = 0; c < NR_TABLES * 4; c++) {
		enum quant_dtype dtype = c % 4 < 2 ? QUANT_F16 : QUANT_BF16;
		int k = naive_shift(QUANT_WIRE_32, exp, 1);

		if (!table(c / 4))
			continue;
		for (int sign = -1; sign <= 1; sign += 2) {
			for (int i = 0; i < 3; i++)
				wire_put(wire, (size_t)i,
					 (uint32_t)(sign * (middles[c % 4] + i - 1)));
			table(c / 4)->floats[dtype].dequantize[0](got, wire, &chunk, 1);
			for (int i = 0; i < 3; i++)
				assert_int_equal(host_get16(got, (size_t)i),
						 naive_dequantize(dtype,
								  sign * (middles[c % 4] + i - 1),
								  k, 1));
			assert_int_not_equal(host_get16(got, 0), host_get16(got, 2));
		}
	}
}

/* Averages of the largest number are that number; sums are infinite. */
static void dequantize__average_never_overflows(void **state)
{
	static const uint32_t largest[] = { 0x7f7fffffu, 0x7bffu, 0x7f7fu };

	(void)state;
	for (size_t c = 0; c < NR_TABLES * QUANT_DTYPES; c++) {
		enum quant_dtype dtype = (enum quant_dtype)(c % QUANT_DTYPES);
		const struct quant_ops *ops = table(c / QUANT_DTYPES);

		for (uint32_t world = 1; ops && world <= 3000; world += world < 40 ? 1 : 97) {
			uint8_t src[4], wire[4], got[4], exp;
			struct quant_chunk chunk = { &exp, 0, world, 1 };

			host_put(src, 0, largest[dtype]);
			if (dtype != QUANT_F32)
				host_put16(src, 0, largest[dtype]);
			ops->floats[dtype].scan(&exp, src, 1);
			ops->floats[dtype].quantize[0](wire, src, &chunk);
			wire_put(wire, 0, world * wire_get(wire, 0));
			ops->floats[dtype].dequantize[0](got, wire, &chunk, world);
			assert_int_equal(element_get(dtype, got, 0), largest[dtype]);
			ops->floats[dtype].dequantize[0](got, wire, &chunk, 1);
			assert_int_equal(element_get(dtype, got, 0), largest[dtype] + (world > 1));
		}
	}
}

/* ---- sums of words ---- */

static void sum_be16__plain_and_weighted(void **state)
{
	uint8_t words[2 * 1000 + 3];

	(void)state;
	for (size_t i = 0; i < sizeof(words); i++)
		words[i] = (uint8_t)rng();
	for (size_t t = 0; t < NR_TABLES; t++) {
		for (size_t count = 0; table(t) && count <= 1000; count += count < 70 ? 1 : 155) {
			const uint8_t *at = words + count % 4;
			int64_t sum = 0, weighted = 0;
			uint64_t got[2] = { 9, 9 };

			for (size_t i = 0; i < count; i++) {
				int word = at[2 * i] * 256 + at[2 * i + 1];

				word -= word >= 32768 ? 65536 : 0;
				sum += word;
				weighted += (int64_t)i * word;
			}
			table(t)->sum_be16(got, at, count);
			assert_int_equal(got[0], sum);
			assert_int_equal(got[1], weighted);
		}
	}
}

static int reseed(void **state)
{
	(void)state;
	rng_state = 16;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widen__every_half),
		cmocka_unit_test(narrow__every_half_and_what_lies_between),
		cmocka_unit_test_setup(narrow__product_is_float32_first, reseed),
		cmocka_unit_test(scan__every_half),
		cmocka_unit_test(order__every_half_there_and_back),
		cmocka_unit_test(quantize__every_half),
		cmocka_unit_test_setup(quantize16__equals_exact_arithmetic, reseed),
		cmocka_unit_test(quantize16__sums_of_every_world_fit),
		cmocka_unit_test_setup(dequantize__each_format_rounds_once, reseed),
		cmocka_unit_test(dequantize__every_sum_of_16_bits),
		cmocka_unit_test(dequantize__float32_between_does_not_round),
		cmocka_unit_test(dequantize__average_never_overflows),
		cmocka_unit_test_setup(sum_be16__plain_and_weighted, reseed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
