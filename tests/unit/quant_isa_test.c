// SPDX-License-Identifier: BSD-3-Clause
// Tests of the quantiser's tables: every instruction set gives the scalar one's bits.
#include "kernels/quant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/quant_piece.h"

/* ---- the thread's float state ---- */

#if defined(__x86_64__)
#include <immintrin.h>

/* Default; FTZ and DAZ; the three other roundings; every trap armed; all of it with rounding up. */
static const unsigned modes[] = { 0x1f80u, 0x9fc0u, 0x3f80u, 0x5f80u, 0x7f80u, 0x0000u, 0xc040u };

static unsigned mode_enter(size_t mode)
{
	unsigned saved = _mm_getcsr();

	_mm_setcsr(modes[mode]);
	return saved;
}

/* Also checks that the call in between left all but the sticky bits alone. */
static void mode_leave(size_t mode, unsigned saved)
{
	unsigned now = _mm_getcsr();

	_mm_setcsr(saved);
	assert_int_equal(now & ~0x3fu, modes[mode]);
}
#else
static const unsigned modes[] = { 0 };

static unsigned mode_enter(size_t mode)
{
	return (unsigned)mode;
}

static void mode_leave(size_t mode, unsigned saved)
{
	assert_int_equal(mode, saved);
}
#endif
#define NR_MODES (sizeof(modes) / sizeof(modes[0]))

/* ---- one operation of a table under one float state, into a marked buffer ---- */

enum op {
	OP_SCAN,
	OP_QUANTIZE,
	OP_DEQUANTIZE,
	OP_STORE,
	OP_LOAD,
	OP_ORDER_MAX,
	OP_ORDER_MIN,
	OP_UNORDER_MAX,
	OP_UNORDER_MIN,
	OP_INVERT,
	OP_UNINVERT,
	OP_AVERAGE,
};

static uint64_t op_run(const struct quant_ops *ops, enum op op, const struct piece *p, uint8_t *out)
{
	void *dst = out + p->dst_at;
	const void *src = p->src + p->src_at;
	size_t count = p->chunk.count;

	memset(out, 0xa5, ROOM);
	switch (op) {
	case OP_SCAN:
		return ops->floats[QUANT_F32].scan(dst, src, count);
	case OP_QUANTIZE:
		ops->floats[QUANT_F32].quantize[QUANT_WIRE_32](dst, src, &p->chunk);
		return 0;
	case OP_DEQUANTIZE:
		return ops->floats[QUANT_F32].dequantize[QUANT_WIRE_32](dst, src, &p->chunk,
									p->divisor);
	case OP_STORE:
		ops->store_be32(dst, src, count);
		return 0;
	case OP_LOAD:
		ops->load_be32(dst, src, count);
		return 0;
	case OP_ORDER_MAX:
	case OP_ORDER_MIN:
		ops->floats[QUANT_F32].order(dst, src, count, op == OP_ORDER_MIN);
		return 0;
	case OP_UNORDER_MAX:
	case OP_UNORDER_MIN:
		ops->floats[QUANT_F32].unorder(dst, src, count, op == OP_UNORDER_MIN);
		return 0;
	case OP_INVERT:
		ops->invert_be32(dst, src, count);
		return 0;
	case OP_UNINVERT:
		ops->uninvert_be32(dst, src, count);
		return 0;
	case OP_AVERAGE:
		ops->average_i32(dst, src, count, p->divisor);
		return 0;
	}
	return 0;
}

static void op_same(const struct quant_ops *ops, enum op op, const struct piece *p)
{
	static uint8_t want[ROOM], got[ROOM];
	uint64_t want_nr = op_run(quant_select("scalar"), op, p, want);

	for (int round = 0; round < 3; round++) {
		size_t mode = round ? rng_below(NR_MODES) : 0;
		unsigned saved = mode_enter(mode);
		uint64_t got_nr = op_run(ops, op, p, got);

		mode_leave(mode, saved);
		assert_int_equal(got_nr, want_nr);
		assert_memory_equal(got, want, ROOM);
	}
}

/* Every operation of one table on pieces of every exponent and world. */
static void table_same(const char *name)
{
	static struct piece p;
	const struct quant_ops *ops = quant_select(name);

	if (!ops) {
		print_message("this CPU cannot run %s\n", name);
		skip();
	}
	for (unsigned exp = 0; exp < 256; exp++) {
		for (size_t w = 0; w < NR_WORLDS; w++) {
			piece_init(&p, exp, worlds[w]);
			piece_floats(&p);
			op_same(ops, OP_SCAN, &p);
			op_same(ops, OP_QUANTIZE, &p);
			piece_sums(&p);
			op_same(ops, OP_DEQUANTIZE, &p);
		}
		piece_sums(&p);
		op_same(ops, OP_AVERAGE, &p);
		piece_words(&p);
		for (int op = OP_STORE; op <= OP_UNINVERT; op++)
			op_same(ops, (enum op)op, &p);
	}
}

static void avx2__same_bits_as_scalar(void **state)
{
	(void)state;
	table_same("avx2");
}

static void avx512__same_bits_as_scalar(void **state)
{
	(void)state;
	table_same("avx512");
}

/* The scalar table too must not depend on the float state. */
static void scalar__same_bits_in_every_mode(void **state)
{
	(void)state;
	table_same("scalar");
}

static int reseed(void **state)
{
	(void)state;
	rng_state = 20;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(scalar__same_bits_in_every_mode, reseed),
		cmocka_unit_test_setup(avx2__same_bits_as_scalar, reseed),
		cmocka_unit_test_setup(avx512__same_bits_as_scalar, reseed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
