// SPDX-License-Identifier: BSD-3-Clause
// gpu_rig.c - a CUDA driver for tests: the fake one, or that of this machine.
#include "tests/unit/gpu_rig.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/gpu_device.h"

enum { ROOM = 64 }; /* bytes behind a tensor */

static void rig_path(char *out, size_t room)
{
	const char *named = getenv("TALLY_TEST_LIBCUDA");
	char self[256];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (named && named[0]) {
		snprintf(out, room, "%s", named);
		return;
	}
	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	snprintf(out, room, "%s/../cuda/fake/libcuda.so.1", self);
}

/* A function's address into a pointer to a function. */
static bool rig_symbol(void *handle, const char *name, void *out)
{
	void *symbol = dlsym(handle, name);

	memcpy(out, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static const char *rig_load(struct gpu_rig *rig)
{
	void *handle;
	bool all;

	rig_path(rig->library, sizeof(rig->library));
	handle = dlopen(rig->library, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return dlerror();
#define X(name, version, parameters)                                                               \
	if (!rig_symbol(handle, #name version, &rig->driver.name))                                 \
		return #name version " is missing";
	GPU_DRIVER_MAP(X)
#undef X
	all = rig_symbol(handle, "cuInit", &rig->init);
	all = rig_symbol(handle, "cuDeviceGetCount", &rig->device_count) && all;
	all = rig_symbol(handle, "cuCtxGetCurrent", &rig->current) && all;
	all = rig_symbol(handle, "cuMemcpyHtoD_v2", &rig->to_device) && all;
	all = rig_symbol(handle, "cuMemcpyDtoH_v2", &rig->to_host) && all;
	all = rig_symbol(handle, "cuMemAllocManaged", &rig->managed) && all;
	rig_symbol(handle, "fake_seed", &rig->seed);
	rig_symbol(handle, "fake_count", &rig->count);
	rig_symbol(handle, "fake_fail", &rig->inject);
	rig_symbol(handle, "fake_failed", &rig->failed);
	rig_symbol(handle, "fake_hold", &rig->hold);
	rig_symbol(handle, "fake_capture", &rig->capture);
	rig_symbol(handle, "fake_waits", &rig->waits);
	return all ? NULL : "a function is missing";
}

/* The fake driver has the kernels' source: without nvcc the first word of a fat binary is enough. */
static const void *rig_image(size_t *bytes)
{
	static const uint32_t image = 0xba55ed50u;

	*bytes = sizeof(image);
	return &image;
}

const struct gpu_rig *gpu_rig_open(const char **why)
{
	static struct gpu_rig rig;
	static bool tried;
	static const char *error;
	size_t bytes;
	int count = 0;

	if (!tried) {
		tried = true;
		error = rig_load(&rig);
		if (!error && (rig.init(0) || rig.device_count(&count) || !count))
			error = "there is no device";
		if (!error && rig.inject && !gpu_device_image(&bytes))
			gpu_device_image = rig_image;
	}
	if (why)
		*why = error;
	return error ? NULL : &rig;
}

static void rig_must(int code, const char *what)
{
	if (code == CUDA_SUCCESS)
		return;
	fprintf(stderr, "gpu_rig: %s: %d\n", what, code);
	abort();
}

void gpu_user_begin(struct gpu_user *user, const struct gpu_rig *rig, int device)
{
	*user = (struct gpu_user){ .rig = rig };
	rig_must(rig->driver.cuDevicePrimaryCtxRetain(&user->context, device), "retain");
	rig_must(rig->driver.cuCtxPushCurrent(user->context), "push");
	rig_must(rig->driver.cuStreamCreate(&user->stream, CU_STREAM_NON_BLOCKING), "stream");
}

void gpu_user_end(struct gpu_user *user)
{
	struct CUctx_st *context = NULL;
	int device;

	rig_must(user->rig->driver.cuStreamSynchronize(user->stream), "synchronize");
	rig_must(user->rig->driver.cuStreamDestroy(user->stream), "stream");
	rig_must(user->rig->driver.cuCtxPopCurrent(&context), "pop");
	if (context != user->context)
		rig_must(-1, "the context is another one");
	/* The devices are few: the one whose context it is. */
	for (device = 0; device < FAKE_DEVICES; device++) {
		rig_must(user->rig->driver.cuDevicePrimaryCtxRetain(&context, device), "retain");
		user->rig->driver.cuDevicePrimaryCtxRelease(device);
		if (context == user->context)
			break;
	}
	rig_must(user->rig->driver.cuDevicePrimaryCtxRelease(device), "release");
}

uint64_t gpu_user_new(const struct gpu_user *user, const void *from, size_t bytes, unsigned offset)
{
	uint64_t pointer = 0;

	rig_must(user->rig->driver.cuMemAlloc(&pointer, bytes + offset + ROOM), "alloc");
	if (from && bytes)
		rig_must(user->rig->to_device(pointer + offset, from, bytes), "copy");
	return pointer + offset;
}

void gpu_user_free(const struct gpu_user *user, uint64_t pointer, unsigned offset)
{
	rig_must(user->rig->driver.cuMemFree(pointer - offset), "free");
}

void gpu_user_read(const struct gpu_user *user, void *to, uint64_t from, size_t bytes)
{
	rig_must(user->rig->to_host(to, from, bytes), "read");
}
