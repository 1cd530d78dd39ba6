/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_driver.h - the CUDA driver, found in the process and never linked; and where memory lies.
 *
 * The driver is looked for only where it is loaded already: without it no pointer can be one to device memory.
 * It is never initialised here, and never unloaded.
 */
#ifndef HOST_GPU_DRIVER_H
#define HOST_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;

/* Of the driver's own numbers, those that are used. */
enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_NOT_INITIALIZED = 3, /* nobody has called cuInit(); or the parent process had */
	CUDA_ERROR_DEINITIALIZED = 4,	/* the process is about to exit */
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709, /* and all that was in it */
	CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
	CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
	CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
	CU_MEMORYTYPE_DEVICE = 2,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_MEMHOSTALLOC_PORTABLE = 1,
};

/* Name, version of the symbol, parameters. */
#define GPU_DRIVER_MAP(X)                                                                          \
	X(cuGetErrorName, "", (int code, const char **name))                                       \
	X(cuPointerGetAttributes, "",                                                              \
	  (unsigned nr, int *attributes, void **data, uint64_t pointer))                           \
	X(cuDeviceGetAttribute, "", (int *value, int attribute, int device))                       \
	X(cuDevicePrimaryCtxRetain, "", (struct CUctx_st * *context, int device))                  \
	X(cuDevicePrimaryCtxRelease, "_v2", (int device))                                          \
	X(cuCtxPushCurrent, "_v2", (struct CUctx_st * context))                                    \
	X(cuCtxPopCurrent, "_v2", (struct CUctx_st * *context))                                    \
	X(cuModuleLoadData, "", (struct CUmod_st * *module, const void *image))                    \
	X(cuModuleUnload, "", (struct CUmod_st * module))                                          \
	X(cuModuleGetFunction, "",                                                                 \
	  (struct CUfunc_st * *function, struct CUmod_st * module, const char *name))              \
	X(cuLaunchKernel, "",                                                                      \
	  (struct CUfunc_st * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,         \
	   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,                  \
	   struct CUstream_st *stream, void **args, void **extra))                                 \
	X(cuStreamCreate, "", (struct CUstream_st * *stream, unsigned flags))                      \
	X(cuStreamDestroy, "_v2", (struct CUstream_st * stream))                                   \
	X(cuStreamQuery, "", (struct CUstream_st * stream))                                        \
	X(cuStreamSynchronize, "", (struct CUstream_st * stream))                                  \
	X(cuStreamIsCapturing, "", (struct CUstream_st * stream, int *status))                     \
	X(cuStreamWaitEvent, "",                                                                   \
	  (struct CUstream_st * stream, struct CUevent_st * event, unsigned flags))                \
	X(cuEventCreate, "", (struct CUevent_st * *event, unsigned flags))                         \
	X(cuEventDestroy, "_v2", (struct CUevent_st * event))                                      \
	X(cuEventRecord, "", (struct CUevent_st * event, struct CUstream_st * stream))             \
	X(cuEventQuery, "", (struct CUevent_st * event))                                           \
	X(cuMemAlloc, "_v2", (uint64_t * pointer, size_t bytes))                                   \
	X(cuMemFree, "_v2", (uint64_t pointer))                                                    \
	X(cuMemHostAlloc, "", (void **pointer, size_t bytes, unsigned flags))                      \
	X(cuMemFreeHost, "", (void *pointer))                                                      \
	X(cuMemcpyHtoDAsync, "_v2",                                                                \
	  (uint64_t to, const void *from, size_t bytes, struct CUstream_st *stream))               \
	X(cuMemcpyDtoHAsync, "_v2",                                                                \
	  (void *to, uint64_t from, size_t bytes, struct CUstream_st *stream))

/* Each returns CUDA_SUCCESS or another code. */
struct gpu_driver {
#define X(name, version, parameters) int(*name) parameters;
	GPU_DRIVER_MAP(X)
#undef X
};

enum { GPU_TEXT = 400 };

struct gpu_error {
	int status; /* enum tally_status */
	char text[GPU_TEXT];
};

enum gpu_place { GPU_HOST, GPU_DEVICE };

/*
 * library: TALLY_LIBCUDA, NULL or "" for libcuda.so.1; the first that is loaded serves the process.  NULL and
 * status TALLY_OK: no driver is in the process.  NULL and an error: there is one that cannot be used.
 */
const struct gpu_driver *gpu_driver_find(const char *library, struct gpu_error *error);

/* CUDA_SUCCESS, or what the driver says.  *device is written for GPU_DEVICE only. */
int gpu_driver_locate(const struct gpu_driver *driver, const void *pointer, enum gpu_place *place,
		      int *device);

/* "call: NAME_OF_CODE" and TALLY_DEVICE into *error: returns that. */
int gpu_driver_fail(const struct gpu_driver *driver, const char *call, int code,
		    struct gpu_error *error);

/* Whether the CPU can read the bytes there.  True where it cannot be told. */
bool gpu_driver_readable(const void *a, const void *b);

#endif
