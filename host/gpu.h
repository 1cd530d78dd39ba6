/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu.h - operations on device memory: between the tensor and the packets lies staging, in pieces.
 *
 * A piece is what a segment's exponents cover: 128 P elements.  It is scanned, waits for the agreed exponents,
 * becomes words for the wire in staging, whose place the results take one by one, and goes back to the device
 * when it has all of them.  Nothing here waits: gpu_progress() starts what can be started, and asks events
 * whether they have come.  An operation may send as far as gpu_limits() says, and is complete when
 * gpu_finished() says so.
 *
 * src or dst alone may be device memory; the other side is then the CPU's.  One thread's at a time.
 */
#ifndef HOST_GPU_H
#define HOST_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "host/core/coll.h"
#include "host/gpu_driver.h"
#include "host/quantizer.h"

/* One communicator's. */
struct gpu;

struct gpu_args {
	const char *libcuda; /* TALLY_LIBCUDA */
	const struct quantizer_tensor *tensor;
	uint64_t count;
	void *stream;	   /* of the caller; device memory alone has one */
	uint8_t form;	   /* enum coll_form */
	uint8_t width;	   /* bytes of an element on the wire */
	uint16_t p, p_max; /* of a chunk now, and ever */
	uint32_t world;
};

struct gpu_limits {
	uint64_t segments, chunks; /* that may be sent, from the operation's first */
};

/*
 * Where the tensor lies.  0: in host memory, and there is nothing to do.  1: on a device: the operation is begun,
 * gpu_attach() or gpu_cancel() follows.  *gpu is made when it is needed first.  Else an error: nothing is begun.
 */
int gpu_begin(struct gpu **gpu, const struct gpu_args *args, struct gpu_error *error);
/* op: as coll_start() has numbered it. */
void gpu_attach(struct gpu *gpu, unsigned op);
void gpu_cancel(struct gpu *gpu);

/* Whether anything moved; TALLY_DEVICE: the operations have failed, gpu_stop() follows. */
int gpu_progress(struct gpu *gpu, struct gpu_error *error);
struct gpu_limits gpu_limits(const struct gpu *gpu, unsigned op);
/* Whether dst has all results, and the caller's stream knows. */
bool gpu_finished(const struct gpu *gpu, unsigned op);
/* Whether the operation cannot begin because the caller's stream has not come so far. */
bool gpu_held(const struct gpu *gpu, unsigned op);
void gpu_detach(struct gpu *gpu, unsigned op);

/* The quantizer's calls of the same names, for operations that are attached. */
uint64_t gpu_scan(struct gpu *gpu, const struct quantizer *quantizer,
		  const struct coll_chunk *chunk);
void gpu_agreed(struct gpu *gpu, const struct coll_chunk *chunk);
void gpu_fill(struct gpu *gpu, const struct quantizer *quantizer, const struct coll_chunk *chunk,
	      uint8_t *payload);
uint64_t gpu_deliver(struct gpu *gpu, const struct quantizer *quantizer,
		     const struct coll_chunk *chunk, const uint8_t *payload);

/* Nothing new is started.  The tensors are the caller's again once gpu_idle(), which detaches all operations. */
void gpu_stop(struct gpu *gpu);
bool gpu_idle(struct gpu *gpu);
/* Waits for that. */
void gpu_drain(struct gpu *gpu);
/* NULL is fine.  Drains first. */
void gpu_close(struct gpu *gpu);

#endif
