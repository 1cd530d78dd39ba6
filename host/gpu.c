// SPDX-License-Identifier: BSD-3-Clause
// gpu.c - operations on device memory: finds out which are, and keeps each between engine and device.
#include "host/gpu.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/gpu_line.h"
#include "host/include/tally.h"
#include "host/log.h"
#include "kernels/quant.h"

enum {
	GPU_DEVICES = 32,
	GPU_SEEN = 64, /* addresses that the CPU could read */
	GPU_SPAN = 128 /* elements of a piece, for each byte of a chunk */
};

struct gpu {
	struct gpu_work works[COLL_OPS];
	struct gpu_work begun; /* not attached yet */
	/* Attached operations whose pieces have not all entered, in the order of their posting. */
	uint8_t queue[COLL_OPS];
	unsigned head, tail;
	struct gpu_line *lines[GPU_DEVICES];
};

struct gpu_side {
	const char *name;
	const void *at;
	enum gpu_place place;
	int device;
};

/* --- Where a tensor lies -------------------------------------------------------------------------- */

/*
 * Without a driver: a system call, but only for what was not seen lately.  That a stale entry is taken for
 * readable is no worse than not to have asked.
 */
static bool gpu_readable(const struct gpu_args *args)
{
	static _Thread_local const void *seen[GPU_SEEN][2];
	const void *src = args->tensor->src, *dst = args->tensor->dst;
	const void **entry = seen[((uintptr_t)src ^ (uintptr_t)dst >> 7) / 64 % GPU_SEEN];

	if (entry[0] == src && entry[1] == dst)
		return true;
	if (!gpu_driver_readable(src, dst))
		return false;
	entry[0] = src;
	entry[1] = dst;
	return true;
}

/*
 * No driver is there to ask, or it does not answer; why: what it says, "": nothing.  Host memory needs none, and what
 * the CPU can read is taken for that.
 */
static int gpu_mute(const struct gpu_args *args, const char *why, struct gpu_error *error)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	char text[160];

	if (!args->stream && gpu_readable(args)) {
		if (why[0] && !atomic_flag_test_and_set(&told))
			log_print(TALLY_LOG_INFO,
				  "%s: what the CPU can read is taken for host memory", why);
		return 0;
	}
	snprintf(text, sizeof(text), "%.159s", why); /* which may be *error's own */
	error->status = args->stream && !why[0] ? TALLY_UNSUPPORTED : TALLY_DEVICE;
	snprintf(error->text, sizeof(error->text),
		 "%s, and no CUDA driver is at work in this process%s%s: pass host memory%s, or initialise "
		 "the driver first (libcuda.so.1, or what TALLY_LIBCUDA names)",
		 args->stream ? "a stream is given"
			      : "src or dst is not memory that the CPU can read",
		 why[0] ? ", " : "", text, args->stream ? " and no stream" : "");
	return error->status;
}

static int gpu_sides(const struct gpu_side sides[2], const struct gpu_args *args,
		     struct gpu_error *error)
{
	error->status = TALLY_INVALID;
	if (sides[0].place == GPU_HOST && sides[1].place == GPU_HOST) {
		if (!args->stream)
			return 0;
		snprintf(error->text, sizeof(error->text),
			 "a stream is given, but src and dst are host memory: wait for what the stream does "
			 "with them, and pass NULL");
		return error->status;
	}
	if (sides[0].place == sides[1].place && sides[0].device != sides[1].device) {
		snprintf(error->text, sizeof(error->text),
			 "src is on GPU %d, dst on GPU %d: they must be on the same",
			 sides[0].device, sides[1].device);
		return error->status;
	}
	for (unsigned i = 0; i < 2; i++)
		if (sides[i].place == GPU_DEVICE &&
		    (sides[i].device < 0 || sides[i].device >= GPU_DEVICES)) {
			error->status = TALLY_UNSUPPORTED;
			snprintf(error->text, sizeof(error->text),
				 "%s is on GPU %d: this version knows GPU 0 to %d", sides[i].name,
				 sides[i].device, GPU_DEVICES - 1);
			return error->status;
		}
	return 1;
}

static int gpu_locate(struct gpu_side sides[2], const struct gpu_args *args,
		      struct gpu_error *error, const struct gpu_driver **out)
{
	const struct gpu_driver *driver = gpu_driver_find(args->libcuda, error);

	if (!driver)
		return error->status == TALLY_INVALID ? error->status
						      : gpu_mute(args, error->text, error);
	*out = driver;
	for (unsigned i = 0; i < 2; i++) {
		const int code =
			gpu_driver_locate(driver, sides[i].at, &sides[i].place, &sides[i].device);

		if (code == CUDA_SUCCESS)
			continue;
		gpu_driver_fail(driver, "cuPointerGetAttributes", code, error);
		return gpu_mute(args, error->text, error);
	}
	return gpu_sides(sides, args, error);
}

/* --- Beginning ------------------------------------------------------------------------------------ */

/* Which device, and that nothing was begun. */
static int gpu_refuse(const struct gpu_line *line, struct gpu_error *error)
{
	const struct gpu_error *why = &line->device.error;

	error->status = why->status;
	snprintf(error->text, sizeof(error->text), "GPU %d: %.300s", line->device.ordinal,
		 why->text);
	return error->status;
}

static void gpu_line_free(struct gpu *gpu, int device)
{
	gpu_device_close(&gpu->lines[device]->device);
	free(gpu->lines[device]);
	gpu->lines[device] = NULL;
}

static int gpu_line_make(struct gpu *gpu, const struct gpu_driver *driver,
			 const struct gpu_args *args, int device, struct gpu_error *error)
{
	struct gpu_line *line = calloc(1, sizeof(*line));
	int rc;

	if (!line) {
		error->status = TALLY_NOMEM;
		snprintf(error->text, sizeof(error->text), "GPU %d: out of memory", device);
		return TALLY_NOMEM;
	}
	rc = gpu_device_open(&line->device, driver, device, gpu_line_bytes(args->p_max));
	if (rc < 0) {
		rc = gpu_refuse(line, error);
		free(line);
		return rc;
	}
	gpu->lines[device] = line;
	log_print(TALLY_LOG_INFO, "GPU %d: staging of %zu KiB, grids of at most %u blocks", device,
		  line->device.bytes / 1024, line->device.blocks);
	return TALLY_OK;
}

static void gpu_describe(struct gpu_work *work, const struct gpu_args *args)
{
	*work = (struct gpu_work){
		.tensor = *args->tensor,
		.stream = args->stream,
		.count = args->count,
		.world = args->world,
		.per = (uint32_t)args->p / args->width,
		.form = args->form,
		.width = args->width,
		.span = (uint32_t)GPU_SPAN * args->p,
	};
	work->nr = (work->count + work->span - 1) / work->span;
}

static int gpu_line_start(struct gpu_line *line, struct gpu_work *work)
{
	int rc;

	if (line->device.broken || gpu_device_enter(&line->device) < 0)
		return TALLY_DEVICE;
	rc = gpu_line_begin(line, work);
	gpu_device_leave(&line->device);
	return line->device.broken ? TALLY_DEVICE : rc;
}

int gpu_begin(struct gpu **out, const struct gpu_args *args, struct gpu_error *error)
{
	struct gpu_side sides[2] = { { .name = "src", .at = args->tensor->src },
				     { .name = "dst", .at = args->tensor->dst } };
	const struct gpu_driver *driver = NULL;
	struct gpu_line *line;
	int device, rc = gpu_locate(sides, args, error, &driver);

	if (rc <= 0)
		return rc;
	device = sides[0].place == GPU_DEVICE ? sides[0].device : sides[1].device;
	if (!*out)
		*out = calloc(1, sizeof(**out));
	if (!*out) {
		error->status = TALLY_NOMEM;
		snprintf(error->text, sizeof(error->text), "GPU %d: out of memory", device);
		return TALLY_NOMEM;
	}
	if (!(*out)->lines[device] && gpu_line_make(*out, driver, args, device, error) < 0)
		return error->status;
	line = (*out)->lines[device];
	gpu_describe(&(*out)->begun, args);
	(*out)->begun.up = sides[0].place == GPU_DEVICE;
	(*out)->begun.down = sides[1].place == GPU_DEVICE;
	if (gpu_line_start(line, &(*out)->begun) < 0) {
		gpu_refuse(line, error);
		/* Nothing is in flight but that streams wait for the caller's, which needs none of it. */
		if (line->device.broken && !line->nr_works)
			gpu_line_free(*out, device);
		return error->status;
	}
	(*out)->begun.line = line;
	line->nr_works++;
	return 1;
}

void gpu_attach(struct gpu *gpu, unsigned op)
{
	gpu->works[op] = gpu->begun;
	gpu->begun.line = NULL;
	gpu->queue[gpu->tail++ % COLL_OPS] = (uint8_t)op;
}

static void gpu_work_end(struct gpu_work *work)
{
	gpu_device_event_put(&work->line->device, work->begin);
	gpu_device_event_put(&work->line->device, work->end);
	work->line->nr_works--;
	work->line = NULL;
}

void gpu_cancel(struct gpu *gpu)
{
	gpu_work_end(&gpu->begun);
}

void gpu_detach(struct gpu *gpu, unsigned op)
{
	gpu_work_end(&gpu->works[op]);
}

/* --- Progress ------------------------------------------------------------------------------------- */

/* Operations enter in the order of their posting, because data are sent in that order. */
static int gpu_enter(struct gpu *gpu, struct gpu_line *line)
{
	int rc, moved = 0;

	while (gpu->head != gpu->tail) {
		struct gpu_work *work = &gpu->works[gpu->queue[gpu->head % COLL_OPS]];

		if (work->line != line)
			break;
		rc = gpu_line_enter(line, work);
		if (rc < 0)
			return rc;
		moved += rc;
		if (work->nr_entered < work->nr)
			break;
		gpu->head++;
	}
	return moved;
}

static int gpu_finish(struct gpu *gpu, struct gpu_line *line)
{
	int rc, moved = 0;

	for (unsigned i = 0; i < COLL_OPS; i++) {
		struct gpu_work *work = &gpu->works[i];

		if (work->line != line || work->finished)
			continue;
		rc = gpu_line_come(line, work);
		if (rc > 0)
			rc = gpu_line_finish(line, work);
		if (rc < 0)
			return rc;
		work->finished = rc > 0;
		moved += rc;
	}
	return moved;
}

static int gpu_line_drive(struct gpu *gpu, struct gpu_line *line)
{
	int entered = 0, finished = 0, moved;

	if (line->device.broken || gpu_device_enter(&line->device) < 0)
		return TALLY_DEVICE;
	moved = gpu_line_progress(line);
	if (moved >= 0)
		entered = gpu_enter(gpu, line);
	if (moved >= 0 && entered >= 0)
		finished = gpu_finish(gpu, line);
	gpu_device_leave(&line->device);
	return line->device.broken ? TALLY_DEVICE : moved + entered + finished;
}

int gpu_progress(struct gpu *gpu, struct gpu_error *error)
{
	int moved = 0;

	for (unsigned i = 0; i < GPU_DEVICES; i++) {
		struct gpu_line *line = gpu->lines[i];
		int rc;

		if (!line || !line->nr_works)
			continue;
		rc = gpu_line_drive(gpu, line);
		if (rc < 0)
			return gpu_refuse(line, error);
		moved += rc;
	}
	return moved;
}

struct gpu_limits gpu_limits(const struct gpu *gpu, unsigned op)
{
	const struct gpu_work *work = &gpu->works[op];
	struct gpu_limits limits = { UINT64_MAX, UINT64_MAX };

	if (work->form == COLL_FLOAT && work->nr_scanned < work->nr)
		limits.segments = work->nr_scanned;
	if (work->nr_ready < work->nr)
		limits.chunks = work->nr_ready * (work->span / work->per);
	return limits;
}

bool gpu_finished(const struct gpu *gpu, unsigned op)
{
	return gpu->works[op].finished;
}

bool gpu_held(const struct gpu *gpu, unsigned op)
{
	return !gpu->works[op].come;
}

/* --- Chunks --------------------------------------------------------------------------------------- */

static uint8_t *piece_exp(const struct gpu_piece *piece)
{
	return piece->work->line->device.pinned + piece->exp;
}

static uint64_t exp_bytes(const struct coll_chunk *chunk)
{
	return (chunk->count + QUANT_BLOCK - 1) / QUANT_BLOCK;
}

uint64_t gpu_scan(struct gpu *gpu, const struct quantizer *quantizer,
		  const struct coll_chunk *chunk)
{
	const struct gpu_work *work = &gpu->works[chunk->op];
	const uint8_t *exp;
	uint64_t blocks = 0;

	if (!chunk->count)
		return 0;
	if (!work->up)
		return quantizer_scan(quantizer, &work->tensor, chunk);
	exp = piece_exp(gpu_line_piece(work, chunk->first));
	memcpy(chunk->e + WIRE_E_EXP, exp, exp_bytes(chunk));
	for (uint64_t i = 0; i < exp_bytes(chunk); i++)
		blocks += exp[i] == 255;
	return blocks;
}

void gpu_agreed(struct gpu *gpu, const struct coll_chunk *chunk)
{
	const struct gpu_work *work = &gpu->works[chunk->op];
	struct gpu_piece *piece;

	if (!chunk->count)
		return;
	piece = gpu_line_piece(work, chunk->first);
	memcpy(piece_exp(piece), chunk->e + WIRE_E_EXP, exp_bytes(chunk));
	piece->state = PIECE_AGREED;
}

static uint8_t *chunk_words(const struct gpu_piece *piece, const struct coll_chunk *chunk)
{
	return piece->work->line->device.pinned + piece->words +
	       (chunk->first - piece->first) * piece->work->width;
}

void gpu_fill(struct gpu *gpu, const struct quantizer *quantizer, const struct coll_chunk *chunk,
	      uint8_t *payload)
{
	const struct gpu_work *work = &gpu->works[chunk->op];
	const size_t bytes = (size_t)chunk->count * work->width;

	if (!work->up) {
		quantizer_fill(quantizer, &work->tensor, chunk, payload);
		return;
	}
	memcpy(payload, chunk_words(gpu_line_piece(work, chunk->first), chunk), bytes);
	memset(payload + bytes, 0, chunk->len - bytes);
}

/* Elements that the device makes NaN. */
static uint64_t chunk_nonfinite(const struct gpu_work *work, const struct coll_chunk *chunk)
{
	uint64_t nr = 0;
	uint32_t run;

	for (uint32_t i = 0; work->form == COLL_FLOAT && i < chunk->count; i += run) {
		run = QUANT_BLOCK - (chunk->phase + i) % QUANT_BLOCK;
		if (run > chunk->count - i)
			run = chunk->count - i;
		if (chunk->e[(chunk->phase + i) / QUANT_BLOCK] == 255)
			nr += run;
	}
	return nr;
}

uint64_t gpu_deliver(struct gpu *gpu, const struct quantizer *quantizer,
		     const struct coll_chunk *chunk, const uint8_t *payload)
{
	const struct gpu_work *work = &gpu->works[chunk->op];
	struct gpu_piece *piece = gpu_line_piece(work, chunk->first);
	uint64_t nonfinite;

	if (work->down) {
		memcpy(chunk_words(piece, chunk), payload, (size_t)chunk->count * work->width);
		nonfinite = chunk_nonfinite(work, chunk);
	} else {
		nonfinite = quantizer_deliver(quantizer, &work->tensor, chunk, payload);
	}
	if (--piece->left == 0)
		piece->state = PIECE_RETURNED;
	return nonfinite;
}

/* --- Stopping ------------------------------------------------------------------------------------- */

void gpu_stop(struct gpu *gpu)
{
	gpu->head = gpu->tail;
}

/* A device that has failed is opened anew when it is needed. */
static void gpu_clear(struct gpu *gpu)
{
	for (unsigned i = 0; i < COLL_OPS; i++)
		if (gpu->works[i].line)
			gpu_work_end(&gpu->works[i]);
	for (int i = 0; i < GPU_DEVICES; i++) {
		if (!gpu->lines[i])
			continue;
		gpu_line_clear(gpu->lines[i]);
		if (gpu->lines[i]->device.broken)
			gpu_line_free(gpu, i);
	}
}

bool gpu_idle(struct gpu *gpu)
{
	for (unsigned i = 0; i < GPU_DEVICES; i++)
		if (gpu->lines[i] && gpu->lines[i]->nr_works &&
		    !gpu_device_idle(&gpu->lines[i]->device))
			return false;
	gpu_clear(gpu);
	return true;
}

void gpu_drain(struct gpu *gpu)
{
	gpu_stop(gpu);
	for (unsigned i = 0; i < GPU_DEVICES; i++)
		if (gpu->lines[i])
			gpu_device_drain(&gpu->lines[i]->device);
	gpu_clear(gpu);
}

void gpu_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	gpu_drain(gpu);
	for (int i = 0; i < GPU_DEVICES; i++)
		if (gpu->lines[i])
			gpu_line_free(gpu, i);
	free(gpu);
}
