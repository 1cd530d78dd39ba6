/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_line.h - the pieces of operations on one device, first come, first served: their staging and what is
 * launched for them.
 *
 * The staging of a piece has its exponents, then its words.  It is taken from the ring when the piece enters the
 * line, and given back, in that order, when the piece is done.
 */
#ifndef HOST_GPU_LINE_H
#define HOST_GPU_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "host/gpu_device.h"
#include "host/quantizer.h"

enum { GPU_PIECES = 64 }; /* in a line */

enum gpu_piece_state {
	PIECE_SCANNING, /* the device looks for exponents */
	PIECE_SCANNED,	/* they are there, or the CPU will look for them */
	PIECE_AGREED,	/* those of all ranks are there */
	PIECE_FILLING,	/* the device writes words */
	PIECE_READY,	/* words may be sent, results take their places */
	PIECE_RETURNED, /* all results are there */
	PIECE_WRITING,	/* the device writes the tensor */
	PIECE_DONE,
};

struct gpu_piece {
	enum gpu_piece_state state;
	struct gpu_work *work;
	uint64_t first; /* element of the operation */
	uint32_t count;
	uint32_t left;	     /* data chunks whose results are not there */
	uint64_t begin, end; /* in the ring: counted since it was made */
	size_t exp, words;   /* in either half of staging */
	struct CUevent_st *event;
};

/* An operation.  Its pieces stand in the line one behind the other. */
struct gpu_work {
	struct gpu_line *line; /* NULL: unused */
	struct quantizer_tensor tensor;
	struct CUstream_st *stream; /* the caller's */
	uint64_t count;
	uint32_t world, per; /* per: elements of a data chunk */
	uint8_t form, width;
	bool up, down; /* src, dst is device memory */
	bool finished; /* dst has everything, and the caller's stream knows */
	bool come;     /* the caller's stream has come to where the operation was posted */
	struct CUevent_st *begin, *end;
	uint32_t span;		       /* elements of a piece */
	uint64_t nr;		       /* pieces */
	uint64_t at;		       /* in the line: that of the first piece */
	uint64_t nr_entered;	       /* have staging */
	uint64_t nr_scanned, nr_ready; /* without a gap: that far, or further */
	uint64_t nr_returned, nr_done; /* returned: on their way to dst; in any order */
};

struct gpu_line {
	struct gpu_device device;
	uint64_t head, tail; /* pieces that are in the line: at number % GPU_PIECES */
	struct gpu_piece pieces[GPU_PIECES];
	unsigned nr_works;
};

/* Bytes of staging for operations of chunks of p_max bytes. */
size_t gpu_line_bytes(uint16_t p_max);

/* The caller's stream is made to come before ours: 0, or an error in device.error.  In the device's context, as all below. */
int gpu_line_begin(struct gpu_line *line, struct gpu_work *work);
/* As many pieces of work as have room: how many. */
int gpu_line_enter(struct gpu_line *line, struct gpu_work *work);
/* What has come, and what follows from it: whether anything, or TALLY_DEVICE. */
int gpu_line_progress(struct gpu_line *line);
/* Whether the caller's stream has come to where it was when the operation was posted: 1, 0 or TALLY_DEVICE. */
int gpu_line_come(struct gpu_line *line, struct gpu_work *work);
/* The last of an operation: 1 when the caller's stream knows, and dst is written. */
int gpu_line_finish(struct gpu_line *line, struct gpu_work *work);
/* Nothing is in flight: all pieces are forgotten. */
void gpu_line_clear(struct gpu_line *line);

/* The piece with an element of the operation; it has entered. */
struct gpu_piece *gpu_line_piece(const struct gpu_work *work, uint64_t element);

#endif
