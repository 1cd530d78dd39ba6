// SPDX-License-Identifier: BSD-3-Clause
// quantizer.c - a tensor's elements to and from the payloads of chunks, for every dtype and operation.
//
// Floats that are scaled go through a block of float32 on the way, in and out; all others go straight from
// the caller's memory into the packet and back.
#include "host/quantizer.h"

#include <string.h>

uint32_t quantizer_bytes(uint8_t dtype)
{
	return dtype == WIRE_F16 || dtype == WIRE_BF16 ? 2 : 4;
}

bool quantizer_is_float(uint8_t dtype)
{
	return dtype != WIRE_I32;
}

bool quantizer_adds(uint8_t op)
{
	return op == WIRE_SUM || op == WIRE_AVG;
}

static const struct quant_float *tensor_float(const struct quantizer *quantizer,
					      const struct quantizer_tensor *tensor)
{
	return &quantizer->ops->floats[tensor->dtype == WIRE_F16    ? QUANT_F16
				       : tensor->dtype == WIRE_BF16 ? QUANT_BF16
								    : QUANT_F32];
}

void quantizer_plan(struct coll_args *args, const struct quantizer_tensor *tensor)
{
	const bool real = quantizer_is_float(tensor->dtype), adds = quantizer_adds(tensor->op);

	args->form = adds && real ? COLL_FLOAT : COLL_RAW;
	args->kind = adds ? WIRE_ADD32 : WIRE_MAX32;
	args->width = 4;
	if (args->form == COLL_FLOAT && tensor->width == 2) {
		args->kind = WIRE_ADD16;
		args->width = 2;
	}
	if (adds && !real && tensor->saturate) {
		args->kind = WIRE_ADD32SAT;
		args->desc.flags = WIRE_DESC_SATURATE;
	}
}

bool quantizer_scales(float factor)
{
	const float one = 1;
	uint32_t bits, ones;

	memcpy(&bits, &factor, sizeof(bits));
	memcpy(&ones, &one, sizeof(ones));
	return bits << 1 != 0 && bits != ones;
}

static const uint8_t *tensor_src(const struct quantizer_tensor *tensor,
				 const struct coll_chunk *chunk)
{
	return tensor->src + chunk->first * quantizer_bytes(tensor->dtype);
}

static enum quant_wire chunk_wire(const struct coll_chunk *chunk)
{
	return chunk->kind == WIRE_ADD16 ? QUANT_WIRE_16 : QUANT_WIRE_32;
}

static size_t chunk_width(const struct coll_chunk *chunk)
{
	return chunk->kind == WIRE_ADD16 ? 2 : 4;
}

static struct quant_chunk tensor_chunk(const struct quantizer *quantizer,
				       const struct coll_chunk *chunk)
{
	return (struct quant_chunk){
		.exp = chunk->e,
		.phase = chunk->phase,
		.world = quantizer->world,
		.count = chunk->count,
	};
}

/* The part of a piece from element first on that is in one block. */
static struct quant_chunk piece_run(const struct quant_chunk *piece, size_t first)
{
	const size_t at = piece->phase + first, room = QUANT_BLOCK - at % QUANT_BLOCK,
		     left = piece->count - first;

	return (struct quant_chunk){
		.exp = piece->exp + at / QUANT_BLOCK,
		.phase = (uint32_t)(at % QUANT_BLOCK),
		.world = piece->world,
		.count = left < room ? left : room,
	};
}

/* --- Exponents ---------------------------------------------------------------------------------- */

static uint64_t scan_scaled(const struct quantizer *quantizer,
			    const struct quantizer_tensor *tensor, const struct coll_chunk *chunk)
{
	const struct quant_float *from = tensor_float(quantizer, tensor);
	const struct quant_float *single = &quantizer->ops->floats[QUANT_F32];
	const uint32_t bytes = quantizer_bytes(tensor->dtype);
	const uint8_t *src = tensor_src(tensor, chunk);
	uint8_t *exp = chunk->e + WIRE_E_EXP;
	float block[QUANT_BLOCK];
	uint64_t nonfinite = 0;

	for (size_t first = 0; first < chunk->count; first += QUANT_BLOCK) {
		const size_t left = chunk->count - first,
			     count = left < QUANT_BLOCK ? left : QUANT_BLOCK;

		from->widen(block, src + first * bytes, count, tensor->prescale);
		nonfinite += single->scan(exp++, block, count);
	}
	return nonfinite;
}

uint64_t quantizer_scan(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
			const struct coll_chunk *chunk)
{
	if (!chunk->count)
		return 0;
	if (quantizer_scales(tensor->prescale))
		return scan_scaled(quantizer, tensor, chunk);
	return tensor_float(quantizer, tensor)
		->scan(chunk->e + WIRE_E_EXP, tensor_src(tensor, chunk), chunk->count);
}

/* --- To the wire -------------------------------------------------------------------------------- */

static void fill_scaled(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
			const struct coll_chunk *chunk, uint8_t *payload)
{
	const struct quant_float *from = tensor_float(quantizer, tensor);
	const quant_quantize_fn quantize =
		quantizer->ops->floats[QUANT_F32].quantize[chunk_wire(chunk)];
	const struct quant_chunk piece = tensor_chunk(quantizer, chunk);
	const uint32_t bytes = quantizer_bytes(tensor->dtype);
	const uint8_t *src = tensor_src(tensor, chunk);
	struct quant_chunk run;
	float block[QUANT_BLOCK];

	for (size_t first = 0; first < piece.count; first += run.count) {
		run = piece_run(&piece, first);
		from->widen(block, src + first * bytes, run.count, tensor->prescale);
		quantize(payload + first * chunk_width(chunk), block, &run);
	}
}

static void fill_float(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
		       const struct coll_chunk *chunk, uint8_t *payload)
{
	const struct quant_float *from = tensor_float(quantizer, tensor);
	const struct quant_chunk piece = tensor_chunk(quantizer, chunk);
	const uint8_t *src = tensor_src(tensor, chunk);

	if (!quantizer_adds(tensor->op))
		from->order(payload, src, chunk->count, tensor->op == WIRE_MIN);
	else if (quantizer_scales(tensor->prescale))
		fill_scaled(quantizer, tensor, chunk, payload);
	else
		from->quantize[chunk_wire(chunk)](payload, src, &piece);
}

void quantizer_fill(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
		    const struct coll_chunk *chunk, uint8_t *payload)
{
	const struct quant_ops *ops = quantizer->ops;
	const void *src = tensor_src(tensor, chunk);
	const size_t bytes = chunk->count * chunk_width(chunk);

	if (quantizer_is_float(tensor->dtype))
		fill_float(quantizer, tensor, chunk, payload);
	else if (tensor->op == WIRE_MIN)
		ops->invert_be32(payload, src, chunk->count);
	else
		ops->store_be32(payload, src, chunk->count);
	memset(payload + bytes, 0, chunk->len - bytes);
}

void quantizer_sum(const struct quantizer *quantizer, const struct coll_chunk *chunk,
		   const uint8_t *payload, uint64_t sums[2])
{
	if (chunk_wire(chunk) == QUANT_WIRE_16)
		quantizer->ops->sum_be16(sums, payload, chunk->count);
	else
		quantizer->ops->sum_be32(sums, payload, chunk->count);
}

/* --- From the wire ------------------------------------------------------------------------------ */

/* Rounded to float32, multiplied, and rounded to the caller's format. */
static uint64_t deliver_scaled(const struct quantizer *quantizer,
			       const struct quantizer_tensor *tensor,
			       const struct coll_chunk *chunk, const uint8_t *payload)
{
	const struct quant_float *to = tensor_float(quantizer, tensor);
	const quant_dequantize_fn dequantize =
		quantizer->ops->floats[QUANT_F32].dequantize[chunk_wire(chunk)];
	const struct quant_chunk piece = tensor_chunk(quantizer, chunk);
	const uint32_t divisor = tensor->op == WIRE_AVG ? quantizer->world : 1;
	const uint32_t bytes = quantizer_bytes(tensor->dtype);
	uint8_t *dst = tensor->dst + chunk->first * bytes;
	struct quant_chunk run;
	float block[QUANT_BLOCK];
	uint64_t nonfinite = 0;

	for (size_t first = 0; first < piece.count; first += run.count) {
		run = piece_run(&piece, first);
		nonfinite += dequantize(block, payload + first * chunk_width(chunk), &run, divisor);
		to->narrow(dst + first * bytes, block, run.count, tensor->postscale);
	}
	return nonfinite;
}

static uint64_t deliver_float(const struct quantizer *quantizer,
			      const struct quantizer_tensor *tensor, const struct coll_chunk *chunk,
			      const uint8_t *payload)
{
	const struct quant_float *to = tensor_float(quantizer, tensor);
	const struct quant_chunk piece = tensor_chunk(quantizer, chunk);
	uint8_t *dst = tensor->dst + chunk->first * quantizer_bytes(tensor->dtype);

	if (!quantizer_adds(tensor->op)) {
		to->unorder(dst, payload, chunk->count, tensor->op == WIRE_MIN);
		return 0;
	}
	if (quantizer_scales(tensor->postscale))
		return deliver_scaled(quantizer, tensor, chunk, payload);
	return to->dequantize[chunk_wire(chunk)](dst, payload, &piece,
						 tensor->op == WIRE_AVG ? quantizer->world : 1);
}

uint64_t quantizer_deliver(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
			   const struct coll_chunk *chunk, const uint8_t *payload)
{
	const struct quant_ops *ops = quantizer->ops;
	void *dst = tensor->dst + chunk->first * quantizer_bytes(tensor->dtype);

	if (quantizer_is_float(tensor->dtype))
		return deliver_float(quantizer, tensor, chunk, payload);
	if (tensor->op == WIRE_AVG)
		ops->average_i32(dst, payload, chunk->count, quantizer->world);
	else if (tensor->op == WIRE_MIN)
		ops->uninvert_be32(dst, payload, chunk->count);
	else
		ops->load_be32(dst, payload, chunk->count);
	return 0;
}

uint64_t quantizer_saturated(const struct coll_chunk *chunk, const uint8_t *payload)
{
	uint64_t limits = 0;

	if (chunk->kind != WIRE_ADD32SAT || !(chunk->flags & WIRE_SATURATED))
		return 0;
	for (uint32_t i = 0; i < chunk->count; i++) {
		const uint32_t word = wire_get32(payload + (size_t)4 * i);

		limits += word == UINT32_C(0x7fffffff) || word == UINT32_C(0x80000000);
	}
	/* A later contribution may have led away from the limit: the sum is wrong all the same. */
	return limits ? limits : 1;
}
