// SPDX-License-Identifier: BSD-3-Clause
// gpu_line.c - the pieces of operations on one device: their staging and what is launched for them.
//
// Events tell the CPU when a copy has come; what one stream does for another is never in flight at the same
// time, because the CPU starts it only after it has seen the event.
#include "host/gpu_line.h"

#include <stdio.h>

#include "host/include/tally.h"
#include "kernels/cuda/quant_cuda.h"
#include "kernels/quant.h"
#include "proto/wire.h"

enum {
	LINE_ALIGN = 512, /* of what copies and kernels start with */
	LINE_DEPTH = 4,	  /* the largest pieces that staging holds */
	LINE_BYTES_MIN = 1 << 20,
	LINE_BLOCKS = 128, /* elements of a piece, for each byte of a chunk */
};

static size_t line_align(uint64_t bytes)
{
	return (size_t)((bytes + LINE_ALIGN - 1) / LINE_ALIGN * LINE_ALIGN);
}

static uint64_t line_blocks(uint64_t count)
{
	return (count + QUANT_BLOCK - 1) / QUANT_BLOCK;
}

size_t gpu_line_bytes(uint16_t p_max)
{
	const uint64_t span = (uint64_t)LINE_BLOCKS * p_max;
	const size_t bytes = LINE_DEPTH * (line_align(line_blocks(span)) + line_align(4 * span));

	return bytes > LINE_BYTES_MIN ? bytes : LINE_BYTES_MIN;
}

static struct gpu_piece *line_at(struct gpu_line *line, uint64_t number)
{
	return &line->pieces[number % GPU_PIECES];
}

struct gpu_piece *gpu_line_piece(const struct gpu_work *work, uint64_t element)
{
	return line_at(work->line, work->at + element / work->span);
}

/* --- Launches ------------------------------------------------------------------------------------- */

static unsigned work_float(const struct gpu_work *work)
{
	return work->tensor.dtype == WIRE_F16	 ? QUANT_F16
	       : work->tensor.dtype == WIRE_BF16 ? QUANT_BF16
						 : QUANT_F32;
}

static unsigned work_wired(const struct gpu_work *work)
{
	return work_float(work) * QUANT_WIRES + (work->width == 2 ? QUANT_WIRE_16 : QUANT_WIRE_32);
}

static bool work_scales(const struct gpu_work *work)
{
	return work->form == COLL_FLOAT;
}

static float work_scale(float factor)
{
	return quantizer_scales(factor) ? factor : 1;
}

/* Where element `first` of a tensor is, as a kernel takes it. */
static uint64_t work_address(const struct gpu_work *work, const uint8_t *tensor, uint64_t first)
{
	return (uint64_t)(uintptr_t)tensor + first * quantizer_bytes(work->tensor.dtype);
}

static int piece_launch(struct gpu_device *device, const struct gpu_piece *piece,
			enum gpu_kernel kernel, struct CUstream_st *stream, void **args)
{
	return gpu_device_launch(device, kernel, stream, args, piece->count);
}

static int piece_mark(struct gpu_device *device, struct gpu_piece *piece,
		      struct CUstream_st *stream, enum gpu_piece_state state)
{
	const int rc = GPU_CALL(device, cuEventRecord, piece->event, stream);

	if (rc == TALLY_OK)
		piece->state = state;
	return rc;
}

static int piece_scan(struct gpu_device *device, struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;
	uint64_t src = work_address(work, work->tensor.src, piece->first), count = piece->count;
	uint64_t exp = device->scratch + piece->exp, counter = device->scratch + device->bytes;
	float prescale = work_scale(work->tensor.prescale);
	void *args[] = { &src, &count, &prescale, &exp, &counter };

	if (piece_launch(device, piece, GPU_SCAN + work_float(work), device->up, args) < 0 ||
	    gpu_device_to_host(device, piece->exp, line_blocks(count)) < 0)
		return TALLY_DEVICE;
	return piece_mark(device, piece, device->up, PIECE_SCANNING);
}

static int piece_quantize(struct gpu_device *device, const struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;
	uint64_t dst = device->scratch + piece->words, exp = device->scratch + piece->exp;
	uint64_t src = work_address(work, work->tensor.src, piece->first), count = piece->count;
	struct quant_layout layout = { 0, 0 };
	float prescale = work_scale(work->tensor.prescale);
	uint32_t world = work->world;
	void *args[] = { &dst, &layout, &src, &count, &prescale, &exp, &world };

	if (gpu_device_to_device(device, device->up, piece->exp, line_blocks(count)) < 0)
		return TALLY_DEVICE;
	return piece_launch(device, piece, GPU_QUANTIZE + work_wired(work), device->up, args);
}

/* Words that have no exponent: in order, or as they are. */
static int piece_order(struct gpu_device *device, const struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;
	uint64_t dst = device->scratch + piece->words;
	uint64_t src = work_address(work, work->tensor.src, piece->first), count = piece->count;
	const bool real = work->tensor.dtype != WIRE_I32;
	uint32_t negate = work->tensor.op == WIRE_MIN;
	uint32_t mask = 0 - negate;
	void *args[] = { &dst, &src, &count, real ? &negate : &mask };

	return piece_launch(device, piece, real ? GPU_ORDER + work_float(work) : GPU_SWAP,
			    device->up, args);
}

static int piece_fill(struct gpu_device *device, struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;
	const int rc = work_scales(work) ? piece_quantize(device, piece)
					 : piece_order(device, piece);

	if (rc < 0 ||
	    gpu_device_to_host(device, piece->words, (size_t)piece->count * work->width) < 0)
		return TALLY_DEVICE;
	return piece_mark(device, piece, device->up, PIECE_FILLING);
}

static int piece_dequantize(struct gpu_device *device, const struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;
	uint64_t src = device->scratch + piece->words, exp = device->scratch + piece->exp;
	uint64_t dst = work_address(work, work->tensor.dst, piece->first), count = piece->count;
	uint64_t counter = device->scratch + device->bytes;
	struct quant_layout layout = { 0, 0 };
	float postscale = work_scale(work->tensor.postscale);
	uint32_t world = work->world, divisor = work->tensor.op == WIRE_AVG ? world : 1;
	void *args[] = { &dst, &src, &layout, &count, &postscale, &exp, &world, &divisor, &counter };

	/* Where the CPU has scanned, the device does not have them yet. */
	if (!work->up &&
	    gpu_device_to_device(device, device->down, piece->exp, line_blocks(count)) < 0)
		return TALLY_DEVICE;
	return piece_launch(device, piece, GPU_DEQUANTIZE + work_wired(work), device->down, args);
}

static int piece_unorder(struct gpu_device *device, const struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;
	uint64_t src = device->scratch + piece->words, count = piece->count;
	uint64_t dst = work_address(work, work->tensor.dst, piece->first);
	const bool real = work->tensor.dtype != WIRE_I32, average = work->tensor.op == WIRE_AVG;
	uint32_t negate = work->tensor.op == WIRE_MIN, divisor = work->world;
	uint32_t mask = 0 - negate;
	void *args[] = { &dst, &src, &count, real ? &negate : average ? &divisor : &mask };

	return piece_launch(device, piece,
			    real      ? GPU_UNORDER + work_float(work)
			    : average ? GPU_AVERAGE
				      : GPU_SWAP,
			    device->down, args);
}

static int piece_write(struct gpu_device *device, struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;
	int rc;

	if (gpu_device_to_device(device, device->down, piece->words,
				 (size_t)piece->count * work->width) < 0)
		return TALLY_DEVICE;
	rc = work_scales(work) ? piece_dequantize(device, piece) : piece_unorder(device, piece);
	return rc < 0 ? rc : piece_mark(device, piece, device->down, PIECE_WRITING);
}

/* --- The order of things -------------------------------------------------------------------------- */

/* All results are in: the last piece of an operation to come to this also tells the caller's stream. */
static int piece_return(struct gpu_device *device, struct gpu_piece *piece)
{
	struct gpu_work *work = piece->work;

	work->nr_returned++;
	if (!work->down) {
		piece->state = PIECE_DONE;
		return TALLY_OK;
	}
	if (piece_write(device, piece) < 0)
		return TALLY_DEVICE;
	if (work->nr_returned < work->nr)
		return TALLY_OK;
	if (GPU_CALL(device, cuEventRecord, work->end, device->down) < 0)
		return TALLY_DEVICE;
	return GPU_CALL(device, cuStreamWaitEvent, work->stream, work->end, 0);
}

/* 1: it is in another state than before, 0, or TALLY_DEVICE. */
static int piece_progress(struct gpu_device *device, struct gpu_piece *piece)
{
	int rc;

	switch (piece->state) {
	case PIECE_SCANNING:
	case PIECE_FILLING:
	case PIECE_WRITING:
		rc = gpu_device_query(device, piece->event);
		if (rc > 0)
			piece->state++;
		return rc;
	case PIECE_AGREED:
		if (piece->work->up)
			rc = piece_fill(device, piece);
		else
			rc = TALLY_OK, piece->state = PIECE_READY;
		return rc < 0 ? rc : 1;
	case PIECE_RETURNED:
		rc = piece_return(device, piece);
		return rc < 0 ? rc : 1;
	case PIECE_SCANNED:
	case PIECE_READY:
	case PIECE_DONE:
		break;
	}
	return 0;
}

static void work_count(struct gpu_line *line, struct gpu_work *work)
{
	while (work->nr_scanned < work->nr_entered &&
	       line_at(line, work->at + work->nr_scanned)->state >= PIECE_SCANNED)
		work->nr_scanned++;
	while (work->nr_ready < work->nr_scanned &&
	       line_at(line, work->at + work->nr_ready)->state >= PIECE_READY)
		work->nr_ready++;
}

int gpu_line_progress(struct gpu_line *line)
{
	int moved = 0;

	for (uint64_t i = line->head; i < line->tail; i++) {
		struct gpu_piece *piece = line_at(line, i);
		const int rc = piece_progress(&line->device, piece);

		if (rc < 0)
			return rc;
		moved += rc;
		if (rc > 0)
			work_count(line, piece->work);
	}
	while (line->head < line->tail && line_at(line, line->head)->state == PIECE_DONE) {
		struct gpu_piece *piece = line_at(line, line->head++);

		piece->work->nr_done++;
		gpu_device_event_put(&line->device, piece->event);
	}
	return moved;
}

/* --- Entering ------------------------------------------------------------------------------------- */

/* Room in the ring for a piece; what would cross its end starts at the beginning. */
static bool piece_place(const struct gpu_line *line, struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;
	const size_t ring = line->device.bytes, exp = line_align(line_blocks(piece->count));
	const size_t bytes = exp + line_align((uint64_t)piece->count * work->width);
	const bool empty = line->head == line->tail;
	uint64_t begin = empty ? 0 : line->pieces[(line->tail - 1) % GPU_PIECES].end;
	const uint64_t oldest = empty ? 0 : line->pieces[line->head % GPU_PIECES].begin;

	if (begin % ring + bytes > ring)
		begin += ring - begin % ring;
	if (begin + bytes - oldest > ring)
		return false;
	piece->begin = begin;
	piece->end = begin + bytes;
	piece->exp = (size_t)(begin % ring);
	piece->words = piece->exp + exp;
	return true;
}

static int piece_start(struct gpu_device *device, struct gpu_piece *piece)
{
	const struct gpu_work *work = piece->work;

	piece->state = work_scales(work) ? PIECE_SCANNED : PIECE_READY;
	if (!work->up)
		return TALLY_OK;
	return work_scales(work) ? piece_scan(device, piece) : piece_fill(device, piece);
}

static int work_enter(struct gpu_line *line, struct gpu_work *work)
{
	const uint64_t first = work->nr_entered * work->span, left = work->count - first;
	struct gpu_piece *piece = line_at(line, line->tail);

	if (line->tail - line->head == GPU_PIECES)
		return 0;
	*piece = (struct gpu_piece){ .work = work, .first = first };
	piece->count = left < work->span ? (uint32_t)left : work->span;
	piece->left = (piece->count + work->per - 1) / work->per;
	if (!piece_place(line, piece))
		return 0;
	piece->event = gpu_device_event_get(&line->device);
	if (!piece->event || piece_start(&line->device, piece) < 0) {
		gpu_device_event_put(&line->device, piece->event);
		return TALLY_DEVICE;
	}
	if (!work->nr_entered++)
		work->at = line->tail;
	line->tail++;
	return 1;
}

int gpu_line_enter(struct gpu_line *line, struct gpu_work *work)
{
	int rc, nr = 0;

	/* What the CPU reads itself is not there before. */
	if (!work->up) {
		rc = gpu_line_come(line, work);
		if (rc <= 0)
			return rc;
	}
	for (; work->nr_entered < work->nr; nr++) {
		rc = work_enter(line, work);
		if (rc < 0)
			return rc;
		if (!rc)
			break;
	}
	work_count(line, work);
	return nr;
}

/* --- Operations ----------------------------------------------------------------------------------- */

/* What is captured runs later, and again: an operation with other ranks cannot. */
static int line_capturing(struct gpu_device *device, struct CUstream_st *stream)
{
	int capturing = 0;

	if (GPU_CALL(device, cuStreamIsCapturing, stream, &capturing) < 0)
		return TALLY_DEVICE;
	if (!capturing)
		return TALLY_OK;
	device->error.status = TALLY_INVALID;
	snprintf(device->error.text, sizeof(device->error.text),
		 "the stream is being captured into a graph, which cannot hold an all-reduce: post it "
		 "outside of the capture");
	return TALLY_INVALID;
}

int gpu_line_begin(struct gpu_line *line, struct gpu_work *work)
{
	struct gpu_device *device = &line->device;
	const int rc = line_capturing(device, work->stream);

	if (rc < 0)
		return rc;
	work->begin = gpu_device_event_get(device);
	work->end = work->begin ? gpu_device_event_get(device) : NULL;
	if (!work->end || GPU_CALL(device, cuEventRecord, work->begin, work->stream) < 0 ||
	    GPU_CALL(device, cuStreamWaitEvent, device->up, work->begin, 0) < 0 ||
	    GPU_CALL(device, cuStreamWaitEvent, device->down, work->begin, 0) < 0) {
		gpu_device_event_put(device, work->begin);
		gpu_device_event_put(device, work->end);
		return TALLY_DEVICE;
	}
	return TALLY_OK;
}

int gpu_line_come(struct gpu_line *line, struct gpu_work *work)
{
	const int rc = work->come ? 1 : gpu_device_query(&line->device, work->begin);

	work->come = rc > 0;
	return rc;
}

int gpu_line_finish(struct gpu_line *line, struct gpu_work *work)
{
	if (work->nr_done < work->nr)
		return 0;
	return work->down ? gpu_device_query(&line->device, work->end) : 1;
}

void gpu_line_clear(struct gpu_line *line)
{
	for (; line->head < line->tail; line->head++)
		gpu_device_event_put(&line->device, line_at(line, line->head)->event);
}
