// SPDX-License-Identifier: BSD-3-Clause
// quantizer.c - a tensor's elements to and from the payloads of chunks, for every dtype and operation.
#include "host/quantizer.h"

#include <string.h>

enum { QUANTIZER_BYTES = 4 }; /* of an element, in memory and on the wire */

bool quantizer_plan(struct coll_args *args, uint8_t dtype, uint8_t op)
{
	const bool sum = op == WIRE_SUM || op == WIRE_AVG;

	if (dtype != WIRE_F32 && dtype != WIRE_I32)
		return false;
	args->form = sum && dtype == WIRE_F32 ? COLL_FLOAT : COLL_RAW;
	args->kind = sum ? WIRE_ADD32 : WIRE_MAX32;
	args->width = QUANTIZER_BYTES;
	return true;
}

static const void *tensor_src(const struct quantizer_tensor *tensor, const struct coll_chunk *chunk)
{
	return tensor->src + chunk->first * QUANTIZER_BYTES;
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

uint64_t quantizer_scan(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
			const struct coll_chunk *chunk)
{
	if (!chunk->count)
		return 0;
	return quantizer->ops->floats[QUANT_F32].scan(chunk->e + WIRE_E_EXP,
						      tensor_src(tensor, chunk), chunk->count);
}

void quantizer_fill(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
		    const struct coll_chunk *chunk, uint8_t *payload)
{
	const struct quant_ops *ops = quantizer->ops;
	const void *src = tensor_src(tensor, chunk);
	const size_t bytes = (size_t)chunk->count * QUANTIZER_BYTES;
	const struct quant_chunk piece = tensor_chunk(quantizer, chunk);

	if (chunk->kind == WIRE_ADD32 && tensor->dtype == WIRE_F32)
		ops->floats[QUANT_F32].quantize[QUANT_WIRE_32](payload, src, &piece);
	else if (chunk->kind == WIRE_ADD32)
		ops->store_be32(payload, src, chunk->count);
	else if (tensor->dtype == WIRE_F32)
		ops->floats[QUANT_F32].order(payload, src, chunk->count, tensor->op == WIRE_MIN);
	else if (tensor->op == WIRE_MIN)
		ops->invert_be32(payload, src, chunk->count);
	else
		ops->store_be32(payload, src, chunk->count);
	memset(payload + bytes, 0, chunk->len - bytes);
}

void quantizer_sum(const struct quantizer *quantizer, const struct coll_chunk *chunk,
		   const uint8_t *payload, uint32_t sums[2])
{
	quantizer->ops->sum_be32(sums, payload, chunk->count);
}

uint64_t quantizer_deliver(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
			   const struct coll_chunk *chunk, const uint8_t *payload)
{
	const struct quant_ops *ops = quantizer->ops;
	void *dst = tensor->dst + chunk->first * QUANTIZER_BYTES;
	const struct quant_chunk piece = tensor_chunk(quantizer, chunk);
	const uint32_t divisor = tensor->op == WIRE_AVG ? quantizer->world : 1;

	if (chunk->kind == WIRE_ADD32 && tensor->dtype == WIRE_F32)
		return ops->floats[QUANT_F32].dequantize[QUANT_WIRE_32](dst, payload, &piece,
									divisor);
	if (tensor->op == WIRE_AVG)
		ops->average_i32(dst, payload, chunk->count, divisor);
	else if (chunk->kind == WIRE_ADD32)
		ops->load_be32(dst, payload, chunk->count);
	else if (tensor->dtype == WIRE_F32)
		ops->floats[QUANT_F32].unorder(dst, payload, chunk->count, tensor->op == WIRE_MIN);
	else if (tensor->op == WIRE_MIN)
		ops->uninvert_be32(dst, payload, chunk->count);
	else
		ops->load_be32(dst, payload, chunk->count);
	return 0;
}
