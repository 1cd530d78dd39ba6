// SPDX-License-Identifier: BSD-3-Clause
// gpu_device.c - what a communicator has on one device: its primary context, two streams, kernels, staging.
#include "host/gpu_device.h"

#include <stdio.h>
#include <string.h>

#include "host/include/tally.h"
#include "host/log.h"
#include "kernels/cuda/quant_cuda.h"
#include "kernels/cuda/quant_fatbin.h"
#include "kernels/quant.h"

#define KERNELS_OF_WIRES(what)                                                                     \
	what "_f32_32", what "_f32_16", what "_f16_32", what "_f16_16", what "_bf16_32",           \
		what "_bf16_16"
#define KERNELS_OF_FLOATS(what) what "_f32", what "_f16", what "_bf16"

const void *(*gpu_device_image)(size_t *bytes) = quant_fatbin;

enum { DEVICE_COUNTER = 256 }; /* bytes behind the scratch half */

static const char *const device_kernels[GPU_KERNELS] = {
	KERNELS_OF_FLOATS("tally_scan"),
	KERNELS_OF_WIRES("tally_quantize"),
	KERNELS_OF_WIRES("tally_dequantize"),
	KERNELS_OF_FLOATS("tally_order"),
	KERNELS_OF_FLOATS("tally_unorder"),
	"tally_swap32",
	"tally_average_i32",
};
_Static_assert(GPU_KERNELS == 23, "as many as names");

int gpu_device_check(struct gpu_device *device, const char *call, int code)
{
	if (code == CUDA_SUCCESS)
		return TALLY_OK;
	if (device->broken)
		return TALLY_DEVICE;
	device->broken = true;
	return gpu_driver_fail(device->driver, call, code, &device->error);
}

/* --- The context ---------------------------------------------------------------------------------- */

int gpu_device_enter(struct gpu_device *device)
{
	int rc = GPU_CALL(device, cuCtxPushCurrent, device->context);

	device->entered = rc == TALLY_OK;
	return rc;
}

void gpu_device_leave(struct gpu_device *device)
{
	const struct gpu_driver *driver = device->driver;
	struct CUctx_st *context;

	if (!device->entered)
		return;
	device->entered = false;
	/* A failure may be another call's that is told late; the caller's context is worth a second try. */
	if (GPU_CALL(device, cuCtxPopCurrent, &context) < 0)
		driver->cuCtxPopCurrent(&context);
}

/* --- Opening and closing -------------------------------------------------------------------------- */

/* Failures do not matter, but are worth knowing of. */
static void device_undo(struct gpu_device *device, const char *call, int code)
{
	struct gpu_error error;

	if (code == CUDA_SUCCESS || code == CUDA_ERROR_DEINITIALIZED)
		return;
	gpu_driver_fail(device->driver, call, code, &error);
	log_print(TALLY_LOG_INFO, "GPU %d: giving back what is not needed any more: %s",
		  device->ordinal, error.text);
}

#define DEVICE_UNDO(device, call, ...)                                                             \
	device_undo(device, #call, (device)->driver->call(__VA_ARGS__))

static void device_give_back(struct gpu_device *device)
{
	for (unsigned i = 0; i < device->nr_events; i++)
		DEVICE_UNDO(device, cuEventDestroy, device->events[i]);
	if (device->up)
		DEVICE_UNDO(device, cuStreamDestroy, device->up);
	if (device->down)
		DEVICE_UNDO(device, cuStreamDestroy, device->down);
	if (device->pinned)
		DEVICE_UNDO(device, cuMemFreeHost, device->pinned);
	if (device->scratch)
		DEVICE_UNDO(device, cuMemFree, device->scratch);
	if (device->module)
		DEVICE_UNDO(device, cuModuleUnload, device->module);
	device->up = device->down = NULL;
	device->nr_events = 0;
	device->pinned = NULL;
	device->scratch = 0;
	device->module = NULL;
}

void gpu_device_close(struct gpu_device *device)
{
	const struct gpu_driver *driver = device->driver;
	int code;

	if (!device->retained)
		return;
	code = driver->cuCtxPushCurrent(device->context);
	if (code != CUDA_SUCCESS)
		code = driver->cuCtxPushCurrent(device->context);
	device->entered = code == CUDA_SUCCESS;
	/* Where it cannot be entered, it is mostly the caller's current one; and streams and events know theirs. */
	if (code != CUDA_ERROR_CONTEXT_IS_DESTROYED && code != CUDA_ERROR_DEINITIALIZED)
		device_give_back(device);
	gpu_device_leave(device);
	DEVICE_UNDO(device, cuDevicePrimaryCtxRelease, device->ordinal);
	device->retained = false;
}

/* A quarter of the multiprocessors outruns the bus, which is all that is needed. */
static int device_grid(struct gpu_device *device)
{
	int count = 0;

	if (GPU_CALL(device, cuDeviceGetAttribute, &count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
		     device->ordinal) < 0)
		return TALLY_DEVICE;
	device->blocks = count >= 8 ? (unsigned)count / 4 : 2;
	return TALLY_OK;
}

static int device_acquire(struct gpu_device *device, const void *image)
{
	void *pinned = NULL;
	int rc;

	if (GPU_CALL(device, cuModuleLoadData, &device->module, image) < 0 ||
	    GPU_CALL(device, cuStreamCreate, &device->up, CU_STREAM_NON_BLOCKING) < 0 ||
	    GPU_CALL(device, cuStreamCreate, &device->down, CU_STREAM_NON_BLOCKING) < 0 ||
	    GPU_CALL(device, cuMemAlloc, &device->scratch, device->bytes + DEVICE_COUNTER) < 0)
		return TALLY_DEVICE;
	rc = GPU_CALL(device, cuMemHostAlloc, &pinned, device->bytes, CU_MEMHOSTALLOC_PORTABLE);
	device->pinned = pinned;
	return rc;
}

int gpu_device_open(struct gpu_device *device, const struct gpu_driver *driver, int ordinal,
		    size_t bytes)
{
	size_t image_bytes;
	const void *image = gpu_device_image(&image_bytes);
	int rc;

	device->driver = driver;
	device->ordinal = ordinal;
	device->bytes = bytes;
	if (!image) {
		device->error.status = TALLY_UNSUPPORTED;
		snprintf(device->error.text, sizeof(device->error.text),
			 "this libtally was built without nvcc and has no GPU kernels: build it where nvcc "
			 "is, or copy the tensor to host memory");
		return TALLY_UNSUPPORTED;
	}
	if (GPU_CALL(device, cuDevicePrimaryCtxRetain, &device->context, ordinal) < 0)
		return TALLY_DEVICE;
	device->retained = true;
	if (device_grid(device) == TALLY_OK && gpu_device_enter(device) == TALLY_OK)
		device_acquire(device, image);
	gpu_device_leave(device);
	rc = device->broken ? TALLY_DEVICE : TALLY_OK;
	if (rc < 0)
		gpu_device_close(device);
	return rc;
}

/* --- Work ----------------------------------------------------------------------------------------- */

int gpu_device_launch(struct gpu_device *device, enum gpu_kernel kernel, struct CUstream_st *stream,
		      void **args, uint64_t count)
{
	const uint64_t per =
		QUANT_CUDA_THREADS / 32 * QUANT_BLOCK; /* a warp takes a block of numbers */
	const uint64_t most = (count + per - 1) / per;
	const unsigned grid = most < device->blocks ? (unsigned)most : device->blocks;

	if (!device->kernels[kernel] &&
	    GPU_CALL(device, cuModuleGetFunction, &device->kernels[kernel], device->module,
		     device_kernels[kernel]) < 0)
		return TALLY_DEVICE;
	return GPU_CALL(device, cuLaunchKernel, device->kernels[kernel], grid, 1, 1,
			QUANT_CUDA_THREADS, 1, 1, 0, stream, args, NULL);
}

int gpu_device_to_host(struct gpu_device *device, size_t at, size_t bytes)
{
	return GPU_CALL(device, cuMemcpyDtoHAsync, device->pinned + at, device->scratch + at, bytes,
			device->up);
}

int gpu_device_to_device(struct gpu_device *device, struct CUstream_st *stream, size_t at,
			 size_t bytes)
{
	return GPU_CALL(device, cuMemcpyHtoDAsync, device->scratch + at, device->pinned + at, bytes,
			stream);
}

int gpu_device_query(struct gpu_device *device, struct CUevent_st *event)
{
	const int code = device->driver->cuEventQuery(event);

	if (code == CUDA_ERROR_NOT_READY)
		return 0;
	return gpu_device_check(device, "cuEventQuery", code) < 0 ? TALLY_DEVICE : 1;
}

struct CUevent_st *gpu_device_event_get(struct gpu_device *device)
{
	if (device->nr_lent == device->nr_events) {
		if (device->nr_events == GPU_EVENTS ||
		    GPU_CALL(device, cuEventCreate, &device->events[device->nr_events],
			     CU_EVENT_DISABLE_TIMING) < 0)
			return NULL;
		device->nr_events++;
	}
	return device->events[device->nr_lent++];
}

void gpu_device_event_put(struct gpu_device *device, struct CUevent_st *event)
{
	unsigned i = 0;

	while (event && i < device->nr_lent && device->events[i] != event)
		i++;
	if (!event || i == device->nr_lent)
		return;
	device->events[i] = device->events[--device->nr_lent];
	device->events[device->nr_lent] = event;
}

/* What fails may be an earlier call that is told late: the second answer counts. */
static bool device_stream_idle(struct gpu_device *device, struct CUstream_st *stream)
{
	int code = device->driver->cuStreamQuery(stream);

	if (code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY)
		code = device->driver->cuStreamQuery(stream);
	return code != CUDA_ERROR_NOT_READY;
}

bool gpu_device_idle(struct gpu_device *device)
{
	return device_stream_idle(device, device->up) && device_stream_idle(device, device->down);
}

void gpu_device_drain(struct gpu_device *device)
{
	struct CUstream_st *streams[] = { device->up, device->down };

	for (unsigned i = 0; i < 2; i++)
		if (device->driver->cuStreamSynchronize(streams[i]) != CUDA_SUCCESS)
			device->driver->cuStreamSynchronize(streams[i]);
}
