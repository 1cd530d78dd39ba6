/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of tensors to launch kernels on, and what the scalar table makes of them: for emulator and interpreter. */
#ifndef TESTS_CUDA_PIECE_H
#define TESTS_CUDA_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/quant_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PIECE_COUNT_MAX 4096
#define PIECE_BLOCKS_MAX (PIECE_COUNT_MAX / 256)
#define PIECE_ZONE 64 /* red bytes on both sides of what a kernel may touch */
#define PIECE_ROOM (80 * PIECE_COUNT_MAX + 2 * PIECE_ZONE + 64) /* packets can have wide gaps */
#define PIECE_PARAMS_MAX 9
#define PIECE_BUFFERS 4

enum piece_kind {
	PIECE_SCAN,
	PIECE_QUANTIZE,
	PIECE_DEQUANTIZE,
	PIECE_ORDER,
	PIECE_UNORDER,
	PIECE_SWAP,
	PIECE_AVERAGE
};

/* What a kernel may touch: size bytes at base + start. */
struct piece_buffer {
	uint8_t *base;
	size_t start, size;
	bool writable;
};

/* A launch. Its first buffer is the source, then come the result, the exponents, the count of NaN. */
struct piece {
	enum piece_kind kind;
	int dtype, wire; /* enum quant_dtype, enum quant_wire */
	unsigned grid, threads;
	uint64_t count;
	struct quant_layout layout;
	uint32_t world, divisor, negate;
	float factor;
	bool top; /* averages of a format's largest numbers */
	unsigned long long nonfinite, nonfinite_want;
	uint64_t compared;
	void *src_at, *dst_at, *exp_at, *nonfinite_at;
	struct piece_buffer buffer[PIECE_BUFFERS];
	uint8_t src[PIECE_ROOM], dst[PIECE_ROOM], want[PIECE_ROOM];
	uint8_t written[PIECE_ROOM]; /* of dst, how often */
	uint8_t exp[PIECE_BLOCKS_MAX + 2 * PIECE_ZONE];
	uint8_t exp_want[PIECE_BLOCKS_MAX + 2 * PIECE_ZONE];
};

void piece_seed(uint64_t seed);
uint64_t piece_random(void);

/* The turn-th launch of the kernel of that name; false: no kernel is called so. */
bool piece_make(struct piece *p, const char *kernel, uint64_t turn);

/* Pointers to the kernel's arguments, in their order; how many. */
unsigned piece_params(struct piece *p, void *params[PIECE_PARAMS_MAX]);

/* 0 if the kernel may do that, and has not written there before. */
int piece_access(struct piece *p, const void *at, size_t bytes, int writes);

/* For who cannot read the structure: where the kernel may go, and how it is launched. */
struct piece_view {
	uint64_t grid, threads, compared;
	struct {
		uint64_t at, size, writable;
	} buffer[PIECE_BUFFERS];
};

size_t piece_bytes(void);
void piece_look(const struct piece *p, struct piece_view *view);

/* NULL: every byte of the result is the scalar table's, and the rest is untouched. Else what is wrong. */
const char *piece_judge(struct piece *p);

/* What the launch was, in words. */
const char *piece_text(const struct piece *p);

#ifdef __cplusplus
}
#endif
#endif
