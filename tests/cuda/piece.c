// SPDX-License-Identifier: BSD-3-Clause
// Pieces of tensors to launch kernels on: drawn at random, judged by the scalar table.
#include "tests/cuda/piece.h"

#include <stdio.h>
#include <string.h>

#include "kernels/quant.h"
#include "kernels/quant_math.h"
#include "tests/bits.h"

#define RED 0xa5

static uint64_t random_state = 1;

static const char *const dtype_names[] = { "f32", "f16", "bf16" };
static const uint32_t worlds[] = { 1,	2,   3,	  4,   6,   8,	 12,  64,   127,
				   128, 129, 255, 256, 257, 384, 512, 1024, 65535 };
static const float factors[] = { 0.5f,	    3.0f,	 1e-30f,  1e30f, -1.0f,	       0.0f,
				 0x1p-149f, 0x1.8p-130f, 1.0001f, -7e5f, 0x1.fffp127f, 0.125f };
#define NR_OF(list) (sizeof(list) / sizeof((list)[0]))

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

static size_t dtype_bytes(const struct piece *p)
{
	return quant_dtype_bytes((enum quant_dtype)p->dtype);
}

static size_t wire_bytes(const struct piece *p)
{
	return p->wire == QUANT_WIRE_32 ? 4 : 2;
}

/* --- Drawing one -------------------------------------------------------------------------------- */

/* "tally_KIND_DTYPE_WIRE" */
static bool kernel_parse(struct piece *p, const char *name)
{
	static const struct {
		const char *word;
		enum piece_kind kind;
	} kinds[] = { { "tally_scan_", PIECE_SCAN },
		      { "tally_quantize_", PIECE_QUANTIZE },
		      { "tally_dequantize_", PIECE_DEQUANTIZE },
		      { "tally_order_", PIECE_ORDER },
		      { "tally_unorder_", PIECE_UNORDER },
		      { "tally_swap32", PIECE_SWAP },
		      { "tally_average_i32", PIECE_AVERAGE } };
	char rest[32];

	for (size_t i = 0; i < NR_OF(kinds); i++) {
		if (strncmp(name, kinds[i].word, strlen(kinds[i].word)) != 0)
			continue;
		p->kind = kinds[i].kind;
		p->dtype = QUANT_F32;
		p->wire = QUANT_WIRE_32;
		name += strlen(kinds[i].word);
		if (!*name)
			return true;
		for (p->dtype = 0; p->dtype < QUANT_DTYPES; p->dtype++) {
			for (p->wire = 0; p->wire < QUANT_WIRES; p->wire++) {
				snprintf(rest, sizeof(rest), "%s_%d", dtype_names[p->dtype],
					 p->wire == QUANT_WIRE_32 ? 32 : 16);
				if (strcmp(name, rest) == 0)
					return true;
			}
			p->wire = QUANT_WIRE_32;
			if (strcmp(name, dtype_names[p->dtype]) == 0)
				return true;
		}
	}
	return false;
}

static void draw_layout(struct piece *p)
{
	static const uint32_t pers[] = { 0, 8, 12, 32, 64, 88, 100, 256, 264, 512, 1024, 2048 };
	const uint32_t width = (uint32_t)wire_bytes(p);

	memset(&p->layout, 0, sizeof(p->layout));
	if (p->kind != PIECE_QUANTIZE && p->kind != PIECE_DEQUANTIZE)
		return;
	p->layout.per = below(4) ? pers[below(NR_OF(pers))] : 4 + below(700);
	/* A dense side has no stride, whatever that says. */
	p->layout.stride = p->layout.per ? p->layout.per * width + 16 * below(7) : below(100);
	switch (below(8)) {
	case 0:
		p->layout.stride += below(33);
		break;
	case 1:
		p->layout.stride = (p->layout.stride + 15) / 16 * 16 + 8;
		break;
	case 2:
		break;
	default:
		p->layout.stride = (p->layout.stride + 15) / 16 * 16;
	}
}

static void draw_shape(struct piece *p, uint64_t turn)
{
	static const uint32_t counts[] = { 0,	1,   7,	  8,   31,   32,   33,	255,
					   256, 257, 511, 512, 1023, 1024, 4096 };

	p->count = turn % 3 == 0 ? counts[(turn / 3) % NR_OF(counts)]
				 : 1 + below(turn % 8 ? 1200 : 4096);
	if (turn % 3 == 1)
		p->count = 256 * (1 + p->count / 256 % 16);
	if (turn % 6 == 2)
		p->count = (p->count - 1) / 256 * 256 + 255;
	p->threads = 32 * (1 + below(QUANT_CUDA_THREADS / 32));
	p->grid = 1 + below(4);
	p->world = worlds[below(NR_OF(worlds))];
	if (p->wire == QUANT_WIRE_16 && p->world > QUANT_WORLD_MAX_16)
		p->world = 1 + below(QUANT_WORLD_MAX_16);
	p->divisor = below(3) ? p->world : 1;
	if (p->kind == PIECE_AVERAGE)
		p->divisor = below(2) ? 1 + below(QUANT_WORLD_MAX) : p->world;
	p->negate = below(2);
	p->factor = below(2) ? 1.0f : factors[below(NR_OF(factors))];
	/* Averages of the largest numbers: what is rounded up to infinity is not delivered so, unless it is a sum. */
	p->top = turn % 4 == 3;
	if (p->top) {
		p->world = below(3) ? 256u << below(3) : 2 + below(2);
		p->divisor = below(4) ? p->world : 1;
		if (p->factor != 1.0f && below(2))
			p->factor = 0.0f; /* times infinity is no number */
	}
}

/* Bytes behind a multiple of 16: most often none, else such as a narrower access could take, or any. */
static uint32_t draw_offset(void)
{
	if (below(5))
		return 0;
	switch (below(4)) {
	case 0:
		return 8;
	case 1:
		return 4 * below(4);
	case 2:
		return 2 * below(8);
	default:
		return 2 * below(8) + 1;
	}
}

/* A buffer of `size` bytes, most often aligned. Its bytes are red all around. */
static void *draw_buffer(struct piece_buffer *buffer, uint8_t *base, size_t size, bool writable)
{
	size_t align = (size_t)(16 - (uintptr_t)base % 16) % 16;

	buffer->base = base;
	buffer->start = PIECE_ZONE + align + draw_offset();
	buffer->size = size;
	buffer->writable = writable;
	return base + buffer->start;
}

/* Bytes up to the end of the red ones behind it. */
static size_t buffer_end(const struct piece_buffer *buffer)
{
	return buffer->start + buffer->size + PIECE_ZONE;
}

static size_t side_size(const struct piece *p, size_t width)
{
	uint64_t last = p->count ? p->count - 1 : 0;

	if (!p->count)
		return 0;
	if (!p->layout.per)
		return p->count * width;
	return last / p->layout.per * p->layout.stride + (last % p->layout.per + 1) * width;
}

static uint8_t *side_at(const struct piece *p, void *base, uint64_t i, size_t width)
{
	uint8_t *at = (uint8_t *)base;

	if (!p->layout.per)
		return at + i * width;
	return at + i / p->layout.per * p->layout.stride + i % p->layout.per * width;
}

/* --- Filling it --------------------------------------------------------------------------------- */

/* Exponents of a block: where results are normal, and where they are neither that nor finite. */
static uint32_t draw_exponent(const struct piece *p)
{
	static const uint32_t from[] = { 90, 0, 228, 0, 100, 84, 136, 0 };
	static const uint32_t nr[] = { 80, 42, 27, 255, 44, 32, 24, 255 };
	uint32_t kind = below(4) + (p->dtype == QUANT_F16 ? 4 : 0);

	if (p->top && below(4))
		return p->dtype == QUANT_F16 && below(2) ? 142 : 254;
	if (below(16) == 0)
		return below(2) ? 254 : 255;
	/* Subnormal ones. */
	if (below(8) == 0)
		return p->dtype == QUANT_F16 ? 103 + below(11) : below(4);
	return from[kind] + below(nr[kind]);
}

/* Bits for a significand: any, ones up to the end or a tie at some place, and what lies beside them. */
static uint32_t draw_bits(void)
{
	uint32_t bits = (uint32_t)piece_random(), place = below(31);

	switch (below(4)) {
	case 0:
		return bits;
	case 1:
		return 0xffffffffu << place;
	case 2:
		return (bits & 0xfffffffeu) << place | 1u << place;
	default:
		return ((bits & 0xfffffffeu) << place | 1u << place) + below(3) - 1;
	}
}

/* Floats as a block with this exponent holds them: many near its top; some blocks lie. */
static uint32_t draw_float(uint32_t exp, uint32_t lie)
{
	uint32_t bits = (draw_bits() & 0x7fffffu) | (below(2) ? 0x80000000u : 0u), down = below(36);

	if (lie == 0 && below(8) == 0)
		return below(4) ? (uint32_t)piece_random() : bits | QM_INF;
	if (lie == 0 && below(4) == 0)
		return bits | (exp + down / 8 < 255 ? exp + down / 8 : 254) << 23;
	if (below(16) == 0)
		return bits & 0x80000000u;
	return bits | (exp > down ? exp - down : 0) << 23;
}

static uint32_t draw_element(const struct piece *p, uint32_t exp, uint32_t lie, uint64_t i,
			     uint64_t turn)
{
	uint32_t bits = draw_float(exp == 255 && lie ? 254 : exp, lie);

	if (p->dtype == QUANT_F32)
		return bits;
	/* All 65536 of them in turn, or such as belong to the block. */
	if (turn % 2)
		return (uint32_t)(turn / 2 * 251 + i) & 0xffffu;
	return p->dtype == QUANT_F16 ? qm_narrow(bits, QM_F16_MANT, QM_F16_EXP)
				     : qm_narrow(bits, QM_BF16_MANT, QM_BF16_EXP);
}

/* Inf, NaN, the largest number, or one of its two to four binades. */
static uint32_t draw_odd(const struct piece *p)
{
	static const uint32_t infinite[] = { 0x7f800000u, 0x7c00u, 0x7f80u };
	static const uint32_t large[] = { 0x1000000u, 0x1000u, 0x200u };
	uint32_t bits = infinite[p->dtype];

	bits = below(2) ? bits - below(3) + below(3) : bits - 1 - below(large[p->dtype]);
	return below(2) ? bits : bits | (p->dtype == QUANT_F32 ? 0x80000000u : 0x8000u);
}

static void fill_floats(struct piece *p, uint64_t turn)
{
	const uint8_t *exp = (const uint8_t *)p->exp_at;
	uint32_t lie = 0, near = 0, odd = 0;

	for (uint64_t i = 0; i < p->count; i++) {
		uint32_t raw;

		if (i % QUANT_BLOCK == 0) {
			lie = below(p->kind == PIECE_SCAN ? 12 : 4);
			near = p->kind == PIECE_QUANTIZE && below(8) ? exp[i / QUANT_BLOCK]
								     : draw_exponent(p);
			/* Some blocks have one element that is all by itself the largest, or no number. */
			odd = below(QUANT_BLOCK);
			if (lie == 0 || below(p->kind == PIECE_SCAN ? 8 : 2) == 0)
				odd = QUANT_BLOCK;
		}
		raw = draw_element(p, near, lie, i, odd < QUANT_BLOCK ? 0 : turn);
		if (i % QUANT_BLOCK == odd)
			raw = draw_odd(p);
		memcpy((uint8_t *)p->src_at + i * dtype_bytes(p), &raw, dtype_bytes(p));
	}
}

/* Sums of every width, so that small, tied and extreme ones occur. */
static void fill_sums(struct piece *p)
{
	for (uint64_t i = 0; i < p->count; i++) {
		uint32_t word = (uint32_t)((int32_t)draw_bits() >> below(32));

		if (below(p->top ? 2 : 16) == 0)
			word = 0x80000000u - below(2);
		if (below(16) == 0)
			word = below(32768) * p->divisor;
		if (below(2))
			word = 0u - word;
		if (below(8) == 0 && p->kind == PIECE_UNORDER)
			word = (below(4) ? QM_INF : 0u) ^ (below(2) ? 0xffffffffu : 0u) ^ below(4);
		if (p->wire == QUANT_WIRE_16 && below(2))
			word >>= 16;
		if (below(8) == 0)
			word = below(3) << 8 * below(4);
		if (below(4) == 0)
			word = random_tie(&random_state, p->divisor,
					  p->wire == QUANT_WIRE_32 ? 20 : 5);
		word = p->wire == QUANT_WIRE_32 ? qm_be32(word) : qm_be16(word);
		memcpy(side_at(p, p->src_at, i, wire_bytes(p)), &word, wire_bytes(p));
	}
}

static void fill_exponents(struct piece *p)
{
	for (size_t b = 0; b < PIECE_BLOCKS_MAX; b++)
		((uint8_t *)p->exp_at)[b] = (uint8_t)draw_exponent(p);
}

/* --- What the scalar table makes of it ---------------------------------------------------------- */

static void scatter(struct piece *p, const uint8_t *dense, size_t width)
{
	for (uint64_t i = 0; i < p->count; i++)
		memcpy(side_at(p, p->want + p->buffer[1].start, i, width), dense + i * width,
		       width);
}

static void want_floats(struct piece *p, const struct quant_ops *ops)
{
	static float wide[PIECE_COUNT_MAX];
	static uint8_t dense[4 * PIECE_COUNT_MAX];
	const struct quant_chunk chunk = { (const uint8_t *)p->exp_at, 0, p->world, p->count };
	const struct quant_float *own = &ops->floats[p->dtype], *single = own;
	const void *src = p->src_at;
	bool scaled = p->factor != 1.0f;

	if (p->kind == PIECE_DEQUANTIZE) {
		if (scaled)
			single = &ops->floats[QUANT_F32];
		for (uint64_t i = 0; i < p->count; i++)
			memcpy(dense + i * wire_bytes(p), side_at(p, p->src_at, i, wire_bytes(p)),
			       wire_bytes(p));
		p->nonfinite_want +=
			single->dequantize[p->wire](scaled ? (void *)wide
							   : p->want + p->buffer[1].start,
						    dense, &chunk, p->divisor);
		if (scaled)
			own->narrow(p->want + p->buffer[1].start, wide, p->count, p->factor);
		return;
	}
	if (scaled) {
		own->widen(wide, src, p->count, p->factor);
		single = &ops->floats[QUANT_F32];
		src = wide;
	}
	if (p->kind == PIECE_SCAN) {
		p->nonfinite_want += single->scan(p->exp_want + p->buffer[2].start, src, p->count);
		return;
	}
	single->quantize[p->wire](dense, src, &chunk);
	scatter(p, dense, wire_bytes(p));
}

static void want_make(struct piece *p)
{
	const struct quant_ops *ops = quant_select("scalar");
	const struct quant_float *own = &ops->floats[p->dtype];
	uint8_t *want = p->want + p->buffer[1].start;
	static uint32_t words[PIECE_COUNT_MAX];

	memcpy(words, p->src_at, p->kind == PIECE_SWAP ? p->count * 4 : 0);
	switch (p->kind) {
	case PIECE_SCAN:
	case PIECE_QUANTIZE:
	case PIECE_DEQUANTIZE:
		want_floats(p, ops);
		break;
	case PIECE_ORDER:
		own->order(want, p->src_at, p->count, (int)p->negate);
		break;
	case PIECE_UNORDER:
		own->unorder(want, p->src_at, p->count, (int)p->negate);
		break;
	case PIECE_SWAP:
		(p->negate ? ops->invert_be32 : ops->store_be32)(want, words, p->count);
		break;
	case PIECE_AVERAGE:
		ops->average_i32((int32_t *)words, p->src_at, p->count, p->divisor);
		memcpy(want, words, p->count * 4);
		break;
	}
}

/* --- The launch --------------------------------------------------------------------------------- */

static void make_buffers(struct piece *p)
{
	const bool from_wire = p->kind == PIECE_DEQUANTIZE || p->kind == PIECE_UNORDER ||
			       p->kind == PIECE_SWAP || p->kind == PIECE_AVERAGE;
	const bool to_wire = p->kind == PIECE_QUANTIZE || p->kind == PIECE_ORDER ||
			     p->kind == PIECE_SWAP || p->kind == PIECE_AVERAGE;
	size_t in = from_wire ? side_size(p, wire_bytes(p)) : p->count * dtype_bytes(p);
	size_t out = to_wire ? side_size(p, wire_bytes(p)) : p->count * dtype_bytes(p);

	if (p->kind == PIECE_SCAN)
		out = 0;
	p->src_at = draw_buffer(&p->buffer[0], p->src, in, false);
	p->dst_at = draw_buffer(&p->buffer[1], p->dst, out, true);
	p->exp_at = draw_buffer(&p->buffer[2], p->exp, (p->count + QUANT_BLOCK - 1) / QUANT_BLOCK,
				p->kind == PIECE_SCAN);
	p->nonfinite_at = &p->nonfinite;
	p->buffer[3].base = (uint8_t *)&p->nonfinite;
	p->buffer[3].start = 0;
	p->buffer[3].size = sizeof(p->nonfinite);
	p->buffer[3].writable = true;
}

bool piece_make(struct piece *p, const char *kernel, uint64_t turn)
{
	if (!kernel_parse(p, kernel))
		return false;
	draw_shape(p, turn);
	do
		draw_layout(p);
	while (side_size(p, wire_bytes(p)) > PIECE_ROOM - 2 * PIECE_ZONE - 32);
	make_buffers(p);
	memset(p->src, RED, buffer_end(&p->buffer[0]));
	memset(p->dst, RED, buffer_end(&p->buffer[1]));
	memset(p->want, RED, buffer_end(&p->buffer[1]));
	memset(p->exp, RED, sizeof(p->exp));
	memset(p->written, 0, buffer_end(&p->buffer[1]));
	p->nonfinite = p->nonfinite_want = piece_random() >> 20;
	fill_exponents(p);
	if (p->kind == PIECE_DEQUANTIZE || p->kind == PIECE_UNORDER || p->kind == PIECE_SWAP ||
	    p->kind == PIECE_AVERAGE)
		fill_sums(p);
	else
		fill_floats(p, turn);
	memcpy(p->exp_want, p->exp, sizeof(p->exp));
	want_make(p);
	p->compared = p->count;
	return true;
}

unsigned piece_params(struct piece *p, void *params[PIECE_PARAMS_MAX])
{
	static uint32_t mask;
	unsigned nr = 0;

	mask = p->negate ? 0xffffffffu : 0u;
	if (p->kind != PIECE_SCAN)
		params[nr++] = &p->dst_at;
	if (p->kind == PIECE_QUANTIZE)
		params[nr++] = &p->layout;
	params[nr++] = &p->src_at;
	if (p->kind == PIECE_DEQUANTIZE)
		params[nr++] = &p->layout;
	params[nr++] = &p->count;
	if (p->kind == PIECE_ORDER || p->kind == PIECE_UNORDER)
		params[nr++] = &p->negate;
	if (p->kind == PIECE_SWAP)
		params[nr++] = &mask;
	if (p->kind == PIECE_AVERAGE)
		params[nr++] = &p->divisor;
	if (p->kind > PIECE_DEQUANTIZE)
		return nr;
	params[nr++] = &p->factor;
	params[nr++] = &p->exp_at;
	if (p->kind != PIECE_SCAN)
		params[nr++] = &p->world;
	if (p->kind == PIECE_DEQUANTIZE)
		params[nr++] = &p->divisor;
	if (p->kind != PIECE_QUANTIZE)
		params[nr++] = &p->nonfinite_at;
	return nr;
}

int piece_access(struct piece *p, const void *at, size_t bytes, int writes)
{
	for (size_t i = 0; i < PIECE_BUFFERS; i++) {
		const struct piece_buffer *own = &p->buffer[i];
		const uint8_t *begin = own->base + own->start;
		size_t offset = (size_t)((const uint8_t *)at - begin);

		if ((const uint8_t *)at < begin || offset + bytes > own->size)
			continue;
		if (writes && !own->writable)
			return -1;
		for (size_t b = 0; i == 1 && writes && b < bytes; b++)
			if (p->written[own->start + offset + b]++)
				return -1;
		return 0;
	}
	return -1;
}

size_t piece_bytes(void)
{
	return sizeof(struct piece);
}

void piece_look(const struct piece *p, struct piece_view *view)
{
	view->grid = p->grid;
	view->threads = p->threads;
	view->compared = p->compared;
	for (size_t i = 0; i < PIECE_BUFFERS; i++) {
		view->buffer[i].at = (uint64_t)(uintptr_t)(p->buffer[i].base + p->buffer[i].start);
		view->buffer[i].size = p->buffer[i].size;
		view->buffer[i].writable = p->buffer[i].writable;
	}
}

const char *piece_judge(struct piece *p)
{
	static char text[160];

	for (size_t i = 0; i < buffer_end(&p->buffer[1]); i++) {
		if (p->dst[i] == p->want[i])
			continue;
		snprintf(text, sizeof(text), "byte %ld of the result is %02x, not %02x",
			 (long)i - (long)p->buffer[1].start, p->dst[i], p->want[i]);
		return text;
	}
	for (size_t i = 0; i < sizeof(p->exp); i++) {
		if (p->exp[i] == p->exp_want[i])
			continue;
		snprintf(text, sizeof(text), "exponent %ld is %u, not %u",
			 (long)i - (long)p->buffer[2].start, p->exp[i], p->exp_want[i]);
		return text;
	}
	if (p->nonfinite == p->nonfinite_want)
		return NULL;
	snprintf(text, sizeof(text), "%lld more NaN or Inf are counted",
		 (long long)(p->nonfinite - p->nonfinite_want));
	return text;
}

const char *piece_text(const struct piece *p)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "%llu elements, per %u stride %u, world %u, divisor %u, factor %a, negate %u, "
		 "alignment %u and %u, grid %u x %u",
		 (unsigned long long)p->count, p->layout.per, p->layout.stride, p->world,
		 p->divisor, (double)p->factor, p->negate, (unsigned)((uintptr_t)p->src_at % 16),
		 (unsigned)((uintptr_t)p->dst_at % 16), p->grid, p->threads);
	return text;
}
