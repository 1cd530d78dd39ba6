// SPDX-License-Identifier: BSD-3-Clause
// piece.c - what two tables of kernels are compared on: pieces of tensors, random or swept.
#include "tests/numerics/piece.h"

#include <string.h>

#include "tests/bits.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t random_state;

/* --- Random numbers ------------------------------------------------------------------------------ */

void piece_seed(uint64_t seed)
{
	random_state = seed;
}

uint64_t piece_random(void)
{
	return random_next(&random_state);
}

static uint32_t below(uint32_t limit)
{
	return random_below(&random_state, limit);
}

static void put(struct piece *piece, int bytes, size_t i, uint32_t word)
{
	uint8_t *at = piece->src + piece->src_at + (size_t)bytes * i;
	uint16_t half = (uint16_t)word;

	if (bytes == 4)
		memcpy(at, &word, 4);
	else
		memcpy(at, &half, 2);
}

static void put_wire(struct piece *piece, int bytes, size_t i, uint32_t word)
{
	uint8_t *at = piece->src + piece->src_at + (size_t)bytes * i;

	for (int b = 0; b < bytes; b++)
		at[b] = (uint8_t)(word >> 8 * (bytes - 1 - b));
}

/* --- Data ---------------------------------------------------------------------------------------- */

/* Any bits; often Inf, NaN, zeros, the ends of the range, or next to them. */
static uint32_t any_bits(void)
{
	static const uint32_t ends[] = { 0,	     1,		 0x7fffff,   0x800000,	 0x7f7fffff,
					 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x3f800000,
					 0x38800000, 0x387fe000, 0x477fe000, 0x477ff000 };
	uint32_t bits = (uint32_t)piece_random();

	if (below(4) == 0)
		bits = (bits & 0x80000000u) | (ends[below(NR(ends))] + (below(4) == 0));
	if (below(8) == 0)
		bits &= 0xffff8000u;
	return bits;
}

/* Halves of a tie to both 16-bit formats, or of the neighbours of one. */
static uint32_t tie_bits(void)
{
	uint32_t bits = (uint32_t)piece_random(), low = below(2) ? 0x1000 : 0x8000;

	bits &= ~(2 * low - 1);
	return bits | (low + below(3) - 1);
}

/* A float as a block with this exponent holds it: near its top, rarely far below or zero. */
static uint32_t block_bits(unsigned exp)
{
	uint32_t bits = (uint32_t)piece_random(), low = below(48);

	bits = (bits & 0x807fffffu) | (exp > low ? exp - low : 0) << 23;
	if (below(32) == 0)
		bits &= 0x80000000u;
	if (below(16) == 0)
		bits &= 0xffff0000u;
	if (below(16) == 0)
		bits |= 0x7fffff;
	return bits;
}

/* The float16 that is nearest below in magnitude, crudely: any of them will do. */
static uint32_t half_bits(uint32_t wide)
{
	int exp = (int)(wide >> 23 & 255) - 112;

	if (exp <= 0)
		return (wide >> 16 & 0x8000u) | (exp > -11 ? wide >> 13 & 0x3ffu : below(2));
	return (wide >> 16 & 0x8000u) | (uint32_t)(exp > 31 ? 31 : exp) << 10 |
	       (wide >> 13 & 0x3ffu);
}

static void put_float(struct piece *piece, size_t i, uint32_t wide)
{
	if (piece->dtype == QUANT_F32)
		put(piece, 4, i, wide);
	else if (piece->dtype == QUANT_BF16)
		put(piece, 2, i, wide >> 16);
	else
		put(piece, 2, i, half_bits(wide));
}

static void fill_any(struct piece *piece)
{
	for (size_t i = 0; i < piece->chunk.count; i++)
		if (piece->dtype == QUANT_F32)
			put(piece, 4, i, any_bits());
		else
			put(piece, 2, i, (uint32_t)piece_random());
}

/* Mostly finite, so that the largest exponent is worth a search. */
static void fill_scan(struct piece *piece)
{
	bool finite = below(4) != 0;
	unsigned top = below(255);

	for (size_t i = 0; i < piece->chunk.count; i++)
		put_float(piece, i, finite ? block_bits(below(64) ? top / 2 : top) : any_bits());
}

/* In every fourth piece some elements are larger than the exponents say. */
static void fill_blocks(struct piece *piece)
{
	bool lies = below(4) == 0;

	for (size_t i = 0; i < piece->chunk.count; i++) {
		unsigned exp = piece->exp[(piece->chunk.phase + i) / QUANT_BLOCK];

		put_float(piece, i, lies && below(32) == 0 ? any_bits() : block_bits(exp));
	}
}

/* A multiple of the divisor that is half way between two numbers of some format, or next to it. */
static uint32_t tie_sum(const struct piece *piece)
{
	static const uint32_t widths[] = { 25, 12, 9 };
	uint32_t width = widths[below(NR(widths))];
	uint64_t tie = piece_random() >> (64 - width) | UINT64_C(1) << (width - 1) | 1;
	uint64_t sum = tie * piece->divisor;
	uint32_t room = 0;

	while (sum << room >> 30 == 0)
		room++;
	sum = (sum << below(room + 1)) + below(3) - 1;
	return sum > INT32_MAX ? 1 : (uint32_t)(below(2) ? sum : 0 - sum);
}

/* Of every width, so that small, tied and extreme ones occur; multiples of the divisor. */
static uint32_t any_sum(const struct piece *piece)
{
	uint32_t word = (uint32_t)((int32_t)(uint32_t)piece_random() >> below(32));

	if (below(64) == 0)
		word = 0x80000000u;
	if (below(16) == 0)
		word = (uint32_t)((int32_t)below(32768) * (int32_t)piece->divisor);
	return below(4) ? word : tie_sum(piece);
}

static void fill_sums(struct piece *piece)
{
	for (size_t i = 0; i < piece->chunk.count; i++)
		if (piece->wire == QUANT_WIRE_16)
			put_wire(piece, 2, i, any_sum(piece) >> (below(2) ? 0 : 16));
		else
			put_wire(piece, 4, i, any_sum(piece));
}

static void fill_words(struct piece *piece)
{
	for (size_t i = 0; i < piece->chunk.count; i++)
		put(piece, 4, i, any_bits());
}

static void fill_narrow(struct piece *piece)
{
	for (size_t i = 0; i < piece->chunk.count; i++)
		put(piece, 4, i, below(2) ? any_bits() : tie_bits());
}

/* --- Runs ---------------------------------------------------------------------------------------- */

#define RUN(name, call)                                                                            \
	static void run_##name(const struct quant_ops *ops, const struct piece *piece,             \
			       struct piece_output *output)                                        \
	{                                                                                          \
		const struct quant_float *floats = &ops->floats[piece->dtype];                     \
		const void *src = piece->src + piece->src_at;                                      \
		void *dst = output->bytes + piece->dst_at;                                         \
		const struct quant_chunk *chunk = &piece->chunk;                                   \
                                                                                                   \
		(void)floats;                                                                      \
		call;                                                                              \
	}

RUN(scan, output->value = floats->scan(dst, src, chunk->count))
RUN(quantize, floats->quantize[piece->wire](dst, src, chunk))
RUN(dequantize, output->value = floats->dequantize[piece->wire](dst, src, chunk, piece->divisor))
RUN(order, floats->order(dst, src, chunk->count, piece->negate))
RUN(unorder, floats->unorder(dst, src, chunk->count, piece->negate))
RUN(widen, floats->widen(dst, src, chunk->count, piece->factor))
RUN(narrow, floats->narrow(dst, src, chunk->count, piece->factor))
RUN(store, ops->store_be32(dst, src, chunk->count))
RUN(load, ops->load_be32(dst, src, chunk->count))
RUN(invert, ops->invert_be32(dst, src, chunk->count))
RUN(uninvert, ops->uninvert_be32(dst, src, chunk->count))
RUN(average, ops->average_i32(dst, src, chunk->count, piece->divisor))

static void run_sum32(const struct quant_ops *ops, const struct piece *piece,
		      struct piece_output *output)
{
	uint64_t sums[2];

	ops->sum_be32(sums, piece->src + piece->src_at, piece->chunk.count);
	memcpy(output->bytes + piece->dst_at, sums, sizeof(sums));
}

static void run_sum16(const struct quant_ops *ops, const struct piece *piece,
		      struct piece_output *output)
{
	uint64_t sums[2];

	ops->sum_be16(sums, piece->src + piece->src_at, piece->chunk.count);
	memcpy(output->bytes + piece->dst_at, sums, sizeof(sums));
}

const struct piece_subject piece_subjects[PIECE_SUBJECTS] = {
	{ "scan", true, false, fill_scan, run_scan },
	{ "quantize", true, true, fill_blocks, run_quantize },
	{ "dequantize", true, true, fill_sums, run_dequantize },
	{ "order", true, false, fill_any, run_order },
	{ "unorder", true, false, fill_words, run_unorder },
	{ "widen", true, false, fill_any, run_widen },
	{ "narrow", true, false, fill_narrow, run_narrow },
	{ "store_be32", false, false, fill_words, run_store },
	{ "load_be32", false, false, fill_words, run_load },
	{ "invert_be32", false, false, fill_words, run_invert },
	{ "uninvert_be32", false, false, fill_words, run_uninvert },
	{ "sum_be32", false, false, fill_words, run_sum32 },
	{ "sum_be16", false, false, fill_words, run_sum16 },
	{ "average_i32", false, false, fill_sums, run_average },
};

/* --- Pieces -------------------------------------------------------------------------------------- */

static uint32_t draw_world(enum quant_wire wire)
{
	static const uint32_t worlds[] = { 1,	2,   3,	  4,   7,   8,	 31,   64,   127,   128,
					   129, 255, 256, 257, 512, 513, 1023, 1024, 40000, 65535 };
	uint32_t world = worlds[below(NR(worlds))];

	return wire == QUANT_WIRE_16 && world > QUANT_WORLD_MAX_16 ? 1 + below(1024) : world;
}

/* Where there is more to go wrong more often: next to infinity and to the subnormals. */
static uint8_t draw_exp(void)
{
	switch (below(8)) {
	case 0:
		return (uint8_t)below(48);
	case 1:
		return (uint8_t)(255 - below(16));
	case 2:
	case 3:
		return (uint8_t)(100 + below(48));
	default:
		return (uint8_t)below(256);
	}
}

static float draw_factor(void)
{
	static const uint32_t factors[] = { 0x3f800000, 0xbf800000, 0x3b000000, 0x00000001, 0,
					    0x80000000, 0x7f7fffff, 0x00800000, 0x3eaaaaab };
	uint32_t bits = below(2) ? factors[below(NR(factors))] : (uint32_t)piece_random();
	float factor;

	if ((bits & 0x7f800000u) == 0x7f800000u)
		bits &= 0xbfffffffu;
	memcpy(&factor, &bits, sizeof(factor));
	return factor;
}

static void piece_place(struct piece *piece)
{
	piece->chunk.exp = piece->exp;
	piece->chunk.phase = below(QUANT_BLOCK);
	piece->chunk.world = draw_world(piece->wire);
	piece->divisor = below(4) ? piece->chunk.world : 1;
	piece->negate = (int)below(2);
	piece->factor = draw_factor();
	piece->src_at = PIECE_AT + below(below(2) ? 4 : 1);
	piece->dst_at = PIECE_AT + below(below(2) ? 4 : 1);
}

void piece_draw(struct piece *piece, const struct piece_subject *subject)
{
	uint8_t exp = draw_exp();

	piece->wire = subject->wires ? piece->wire : QUANT_WIRE_32;
	piece_place(piece);
	piece->chunk.count = below(4) ? below(PIECE_COUNT + 1) : below(70);
	for (size_t b = 0; b < PIECE_BLOCKS; b++)
		piece->exp[b] = below(2) ? exp : draw_exp();
	subject->fill(piece);
}

void piece_sweep(struct piece *piece, uint32_t first, uint32_t count)
{
	piece_place(piece);
	piece->chunk.count = count;
	for (size_t b = 0; b < PIECE_BLOCKS; b++)
		piece->exp[b] = draw_exp();
	/* As sums on the wire they are the same numbers in another order. */
	for (uint32_t i = 0; i < count; i++)
		put(piece, 2, i, first + i);
}
