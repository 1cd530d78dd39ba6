// SPDX-License-Identifier: BSD-3-Clause
// quantizer_test.c - host/quantizer.c alone: how a tensor travels, pieces across blocks, factors, limits.
#include "host/quantizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/naive.h"

enum { COUNT = 1500, WORLD = 3, BLOCKS = (COUNT + QUANT_BLOCK - 1) / QUANT_BLOCK };

static struct quantizer quantizer_of(unsigned world)
{
	return (struct quantizer){ .ops = quant_select(NULL), .world = world };
}

/* --- Plans --------------------------------------------------------------------------------------- */

static const struct {
	uint8_t dtype, op, width;
	bool saturate;
	uint8_t form, kind, wire;
	uint16_t flags;
} plans[] = {
	{ WIRE_F32, WIRE_SUM, 4, false, COLL_FLOAT, WIRE_ADD32, 4, 0 },
	{ WIRE_F16, WIRE_AVG, 4, true, COLL_FLOAT, WIRE_ADD32, 4, 0 },
	{ WIRE_BF16, WIRE_SUM, 0, false, COLL_FLOAT, WIRE_ADD32, 4, 0 },
	{ WIRE_F32, WIRE_AVG, 2, false, COLL_FLOAT, WIRE_ADD16, 2, 0 },
	{ WIRE_F16, WIRE_SUM, 2, true, COLL_FLOAT, WIRE_ADD16, 2, 0 },
	{ WIRE_F16, WIRE_MAX, 2, false, COLL_RAW, WIRE_MAX32, 4, 0 },
	{ WIRE_F32, WIRE_MIN, 4, true, COLL_RAW, WIRE_MAX32, 4, 0 },
	{ WIRE_I32, WIRE_SUM, 2, false, COLL_RAW, WIRE_ADD32, 4, 0 },
	{ WIRE_I32, WIRE_AVG, 4, true, COLL_RAW, WIRE_ADD32SAT, 4, WIRE_DESC_SATURATE },
	{ WIRE_I32, WIRE_MAX, 4, true, COLL_RAW, WIRE_MAX32, 4, 0 },
};

static void quantizer_plan__every_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		const struct quantizer_tensor tensor = { .dtype = plans[i].dtype,
							 .op = plans[i].op,
							 .width = plans[i].width,
							 .saturate = plans[i].saturate };
		struct coll_args args = { .form = COLL_OPEN };

		quantizer_plan(&args, &tensor);
		assert_int_equal(args.form, plans[i].form);
		assert_int_equal(args.kind, plans[i].kind);
		assert_int_equal(args.width, plans[i].wire);
		assert_int_equal(args.desc.flags, plans[i].flags);
	}
	assert_int_equal(quantizer_bytes(WIRE_F32), 4);
	assert_int_equal(quantizer_bytes(WIRE_I32), 4);
	assert_int_equal(quantizer_bytes(WIRE_F16), 2);
	assert_int_equal(quantizer_bytes(WIRE_BF16), 2);
}

/* --- Pieces -------------------------------------------------------------------------------------- */

/* One tensor in chunks of a size that no block is a multiple of. */
struct piecewise {
	struct naive naive;
	uint32_t per;
	uint8_t exp[WIRE_E_EXP + BLOCKS];
	uint8_t src[4 * COUNT], dst[4 * COUNT], want[4 * COUNT];
	uint8_t wire[4 * COUNT + WIRE_PAD];
};

static struct quantizer_tensor tensor_of(struct piecewise *p)
{
	return (struct quantizer_tensor){
		.src = p->src,
		.dst = p->dst,
		.dtype = (uint8_t)p->naive.dtype,
		.op = (uint8_t)p->naive.op,
		.width = p->naive.narrow ? 2 : 4,
		.prescale = p->naive.prescale[0],
		.postscale = p->naive.postscale[0],
	};
}

static struct coll_chunk chunk_of(struct piecewise *p, uint32_t first)
{
	const unsigned width = p->naive.narrow ? 2 : 4;
	const uint32_t left = COUNT - first, count = left < p->per ? left : p->per;

	return (struct coll_chunk){
		.lane = COLL_D,
		.kind = p->naive.narrow ? WIRE_ADD16 : WIRE_ADD32,
		.first = first,
		.count = count,
		.len = (count * width + WIRE_PAD - 1) / WIRE_PAD * WIRE_PAD,
		.phase = first % QUANT_BLOCK,
		.e = p->exp + WIRE_E_EXP + first / QUANT_BLOCK,
	};
}

/* One rank of one, so that what it sends is the result. */
static void piecewise_run(struct piecewise *p)
{
	const struct quantizer quantizer = quantizer_of(1);
	const struct quantizer_tensor tensor = tensor_of(p);
	const struct coll_chunk e = { .lane = COLL_E, .count = COUNT, .e = p->exp };
	const size_t bytes = naive_bytes(p->naive.dtype);
	uint64_t nonfinite = 0;

	for (size_t i = 0; i < COUNT; i++) {
		const uint32_t bits = naive_data(&p->naive, 0, i);

		memcpy(p->src + i * bytes, &bits, bytes);
	}
	quantizer_scan(&quantizer, &tensor, &e);
	memset(p->dst, 0x5a, sizeof(p->dst));
	for (uint32_t first = 0; first < COUNT; first += p->per) {
		const struct coll_chunk chunk = chunk_of(p, first);
		const size_t used = chunk.count * (p->naive.narrow ? 2 : 4);

		memset(p->wire, 0x5a, sizeof(p->wire));
		quantizer_fill(&quantizer, &tensor, &chunk, p->wire);
		for (size_t i = used; i < chunk.len; i++)
			assert_int_equal(p->wire[i], 0);
		assert_int_equal(p->wire[chunk.len], 0x5a);
		nonfinite += quantizer_deliver(&quantizer, &tensor, &chunk, p->wire);
	}
	assert_int_equal(nonfinite, naive_result(&p->naive, 0, p->want));
	assert_memory_equal(p->dst, p->want, bytes * COUNT);
}

static void quantizer_fill__pieces_across_blocks(void **state)
{
	static const enum tally_dtype dtypes[] = { TALLY_F32, TALLY_F16, TALLY_BF16 };
	static const float factors[] = { 0, 1, 0.3f, -3e4f };
	static struct piecewise p;

	(void)state;
	for (unsigned v = 0; v < 3 * 4 * 4 * 2; v++) {
		p = (struct piecewise){
			.naive = { .ranks = 1,
				   .count = COUNT,
				   .dtype = dtypes[v % 3],
				   .op = v & 1 ? TALLY_AVG : TALLY_SUM,
				   .narrow = v / 48,
				   .prescale = { factors[v / 3 % 4] },
				   .postscale = { factors[v / 12 % 4] },
				   .seed = 70 + v,
				   .bad_ranks = v % 5 == 0,
				   .bad_at = COUNT - 1,
				   .bad_bits = dtypes[v % 3] == TALLY_F32   ? 0xff800000
					       : dtypes[v % 3] == TALLY_F16 ? 0x7e01
									    : 0x7f80 },
			.per = v & 1 ? 352 : 37,
		};
		piecewise_run(&p);
	}
}

static void quantizer_scan__counts_after_the_prescale(void **state)
{
	static const uint16_t halves[] = { 0x7bff, 0x3c00, 0x7c00, 0xfe00 };
	const struct quantizer quantizer = quantizer_of(WORLD);
	struct quantizer_tensor tensor = { .src = (const uint8_t *)halves,
					   .dtype = WIRE_F16,
					   .op = WIRE_SUM };
	uint8_t e[WIRE_E_EXP + 1];
	struct coll_chunk chunk = { .lane = COLL_E, .count = 2, .e = e };

	(void)state;
	assert_int_equal(quantizer_scan(&quantizer, &tensor, &chunk), 0);
	assert_int_equal(e[WIRE_E_EXP], 127 + 15);
	tensor.prescale = 0x1p112f;
	assert_int_equal(quantizer_scan(&quantizer, &tensor, &chunk), 0);
	assert_int_equal(e[WIRE_E_EXP], 254);
	tensor.prescale = 0x1p113f;
	assert_int_equal(quantizer_scan(&quantizer, &tensor, &chunk), 1);
	assert_int_equal(e[WIRE_E_EXP], 255);
	tensor.prescale = 0x1p-100f;
	chunk.count = 4;
	assert_int_equal(quantizer_scan(&quantizer, &tensor, &chunk), 2);
	chunk.count = 0;
	assert_int_equal(quantizer_scan(&quantizer, &tensor, &chunk), 0);
}

/* --- Sums of words, and limits --------------------------------------------------------------------- */

static void quantizer_sum__of_either_width(void **state)
{
	static const uint8_t words[] = { 0xff, 0xff, 0x00, 0x05, 0x80, 0x00, 0x12, 0x34 };
	const struct quantizer quantizer = quantizer_of(WORLD);
	struct coll_chunk chunk = { .kind = WIRE_ADD32, .count = 2 };
	uint64_t sums[2];

	(void)state;
	quantizer_sum(&quantizer, &chunk, words, sums);
	assert_int_equal(sums[0], -0xfffbLL - 0x7fffedccLL);
	assert_int_equal(sums[1], -0x7fffedccLL);
	chunk.kind = WIRE_ADD16;
	chunk.count = 4;
	quantizer_sum(&quantizer, &chunk, words, sums);
	assert_int_equal(sums[0], -1LL + 5 - 32768 + 0x1234);
	assert_int_equal(sums[1], 5LL - 2 * 32768 + 3 * 0x1234);
}

static void quantizer_saturated__only_of_what_did(void **state)
{
	static const uint8_t words[] = { 0x7f, 0xff, 0xff, 0xff, 0x80, 0,    0,	   0,
					 0x80, 0,    0,	   1,	 0x7f, 0xff, 0xff, 0xfe };
	struct coll_chunk chunk = { .kind = WIRE_ADD32SAT, .flags = WIRE_SATURATED, .count = 4 };

	(void)state;
	assert_int_equal(quantizer_saturated(&chunk, words), 2);
	/* One that came back from the limit is not seen, and is wrong. */
	chunk.count = 2;
	assert_int_equal(quantizer_saturated(&chunk, words + 8), 1);
	chunk.count = 4;
	chunk.flags = 0;
	assert_int_equal(quantizer_saturated(&chunk, words), 0);
	chunk.flags = WIRE_SATURATED;
	chunk.kind = WIRE_ADD32;
	assert_int_equal(quantizer_saturated(&chunk, words), 0);
}

#if defined(__x86_64__)
#include <immintrin.h>

static void mode_set(unsigned mode)
{
	_mm_setcsr(mode);
}
#else
static void mode_set(unsigned mode)
{
	(void)mode;
}
#endif

/* A factor's meaning is in its bits: subnormals read as 0 make none of it, and nothing traps. */
static void quantizer_scales__whatever_the_mode(void **state)
{
	static const float factors[] = { 0, -0.0f, 1, 1e-40f, -1e-45f, 0.5f, -1, 2, 1.0000001f };
	static const unsigned modes[] = { 0x1f80, 0x9fc0, 0x1e80, 0x0000 };
	bool scales[4][9];

	(void)state;
	for (unsigned mode = 0; mode < 4; mode++) {
		mode_set(modes[mode]);
		for (unsigned i = 0; i < 9; i++)
			scales[mode][i] = quantizer_scales(factors[i]);
		mode_set(modes[0]);
	}
	for (unsigned i = 0; i < 4 * 9; i++)
		assert_int_equal(scales[i / 9][i % 9], i % 9 > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantizer_plan__every_way),
		cmocka_unit_test(quantizer_fill__pieces_across_blocks),
		cmocka_unit_test(quantizer_scan__counts_after_the_prescale),
		cmocka_unit_test(quantizer_sum__of_either_width),
		cmocka_unit_test(quantizer_scales__whatever_the_mode),
		cmocka_unit_test(quantizer_saturated__only_of_what_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
