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
	/* of floats */
	OP_SCAN,
	OP_QUANTIZE,
	OP_DEQUANTIZE,
	OP_ORDER,
	OP_UNORDER,
	OP_WIDEN,
	OP_NARROW,
	/* of words */
	OP_STORE,
	OP_LOAD,
	OP_INVERT,
	OP_UNINVERT,
	OP_SUM32,
	OP_SUM16,
	OP_AVERAGE,
};

struct job {
	enum op op;
	enum quant_dtype dtype;
	enum quant_wire wire;
	int negate;
	float factor;
};

static uint64_t float_run(const struct quant_float *ops, const struct job *job,
			  const struct piece *p, void *dst)
{
	const void *src = p->src + p->src_at;
	size_t count = p->chunk.count;

	if (job->op == OP_SCAN)
		return ops->scan(dst, src, count);
	if (job->op == OP_QUANTIZE)
		ops->quantize[job->wire](dst, src, &p->chunk);
	if (job->op == OP_DEQUANTIZE)
		return ops->dequantize[job->wire](dst, src, &p->chunk, p->divisor);
	if (job->op == OP_ORDER)
		ops->order(dst, src, count, job->negate);
	if (job->op == OP_UNORDER)
		ops->unorder(dst, src, count, job->negate);
	if (job->op == OP_WIDEN)
		ops->widen(dst, src, count, job->factor);
	if (job->op == OP_NARROW)
		ops->narrow(dst, src, count, job->factor);
	return 0;
}

static void words_run(const struct quant_ops *ops, enum op op, const struct piece *p, void *dst)
{
	const void *src = p->src + p->src_at;
	size_t count = p->chunk.count;
	uint64_t sums[2];

	if (op == OP_STORE)
		ops->store_be32(dst, src, count);
	if (op == OP_LOAD)
		ops->load_be32(dst, src, count);
	if (op == OP_INVERT)
		ops->invert_be32(dst, src, count);
	if (op == OP_UNINVERT)
		ops->uninvert_be32(dst, src, count);
	if (op == OP_AVERAGE)
		ops->average_i32(dst, src, count, p->divisor);
	if (op != OP_SUM32 && op != OP_SUM16)
		return;
	(op == OP_SUM32 ? ops->sum_be32 : ops->sum_be16)(sums, src, count);
	memcpy(dst, sums, sizeof(sums));
}

static uint64_t job_run(const struct quant_ops *ops, const struct job *job, const struct piece *p,
			uint8_t *out)
{
	memset(out, 0xa5, ROOM);
	if (job->op < OP_STORE)
		return float_run(&ops->floats[job->dtype], job, p, out + p->dst_at);
	words_run(ops, job->op, p, out + p->dst_at);
	return 0;
}

static void job_same(const struct quant_ops *ops, const struct job *job, const struct piece *p)
{
	static uint8_t want[ROOM], got[ROOM];
	uint64_t want_nr = job_run(quant_select("scalar"), job, p, want);

	for (int round = 0; round < 2; round++) {
		size_t mode = round ? rng_below(NR_MODES) : 0;
		unsigned saved = mode_enter(mode);
		uint64_t got_nr = job_run(ops, job, p, got);

		mode_leave(mode, saved);
		assert_int_equal(got_nr, want_nr);
		assert_memory_equal(got, want, ROOM);
	}
}

/* ---- every operation ---- */

/* Scaled: pieces of one exponent, for one world. */
static void scaled_same(const struct quant_ops *ops, struct job *job, unsigned exp, uint32_t world)
{
	static struct piece p;

	for (int wire = 0; wire < QUANT_WIRES; wire++) {
		if (wire == QUANT_WIRE_16 && world > QUANT_WORLD_MAX_16)
			world = 1 + rng_below(QUANT_WORLD_MAX_16);
		job->wire = (enum quant_wire)wire;
		piece_init(&p, exp, world);
		p.chunk.count %= 400;
		piece_floats(&p, job->dtype);
		job->op = OP_QUANTIZE;
		job_same(ops, job, &p);
		if (rng_below(8) == 0)
			p.divisor = 1 + rng_below(QUANT_WORLD_MAX);
		piece_sums(&p, job->wire);
		job->op = OP_DEQUANTIZE;
		job_same(ops, job, &p);
	}
	job->op = OP_SCAN;
	piece_floats(&p, job->dtype);
	job_same(ops, job, &p);
}

/* The rest, on words of any kind: NaN, subnormals and what rounds twice among them. */
static void plain_same(const struct quant_ops *ops, struct job *job, unsigned exp)
{
	static const float factors[] = { 1.0f, -0.0f, 0.125f, 1.0f / 3, -1e-38f, 3e38f, 1e-45f };
	static struct piece p;

	piece_init(&p, exp, 3);
	job->negate = (int)rng_below(2);
	job->factor = factors[rng_below(sizeof(factors) / sizeof(factors[0]))];
	for (int op = OP_ORDER; op <= OP_NARROW; op++) {
		bool wide = op == OP_UNORDER || op == OP_NARROW;

		job->op = (enum op)op;
		if (rng_below(2))
			piece_words(&p);
		else
			piece_floats(&p, wide ? QUANT_F32 : job->dtype);
		job_same(ops, job, &p);
	}
}

/* Every operation of one table on pieces of every exponent, each with a third of the worlds. */
static void table_same(const char *name)
{
	static struct piece p;
	const struct quant_ops *ops = quant_select(name);

	if (!ops) {
		print_message("this CPU cannot run %s\n", name);
		skip();
	}
	for (unsigned exp = 0; exp < 256; exp++) {
		struct job job = { .op = OP_SCAN };

		for (int dtype = 0; dtype < QUANT_DTYPES; dtype++) {
			job.dtype = (enum quant_dtype)dtype;
			for (size_t w = exp % 3; w < NR_WORLDS; w += 3)
				scaled_same(ops, &job, exp, worlds[w]);
			plain_same(ops, &job, exp);
			plain_same(ops, &job, exp);
		}
		piece_init(&p, exp, worlds[exp % NR_WORLDS]);
		piece_sums(&p, QUANT_WIRE_32);
		for (int op = OP_STORE; op <= OP_AVERAGE; op++) {
			job.op = (enum op)op;
			job_same(ops, &job, &p);
		}
	}
}

/* Every number of 16 bits, whole or in small pieces, through all that reads such numbers. */
static void halves_same(const char *name)
{
	static struct piece p;
	const struct quant_ops *ops = quant_select(name);

	if (!ops)
		skip();
	for (uint32_t first = 0; first < 65536; first += 1024) {
		struct job job = { .factor = 1.0f };

		for (int dtype = QUANT_F16; dtype <= QUANT_BF16; dtype++) {
			piece_init(&p, dtype == QUANT_F16 ? 103 + rng_below(40) : rng_below(255),
				   worlds[rng_below(NR_WORLDS - 1)]);
			p.chunk.count = 1024;
			job.dtype = (enum quant_dtype)dtype;
			job.wire = (enum quant_wire)rng_below(2);
			job.negate = (int)rng_below(2);
			for (uint32_t i = 0; i < 1024; i++)
				host_put16(p.src + p.src_at, i, first + i);
			for (int op = OP_SCAN; op <= OP_WIDEN; op++) {
				job.op = (enum op)op;
				if (op != OP_DEQUANTIZE && op != OP_UNORDER)
					job_same(ops, &job, &p);
			}
			/* And every result: the sums of int16, at this exponent. */
			job.op = OP_DEQUANTIZE;
			job.wire = QUANT_WIRE_16;
			job_same(ops, &job, &p);
		}
	}
}

/* Every length up to some rows, so that every rest of a row occurs. */
static void lengths_same(const char *name)
{
	static struct piece p;
	const struct quant_ops *ops = quant_select(name);
	struct job job = { .factor = 0.1f };

	if (!ops)
		skip();
	for (size_t count = 0; count <= 150; count++) {
		for (int dtype = 0; dtype < QUANT_DTYPES; dtype++) {
			job.dtype = (enum quant_dtype)dtype;
			job.wire = (enum quant_wire)rng_below(2);
			job.negate = (int)rng_below(2);
			piece_init(&p, 120, 5);
			p.chunk.count = count;
			piece_floats(&p, job.dtype);
			for (int op = OP_SCAN; op <= OP_AVERAGE; op++) {
				job.op = (enum op)op;
				job_same(ops, &job, &p);
			}
		}
	}
}

static void table_all(const char *name)
{
	lengths_same(name);
	halves_same(name);
	table_same(name);
}

static void avx2__same_bits_as_scalar(void **state)
{
	(void)state;
	table_all("avx2");
}

static void avx512__same_bits_as_scalar(void **state)
{
	(void)state;
	table_all("avx512");
}

static void avx512fp16__same_bits_as_scalar(void **state)
{
	(void)state;
	table_all("avx512fp16");
}

/* The scalar table too must not depend on the float state. */
static void scalar__same_bits_in_every_mode(void **state)
{
	(void)state;
	table_all("scalar");
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
		cmocka_unit_test_setup(avx512fp16__same_bits_as_scalar, reseed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
