/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_device.h - what a communicator has on one device: its primary context, two streams, kernels, staging.
 *
 * Staging is a ring of page-locked memory and as much on the device, at the same offsets: kernels work on the
 * device's half, copies move between the halves.  Stream up carries tensors to the wire, stream down results to
 * tensors, so that both directions of the bus are used at once.
 */
#ifndef HOST_GPU_DEVICE_H
#define HOST_GPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/gpu_driver.h"

/* With the 3 formats of floats, and 2 widths on the wire: tally_scan_f32, _f16, _bf16 and so on. */
enum gpu_kernel {
	GPU_SCAN,
	GPU_QUANTIZE = GPU_SCAN + 3,
	GPU_DEQUANTIZE = GPU_QUANTIZE + 6,
	GPU_ORDER = GPU_DEQUANTIZE + 6,
	GPU_UNORDER = GPU_ORDER + 3,
	GPU_SWAP = GPU_UNORDER + 3,
	GPU_AVERAGE,
	GPU_KERNELS,
};

enum { GPU_EVENTS = 160 };

struct gpu_device {
	const struct gpu_driver *driver;
	int ordinal;
	struct CUctx_st *context; /* the primary one, as the run-time library uses */
	bool retained;
	struct CUmod_st *module;
	struct CUfunc_st *kernels[GPU_KERNELS]; /* NULL: not looked up yet */
	struct CUstream_st *up, *down;
	struct CUevent_st *events[GPU_EVENTS]; /* made so far; those below nr_lent are in use */
	unsigned nr_events, nr_lent;
	uint8_t *pinned;  /* staging: the host's half */
	uint64_t scratch; /* staging: the device's, and behind it a number that kernels count in */
	size_t bytes;	  /* of either half */
	unsigned blocks;  /* of a grid, at most: most multiprocessors are left to others */
	bool entered;	  /* its context is the thread's current one */
	bool broken;	  /* a call has failed: nothing is to be started any more */
	struct gpu_error error; /* that failure, the first */
};

/* The kernels, NULL: the build has none.  A test may have others. */
extern const void *(*gpu_device_image)(size_t *bytes);

/* A call in the device's context: 0, or TALLY_DEVICE and what failed in device->error. */
#define GPU_CALL(device, call, ...)                                                                \
	gpu_device_check(device, #call, (device)->driver->call(__VA_ARGS__))
int gpu_device_check(struct gpu_device *device, const char *call, int code);

/* Everything that has something to do with the device is between enter and leave. */
int gpu_device_enter(struct gpu_device *device);
void gpu_device_leave(struct gpu_device *device);

/* *device is zeroes.  After a failure there is nothing to close. */
int gpu_device_open(struct gpu_device *device, const struct gpu_driver *driver, int ordinal,
		    size_t bytes);
/* Nothing must be in flight; see gpu_device_drain(). */
void gpu_device_close(struct gpu_device *device);

/* A kernel over count elements. */
int gpu_device_launch(struct gpu_device *device, enum gpu_kernel kernel, struct CUstream_st *stream,
		      void **args, uint64_t count);
/* Bytes of the staging ring from one half to the other. */
int gpu_device_to_host(struct gpu_device *device, size_t at, size_t bytes);
int gpu_device_to_device(struct gpu_device *device, struct CUstream_st *stream, size_t at,
			 size_t bytes);

/* An event of the device's own; NULL: it failed.  put: nobody waits for it any more. */
struct CUevent_st *gpu_device_event_get(struct gpu_device *device);
void gpu_device_event_put(struct gpu_device *device, struct CUevent_st *event);
/* Whether an event has come: 1, 0, or TALLY_DEVICE. */
int gpu_device_query(struct gpu_device *device, struct CUevent_st *event);
/* Whether both streams have nothing left to do, or cannot do anything any more. */
bool gpu_device_idle(struct gpu_device *device);
/* Waits for that. */
void gpu_device_drain(struct gpu_device *device);

#endif
