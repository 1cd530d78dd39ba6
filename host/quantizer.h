/* SPDX-License-Identifier: BSD-3-Clause */
/* quantizer.h - a tensor's elements to and from the payloads of chunks, for every dtype and operation. */
#ifndef HOST_QUANTIZER_H
#define HOST_QUANTIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "host/core/coll.h"
#include "kernels/quant.h"

struct quantizer {
	const struct quant_ops *ops;
	uint32_t world;
};

/* A tensor as the caller gave it: any alignment. */
struct quantizer_tensor {
	const uint8_t *src;
	uint8_t *dst;
	uint8_t dtype; /* enum wire_dtype */
	uint8_t op;    /* enum wire_op */
	uint8_t width; /* sums and averages of floats: 2, as int16 on the wire; else int32 */
	bool saturate; /* sums and averages of int32 */
	float prescale, postscale; /* sums and averages of floats; 0: 1 */
};

/* Bytes of an element in the caller's memory. */
uint32_t quantizer_bytes(uint8_t dtype);

/* Whether a factor changes anything: neither 0, which stands for none, nor 1.  By its bits: with subnormals read as 0
 * (DAZ) a comparison would take a small one for none, or trap. */
bool quantizer_scales(float factor);

/* Whether dtype is one of floats, and op adds. */
bool quantizer_is_float(uint8_t dtype);
bool quantizer_adds(uint8_t op);

/* How the tensor travels: form, kind, width and the descriptor's flags of *args. */
void quantizer_plan(struct coll_args *args, const struct quantizer_tensor *tensor);

/* Lane E, first transmission: the exponents of a segment into chunk->e.  Returns how many elements are
 * Inf or NaN, after the prescale. */
uint64_t quantizer_scan(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
			const struct coll_chunk *chunk);

/* Lane D: the chunk's elements into a payload of chunk->len bytes, zero-padded. */
void quantizer_fill(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
		    const struct coll_chunk *chunk, uint8_t *payload);

/* Lane D, chunks that are counted: the sums of a payload's words, for coll_count(). */
void quantizer_sum(const struct quantizer *quantizer, const struct coll_chunk *chunk,
		   const uint8_t *payload, uint64_t sums[2]);

/* Lane D: a result into the caller's memory.  Returns how many elements became NaN by exponent. */
uint64_t quantizer_deliver(const struct quantizer *quantizer, const struct quantizer_tensor *tensor,
			   const struct coll_chunk *chunk, const uint8_t *payload);

/* Lane D: how many sums of a result are at a limit, but at least 1, if one of its additions saturated; else 0. */
uint64_t quantizer_saturated(const struct coll_chunk *chunk, const uint8_t *payload);

#endif
