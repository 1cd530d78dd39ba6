/* SPDX-License-Identifier: BSD-3-Clause */
/* Random pieces of tensors for the quantiser's tests, and words read byte by byte. */
#ifndef TESTS_UNIT_QUANT_PIECE_H
#define TESTS_UNIT_QUANT_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/quant.h"
#include "tests/bits.h"

#define NR_MAX 1500		/* elements of a random piece */
#define BLOCKS_MAX 8		/* blocks it can touch, with room */
#define ROOM (4 * NR_MAX + 128) /* bytes of a buffer with margins on both sides */
#define NAN_BITS 0x7fc00000u

static const uint32_t worlds[] = {
	1, 2, 3, 4, 8, 64, 127, 128, 129, 255, 256, 257, 512, 1024, 65535
};
#define NR_WORLDS (sizeof(worlds) / sizeof(worlds[0]))

/* ---- random numbers and bits ---- */

static uint64_t rng_state; /* set it to repeat a run */

static inline uint64_t rng(void)
{
	return random_next(&rng_state);
}

static inline uint32_t rng_below(uint32_t limit)
{
	return random_below(&rng_state, limit);
}

static inline uint32_t wire_get(const void *base, size_t i)
{
	const uint8_t *byte = (const uint8_t *)base + 4 * i;

	return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

static inline void wire_put(void *base, size_t i, uint32_t word)
{
	uint8_t *byte = (uint8_t *)base + 4 * i;

	for (int b = 0; b < 4; b++)
		byte[b] = (uint8_t)(word >> (24 - 8 * b));
}

static inline uint32_t host_get(const void *base, size_t i)
{
	uint32_t word;

	memcpy(&word, (const uint8_t *)base + 4 * i, sizeof(word));
	return word;
}

static inline void host_put(void *base, size_t i, uint32_t word)
{
	memcpy((uint8_t *)base + 4 * i, &word, sizeof(word));
}

static inline uint32_t wire_get16(const void *base, size_t i)
{
	const uint8_t *byte = (const uint8_t *)base + 2 * i;

	return (uint32_t)byte[0] << 8 | byte[1];
}

static inline void wire_put16(void *base, size_t i, uint32_t word)
{
	uint8_t *byte = (uint8_t *)base + 2 * i;

	byte[0] = (uint8_t)(word >> 8);
	byte[1] = (uint8_t)word;
}

static inline uint32_t host_get16(const void *base, size_t i)
{
	uint16_t word;

	memcpy(&word, (const uint8_t *)base + 2 * i, sizeof(word));
	return word;
}

static inline void host_put16(void *base, size_t i, uint32_t word)
{
	uint16_t low = (uint16_t)word;

	memcpy((uint8_t *)base + 2 * i, &low, sizeof(low));
}

/* ---- random pieces ---- */

struct piece {
	struct quant_chunk chunk;
	uint8_t exp[BLOCKS_MAX];
	uint32_t divisor;
	size_t src_at, dst_at; /* offsets in the buffers: the alignment */
	uint8_t src[ROOM];
};

static inline void piece_init(struct piece *p, unsigned exp, uint32_t world)
{
	p->chunk.exp = p->exp;
	p->chunk.phase = rng_below(QUANT_BLOCK);
	p->chunk.world = world;
	p->chunk.count = rng_below(4) ? rng_below(NR_MAX + 1) : rng_below(40);
	p->divisor = rng_below(2) ? world : 1;
	p->src_at = 16 + rng_below(4);
	p->dst_at = 16 + rng_below(4);
	for (size_t b = 0; b < BLOCKS_MAX; b++)
		p->exp[b] = (uint8_t)(rng_below(2) ? exp : rng_below(256));
}

static inline unsigned piece_exp(const struct piece *p, size_t i)
{
	return p->exp[(p->chunk.phase + i) / QUANT_BLOCK];
}

static inline void piece_put(struct piece *p, enum quant_dtype dtype, size_t i, uint32_t bits)
{
	int exp = (int)(bits >> 23 & 255u) - 112;
	uint32_t mant = bits >> 13 & 0x3ffu;

	if (dtype == QUANT_F32) {
		host_put(p->src + p->src_at, i, bits);
		return;
	}
	if (dtype == QUANT_BF16) {
		host_put16(p->src + p->src_at, i, bits >> 16);
		return;
	}
	/* float16: cut off, and something else where it has no such exponent. */
	if (exp < 1)
		mant = exp < -10 ? 0 : (mant | 0x400u) >> (1 - exp);
	exp = exp < 0 ? 0 : exp > 31 ? 31 : exp;
	host_put16(p->src + p->src_at, i, (bits >> 16 & 0x8000u) | (uint32_t)exp << 10 | mant);
}

/* Floats as a block with this exponent holds them: many near its top, zeros; some pieces lie. */
static inline void piece_floats(struct piece *p, enum quant_dtype dtype)
{
	bool lies = rng_below(4) == 0;

	for (size_t i = 0; i < p->chunk.count; i++) {
		uint32_t bits = (uint32_t)rng();
		uint32_t below = rng_below(48), exp = piece_exp(p, i);

		if (!lies || rng_below(64) != 0)
			bits = (bits & 0x807fffffu) | (exp > below ? exp - below : 0) << 23;
		if (rng_below(32) == 0)
			bits &= 0x80000000u;
		if (rng_below(32) == 0)
			bits &= 0xffff0000u;
		piece_put(p, dtype, i, bits);
	}
}

/* Sums of every width, so that small, tied and extreme ones occur. */
static inline void piece_sums(struct piece *p, enum quant_wire wire)
{
	const bool narrow = wire == QUANT_WIRE_16;

	for (size_t i = 0; i < p->chunk.count; i++) {
		uint32_t word = (uint32_t)((int32_t)(uint32_t)rng() >> rng_below(32));

		if (narrow)
			word = (uint32_t)((int32_t)word >> 16);
		if (rng_below(64) == 0)
			word = narrow ? 0x8000u : 0x80000000u;
		if (rng_below(16) == 0)
			word = (uint32_t)((int32_t)rng_below(32768) * (int32_t)p->divisor);
		if (rng_below(4) == 0)
			word = random_tie(&rng_state, p->divisor, 20) *
			       (rng_below(2) ? 1u : 0xffffffffu);
		if (narrow)
			wire_put16(p->src + p->src_at, i, word);
		else
			wire_put(p->src + p->src_at, i, word);
	}
}

static inline void piece_words(struct piece *p)
{
	for (size_t i = 0; i < p->chunk.count; i++) {
		uint32_t word = (uint32_t)rng();

		if (rng_below(4) == 0)
			word = (word & 0x80000003u) | (rng_below(2) ? 0x7f800000u : 0u);
		host_put(p->src + p->src_at, i, word);
	}
}

#endif
