// SPDX-License-Identifier: BSD-3-Clause
// engine_gpu.c - operations on device memory: what the engine does about them, and about all others.
#include "host/engine.h"

#include <stdio.h>

/* --- Numbers: the CPU's or the device's ----------------------------------------------------------- */

uint64_t engine_scan(struct engine *engine, const struct coll_chunk *chunk)
{
	const struct engine_op *op = engine->ops[chunk->op];

	if (op->on_device)
		return gpu_scan(engine->gpu, &engine->quantizer, chunk);
	return quantizer_scan(&engine->quantizer, &op->tensor, chunk);
}

void engine_fill(struct engine *engine, const struct coll_chunk *chunk, uint8_t *payload)
{
	const struct engine_op *op = engine->ops[chunk->op];

	if (op->on_device)
		gpu_fill(engine->gpu, &engine->quantizer, chunk, payload);
	else
		quantizer_fill(&engine->quantizer, &op->tensor, chunk, payload);
}

uint64_t engine_deliver(struct engine *engine, const struct coll_chunk *chunk,
			const uint8_t *payload)
{
	const struct engine_op *op = engine->ops[chunk->op];

	if (op->on_device)
		return gpu_deliver(engine->gpu, &engine->quantizer, chunk, payload);
	return quantizer_deliver(&engine->quantizer, &op->tensor, chunk, payload);
}

void engine_agreed(struct engine *engine, const struct coll_chunk *chunk)
{
	if (engine->ops[chunk->op]->on_device)
		gpu_agreed(engine->gpu, chunk);
}

/* --- Operations ----------------------------------------------------------------------------------- */

/* The other ranks wait for what this one cannot do any more, whether it has posted its part or not. */
static void engine_gpu_fail(struct engine *engine, const struct gpu_error *error)
{
	snprintf(engine->text, ENGINE_TEXT,
		 "%s; every rank calls tally_rejoin() and goes on from a step they agree on",
		 error->text);
	session_abort(&engine->session, WIRE_CAUSE_DEVICE, engine->now_ns);
	engine_fail(engine, TALLY_DEVICE);
}

int engine_gpu_begin(struct engine *engine, struct engine_op *op, const struct coll_args *args)
{
	const struct gpu_args what = {
		.libcuda = engine->config.libcuda,
		.tensor = &op->tensor,
		.count = op->count,
		.stream = op->stream,
		.form = args->form,
		.width = args->width,
		.p = session_status(&engine->session)->p,
		.p_max = engine->p_asked,
		.world = engine->quantizer.world,
	};
	struct gpu_error error = { 0 };
	int rc;

	op->on_device = false;
	if (op->barrier || !op->count)
		return TALLY_OK;
	rc = gpu_begin(&engine->gpu, &what, &error);
	if (rc == TALLY_DEVICE) {
		engine_gpu_fail(engine, &error);
		engine_farewell(engine);
		return rc;
	}
	if (rc < 0) {
		snprintf(engine->text, ENGINE_TEXT, "%s", error.text);
		return rc;
	}
	op->on_device = rc > 0;
	return TALLY_OK;
}

static void engine_gpu_allow(struct engine *engine, unsigned i)
{
	const struct gpu_limits limits = gpu_limits(engine->gpu, i);

	coll_allow(engine->coll, (int)i, limits.segments, limits.chunks);
}

void engine_gpu_attach(struct engine *engine, const struct engine_op *op, int i)
{
	if (!op->on_device)
		return;
	if (i < 0) {
		gpu_cancel(engine->gpu);
		return;
	}
	gpu_attach(engine->gpu, (unsigned)i);
	engine_gpu_allow(engine, (unsigned)i);
}

unsigned engine_gpu_progress(struct engine *engine)
{
	const int oldest = coll_oldest(engine->coll);
	struct gpu_error error;
	int moved;

	if (!engine->gpu || engine->status)
		return 0;
	moved = gpu_progress(engine->gpu, &error);
	if (moved < 0) {
		engine_gpu_fail(engine, &error);
		return 0;
	}
	/* What the program itself is late with is no stall. */
	if (oldest >= 0 && engine->ops[oldest]->on_device &&
	    (moved || gpu_held(engine->gpu, (unsigned)oldest)))
		engine->since_ns = engine->now_ns;
	for (unsigned i = 0; moved && i < COLL_OPS; i++)
		if (engine->ops[i] && engine->ops[i]->on_device)
			engine_gpu_allow(engine, i);
	return (unsigned)moved;
}

bool engine_gpu_finish(struct engine *engine, int i)
{
	if (!engine->ops[i]->on_device)
		return true;
	if (!gpu_finished(engine->gpu, (unsigned)i))
		return false;
	gpu_detach(engine->gpu, (unsigned)i);
	return true;
}

bool engine_gpu_pending(const struct engine *engine)
{
	for (unsigned i = 0; engine->gpu && i < COLL_OPS; i++)
		if (engine->ops[i] && engine->ops[i]->on_device)
			return true;
	return false;
}

/* --- The end of an epoch -------------------------------------------------------------------------- */

void engine_gpu_stop(struct engine *engine)
{
	if (engine->draining || !engine_gpu_pending(engine))
		return;
	gpu_stop(engine->gpu);
	engine->draining = true;
	engine->drained = engine->status;
	engine_gpu_drain(engine, false);
}

void engine_gpu_drain(struct engine *engine, bool wait)
{
	if (!engine->draining)
		return;
	if (wait)
		gpu_drain(engine->gpu);
	else if (!gpu_idle(engine->gpu))
		return;
	engine->draining = false;
	engine_end(engine, engine->drained, true);
}
