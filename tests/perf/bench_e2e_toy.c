// SPDX-License-Identifier: BSD-3-Clause
// bench_e2e_toy.c - an all-reduce as straight-line code: scan, quantise, add, dequantise.
//
// It uses the product's own arithmetic on packets of the product's size, so that the difference is
// what sessions, windows, retransmission, parsing and handing over cost.  As in the product a result
// is read by all ranks where the last contribution lay; nothing is copied.
#include "tests/perf/bench_e2e_toy.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/quant.h"
#include "switch/core/add.h"

enum {
	TOY_WINDOW = 64,	  /* packets of a rank in flight */
	TOY_SEGMENT_CHUNKS = 512, /* whose exponents are found at once */
	TOY_ALIGN = 64,
};

struct toy {
	struct toy_data data;
	uint32_t p, stride;
	const struct quant_ops *quant;
	const struct add_ops *add;
	uint8_t *packets;      /* ranks x TOY_WINDOW x stride */
	uint8_t *cells;	       /* TOY_WINDOW x stride */
	uint8_t *own, *agreed; /* exponents of a segment */
};

void toy_free(struct toy *toy)
{
	if (!toy)
		return;
	free(toy->packets);
	free(toy->cells);
	free(toy->own);
	free(toy->agreed);
	free(toy);
}

struct toy *toy_new(const struct toy_data *data, uint32_t p)
{
	struct toy *toy = calloc(1, sizeof(*toy));
	size_t blocks;

	if (!toy)
		return NULL;
	toy->data = *data;
	toy->p = p;
	/* An odd number of lines, so that packets do not meet in the same sets of the cache. */
	toy->stride = (p + TOY_ALIGN - 1) / TOY_ALIGN * TOY_ALIGN | TOY_ALIGN;
	toy->quant = quant_select(NULL);
	toy->add = add_select(NULL);
	blocks = (size_t)TOY_SEGMENT_CHUNKS * p / 4 / QUANT_BLOCK;
	toy->packets = aligned_alloc(TOY_ALIGN, (size_t)data->ranks * TOY_WINDOW * toy->stride);
	toy->cells = aligned_alloc(TOY_ALIGN, (size_t)TOY_WINDOW * toy->stride);
	toy->own = calloc(1, blocks);
	toy->agreed = calloc(1, blocks);
	if (!toy->packets || !toy->cells || !toy->own || !toy->agreed) {
		toy_free(toy);
		return NULL;
	}
	return toy;
}

/* The exponents of count elements from first on, agreed among all ranks. */
static void toy_agree(struct toy *toy, size_t first, size_t count)
{
	const size_t blocks = (count + QUANT_BLOCK - 1) / QUANT_BLOCK;

	memset(toy->agreed, 0, blocks);
	for (unsigned rank = 0; rank < toy->data.ranks; rank++) {
		toy->quant->floats[QUANT_F32].scan(toy->own, toy->data.src[rank] + first, count);
		for (size_t i = 0; i < blocks; i++) {
			if (toy->own[i] > toy->agreed[i])
				toy->agreed[i] = toy->own[i];
		}
	}
}

static uint8_t *toy_packet(const struct toy *toy, unsigned rank, unsigned i)
{
	return toy->packets + ((size_t)rank * TOY_WINDOW + i) * toy->stride;
}

static void toy_contribute(struct toy *toy, unsigned rank, unsigned i, uint32_t len)
{
	uint8_t *packet = toy_packet(toy, rank, i);
	uint8_t *cell = toy->cells + (size_t)i * toy->stride;

	if (rank == 0)
		toy->add->store[WIRE_ADD32](cell, packet, len);
	else if (rank < toy->data.ranks - 1)
		toy->add->combine[WIRE_ADD32](cell, packet, len);
	else
		toy->add->finish[WIRE_ADD32](cell, packet, len);
}

/* Up to TOY_WINDOW packets of every rank: elements first to end - 1 of a segment that starts at base. */
static void toy_window(struct toy *toy, size_t base, size_t first, size_t end)
{
	const size_t per = toy->p / 4;
	const unsigned ranks = toy->data.ranks;

	for (unsigned rank = 0; rank < ranks; rank++) {
		for (size_t at = first, i = 0; at < end; at += per, i++) {
			const struct quant_chunk chunk = {
				.exp = toy->agreed + (at - base) / QUANT_BLOCK,
				.phase = (uint32_t)(at % QUANT_BLOCK),
				.world = ranks,
				.count = end - at < per ? end - at : per,
			};

			toy->quant->floats[QUANT_F32].quantize[QUANT_WIRE_32](
				toy_packet(toy, rank, (unsigned)i), toy->data.src[rank] + at,
				&chunk);
			toy_contribute(toy, rank, (unsigned)i, toy->p);
		}
	}
	for (unsigned rank = 0; rank < ranks; rank++) {
		for (size_t at = first, i = 0; at < end; at += per, i++) {
			const struct quant_chunk chunk = {
				.exp = toy->agreed + (at - base) / QUANT_BLOCK,
				.phase = (uint32_t)(at % QUANT_BLOCK),
				.world = ranks,
				.count = end - at < per ? end - at : per,
			};

			toy->quant->floats[QUANT_F32].dequantize[QUANT_WIRE_32](
				toy->data.dst[rank] + at, toy_packet(toy, ranks - 1, (unsigned)i),
				&chunk, 1);
		}
	}
}

void toy_run(struct toy *toy)
{
	const size_t per = toy->p / 4, segment = per * TOY_SEGMENT_CHUNKS,
		     window = per * TOY_WINDOW;
	const size_t count = toy->data.count;

	for (size_t base = 0; base < count; base += segment) {
		const size_t end = count - base < segment ? count : base + segment;

		toy_agree(toy, base, end - base);
		for (size_t at = base; at < end; at += window)
			toy_window(toy, base, at, end - at < window ? end : at + window);
	}
}
