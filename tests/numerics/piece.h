/* SPDX-License-Identifier: BSD-3-Clause */
/* piece.h - what two tables of kernels are compared on: pieces of tensors, random or swept. */
#ifndef TESTS_NUMERICS_PIECE_H
#define TESTS_NUMERICS_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/quant.h"

#define PIECE_COUNT 1500 /* most elements */
#define PIECE_BLOCKS 8
#define PIECE_ROOM (4 * PIECE_COUNT + 128) /* with margins that nobody may write */
#define PIECE_AT 32			   /* where the data begin, at least */

struct piece {
	struct quant_chunk chunk;
	uint8_t exp[PIECE_BLOCKS];
	uint32_t divisor;
	int negate;
	float factor;
	enum quant_dtype dtype;
	enum quant_wire wire;
	size_t src_at, dst_at; /* alignment */
	uint8_t src[PIECE_ROOM];
};

struct piece_output {
	uint8_t bytes[PIECE_ROOM];
	uint64_t value; /* what the function returned */
};

/* A function of the tables. */
struct piece_subject {
	const char *name;
	bool formats, wires; /* one for each format, for each width on the wire */
	void (*fill)(struct piece *piece);
	void (*run)(const struct quant_ops *ops, const struct piece *piece,
		    struct piece_output *output);
};

#define PIECE_SUBJECTS 16
extern const struct piece_subject piece_subjects[PIECE_SUBJECTS];

uint64_t piece_random(void);
void piece_seed(uint64_t seed);

/* Random place, scale and data for the subject. */
void piece_draw(struct piece *piece, const struct piece_subject *subject);

/* Elements first .. first + count - 1 of all that have 16 bits, for subjects that read such. */
void piece_sweep(struct piece *piece, uint32_t first, uint32_t count);

#endif
