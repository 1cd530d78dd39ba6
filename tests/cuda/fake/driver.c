// SPDX-License-Identifier: BSD-3-Clause
// driver.c - the fake libcuda.so.1: the functions of the driver that the product and its tests call.
//
// Exports have the driver's names, so that they are declared here and nowhere else.
#include "tests/cuda/fake/fake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/fake/world.h"

#define FAKE_API __attribute__((visibility("default")))
#define FAKE_FATBIN 0xba55ed50u

enum { STACK = 64, MEMORY_TYPE = 2, IS_MANAGED = 8, ORDINAL = 9, MULTIPROCESSORS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialized;
static struct fake_context contexts[FAKE_DEVICES];
static uint64_t rng = 1, violations, launches;
static char violation[256];
static struct fake_event *events; /* all there ever were */
static unsigned nr_events, nr_modules;

static _Thread_local struct fake_context *stack[STACK];
static _Thread_local unsigned depth, waits;
static _Thread_local struct {
	char call[64]; /* "": any */
	const char *hit;
	unsigned nr, times;
	int code;
} fail;

void fake_violation(const char *format, ...)
{
	char text[sizeof(violation)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "fake libcuda: %s\n", text);
	if (!violations++)
		memcpy(violation, text, sizeof(text));
}

uint64_t fake_draw(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

/* --- Calls ------------------------------------------------------------------------------------------ */

static struct fake_context *current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

/* The code that a test wants this call to have. */
static int injected(const char *call)
{
	if (!fail.times || (fail.call[0] && strcmp(fail.call, call) != 0))
		return FAKE_OK;
	if (fail.nr > 1) {
		fail.nr--;
		return FAKE_OK;
	}
	fail.times--;
	if (!fail.hit)
		fail.hit = call;
	return fail.code;
}

/* Every call: takes the lock, lets time go by, and says what is wrong before anything was looked at. */
static int enter(const char *call, bool in_context)
{
	int code;

	pthread_mutex_lock(&lock);
	fake_tick();
	code = injected(call);
	if (code == FAKE_OK && !initialized)
		code = FAKE_NOT_INITIALIZED;
	if (code == FAKE_OK && in_context && !current()) {
		fake_violation("%s without a context", call);
		code = FAKE_INVALID_CONTEXT;
	}
	return code;
}

static int leave(int code)
{
	pthread_mutex_unlock(&lock);
	return code;
}

/* --- The driver, devices, contexts ---------------------------------------------------------------- */

FAKE_API int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	(void)flags;
	pthread_mutex_lock(&lock);
	initialized = true;
	for (int i = 0; i < FAKE_DEVICES; i++) {
		contexts[i].device = i;
		if (!contexts[i].null)
			contexts[i].null = fake_stream_new(&contexts[i]);
	}
	return leave(FAKE_OK);
}

FAKE_API int cuGetErrorName(int code, const char **name);
int cuGetErrorName(int code, const char **name)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {
		{ FAKE_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE" },
		{ FAKE_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ FAKE_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED" },
		{ FAKE_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE" },
		{ FAKE_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE" },
		{ FAKE_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT" },
		{ FAKE_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE" },
		{ FAKE_NOT_FOUND, "CUDA_ERROR_NOT_FOUND" },
		{ FAKE_NOT_READY, "CUDA_ERROR_NOT_READY" },
		{ FAKE_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS" },
		{ FAKE_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code) {
			*name = names[i].name;
			return FAKE_OK;
		}
	return FAKE_INVALID_VALUE;
}

FAKE_API int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
	*count = FAKE_DEVICES;
	return FAKE_OK;
}

FAKE_API int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	int code = enter("cuDeviceGetAttribute", false);

	if (code == FAKE_OK && (device < 0 || device >= FAKE_DEVICES))
		code = FAKE_INVALID_DEVICE;
	if (code == FAKE_OK)
		*value = attribute == MULTIPROCESSORS ? 4 : 0;
	return leave(code);
}

FAKE_API int cuDevicePrimaryCtxRetain(struct fake_context **context, int device);
int cuDevicePrimaryCtxRetain(struct fake_context **context, int device)
{
	int code = enter("cuDevicePrimaryCtxRetain", false);

	if (code == FAKE_OK && (device < 0 || device >= FAKE_DEVICES))
		code = FAKE_INVALID_DEVICE;
	if (code == FAKE_OK) {
		contexts[device].retained++;
		*context = &contexts[device];
	}
	return leave(code);
}

FAKE_API int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
	int code = enter("cuDevicePrimaryCtxRelease", false);

	if (!contexts[device].retained)
		fake_violation("the context of device %d is released once too often", device);
	else
		contexts[device].retained--;
	return leave(code);
}

FAKE_API int cuCtxPushCurrent_v2(struct fake_context *context);
int cuCtxPushCurrent_v2(struct fake_context *context)
{
	int code = enter("cuCtxPushCurrent", false);

	if (code == FAKE_OK && (!context || !context->retained || depth == STACK)) {
		fake_violation("a context that nobody has retained is pushed");
		code = FAKE_INVALID_CONTEXT;
	}
	if (code == FAKE_OK)
		stack[depth++] = context;
	return leave(code);
}

FAKE_API int cuCtxPopCurrent_v2(struct fake_context **context);
int cuCtxPopCurrent_v2(struct fake_context **context)
{
	int code = enter("cuCtxPopCurrent", true);

	if (code == FAKE_OK)
		*context = stack[--depth];
	return leave(code);
}

FAKE_API int cuCtxGetCurrent(struct fake_context **context);
int cuCtxGetCurrent(struct fake_context **context)
{
	*context = current();
	return FAKE_OK;
}

/* --- Modules and kernels -------------------------------------------------------------------------- */

FAKE_API int cuModuleLoadData(void **module, const void *image);
int cuModuleLoadData(void **module, const void *image)
{
	int code = enter("cuModuleLoadData", true);
	uint32_t magic;

	memcpy(&magic, image, sizeof(magic));
	if (code == FAKE_OK && magic != FAKE_FATBIN)
		code = FAKE_INVALID_IMAGE;
	if (code == FAKE_OK) {
		*module = malloc(1);
		nr_modules++;
	}
	return leave(code);
}

FAKE_API int cuModuleUnload(void *module);
int cuModuleUnload(void *module)
{
	const int code = enter("cuModuleUnload", true);

	free(module);
	nr_modules--;
	return leave(code);
}

FAKE_API int cuModuleGetFunction(const struct fake_kernel **function, void *module,
				 const char *name);
int cuModuleGetFunction(const struct fake_kernel **function, void *module, const char *name)
{
	int code = enter("cuModuleGetFunction", true);

	(void)module;
	if (code == FAKE_OK) {
		*function = fake_kernel_find(name);
		code = *function ? FAKE_OK : FAKE_NOT_FOUND;
	}
	return leave(code);
}

/* Whether a stream can be given something now; also the context's own, NULL. */
static int stream_usable(struct fake_stream **stream, const char *call)
{
	*stream = fake_stream_of(*stream, current());
	if (*stream)
		return FAKE_OK;
	fake_violation("%s on a stream that is destroyed", call);
	return FAKE_INVALID_HANDLE;
}

FAKE_API int cuLaunchKernel(const struct fake_kernel *function, unsigned grid_x, unsigned grid_y,
			    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
			    unsigned shared, struct fake_stream *stream, void **args, void **extra);
int cuLaunchKernel(const struct fake_kernel *function, unsigned grid_x, unsigned grid_y,
		   unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
		   unsigned shared, struct fake_stream *stream, void **args, void **extra)
{
	struct fake_work work = {
		.kind = FAKE_KERNEL, .kernel = function, .grid = grid_x, .block = block_x
	};
	int code = enter("cuLaunchKernel", true);

	if (code == FAKE_OK)
		code = stream_usable(&stream, "cuLaunchKernel");
	if (code == FAKE_OK && (!grid_x || grid_y != 1 || grid_z != 1 || block_y != 1 ||
				block_z != 1 || shared || extra || stream->context != current()))
		code = FAKE_INVALID_VALUE;
	if (code == FAKE_OK) {
		fake_kernel_take(function, args, work.params);
		fake_stream_push(stream, &work);
		launches++;
	}
	return leave(code);
}

/* --- Streams and events --------------------------------------------------------------------------- */

FAKE_API int cuStreamCreate(struct fake_stream **stream, unsigned flags);
int cuStreamCreate(struct fake_stream **stream, unsigned flags)
{
	const int code = enter("cuStreamCreate", true);

	(void)flags;
	if (code == FAKE_OK)
		*stream = fake_stream_new(current());
	return leave(code);
}

FAKE_API int cuStreamDestroy_v2(struct fake_stream *stream);
int cuStreamDestroy_v2(struct fake_stream *stream)
{
	int code = enter("cuStreamDestroy", true);

	if (stream_usable(&stream, "cuStreamDestroy") != FAKE_OK)
		code = FAKE_INVALID_HANDLE;
	else
		stream->destroyed = true;
	return leave(code);
}

FAKE_API int cuStreamQuery(struct fake_stream *stream);
int cuStreamQuery(struct fake_stream *stream)
{
	int code = enter("cuStreamQuery", false);

	if (code == FAKE_OK)
		code = stream_usable(&stream, "cuStreamQuery");
	if (code == FAKE_OK && stream->first)
		code = FAKE_NOT_READY;
	return leave(code);
}

FAKE_API int cuStreamSynchronize(struct fake_stream *stream);
int cuStreamSynchronize(struct fake_stream *stream)
{
	int code = enter("cuStreamSynchronize", false);

	waits++;
	if (code == FAKE_OK)
		code = stream_usable(&stream, "cuStreamSynchronize");
	if (code == FAKE_OK)
		fake_stream_finish(stream);
	return leave(code);
}

FAKE_API int cuStreamIsCapturing(struct fake_stream *stream, int *status);
int cuStreamIsCapturing(struct fake_stream *stream, int *status)
{
	int code = enter("cuStreamIsCapturing", true);

	if (code == FAKE_OK)
		code = stream_usable(&stream, "cuStreamIsCapturing");
	if (code == FAKE_OK)
		*status = stream->capturing;
	return leave(code);
}

static int event_usable(const struct fake_event *event, const char *call)
{
	if (event && !event->destroyed)
		return FAKE_OK;
	fake_violation("%s with an event that is destroyed", call);
	return FAKE_INVALID_HANDLE;
}

FAKE_API int cuStreamWaitEvent(struct fake_stream *stream, struct fake_event *event,
			       unsigned flags);
int cuStreamWaitEvent(struct fake_stream *stream, struct fake_event *event, unsigned flags)
{
	int code = enter("cuStreamWaitEvent", true);

	(void)flags;
	if (code == FAKE_OK)
		code = stream_usable(&stream, "cuStreamWaitEvent");
	if (code == FAKE_OK)
		code = event_usable(event, "cuStreamWaitEvent");
	if (code == FAKE_OK)
		fake_stream_push(stream, &(struct fake_work){ .kind = FAKE_WAIT,
							      .event = event,
							      .mark = event->recorded });
	return leave(code);
}

FAKE_API int cuEventCreate(struct fake_event **event, unsigned flags);
int cuEventCreate(struct fake_event **event, unsigned flags)
{
	int code = enter("cuEventCreate", true);

	(void)flags;
	if (code == FAKE_OK) {
		*event = calloc(1, sizeof(**event));
		if (!*event)
			abort();
		(*event)->context = current();
		(*event)->next = events;
		events = *event;
		nr_events++;
	}
	return leave(code);
}

/* Its memory stays: streams may still wait for it. */
FAKE_API int cuEventDestroy_v2(struct fake_event *event);
int cuEventDestroy_v2(struct fake_event *event)
{
	int code = enter("cuEventDestroy", true);

	if (event_usable(event, "cuEventDestroy") != FAKE_OK)
		return leave(FAKE_INVALID_HANDLE);
	event->destroyed = true;
	nr_events--;
	return leave(code);
}

FAKE_API int cuEventRecord(struct fake_event *event, struct fake_stream *stream);
int cuEventRecord(struct fake_event *event, struct fake_stream *stream)
{
	int code = enter("cuEventRecord", true);

	if (code == FAKE_OK)
		code = stream_usable(&stream, "cuEventRecord");
	if (code == FAKE_OK)
		code = event_usable(event, "cuEventRecord");
	if (code == FAKE_OK && event->context != stream->context)
		code = FAKE_INVALID_HANDLE;
	if (code == FAKE_OK)
		fake_stream_push(stream, &(struct fake_work){ .kind = FAKE_RECORD,
							      .event = event,
							      .mark = ++event->recorded });
	return leave(code);
}

FAKE_API int cuEventQuery(struct fake_event *event);
int cuEventQuery(struct fake_event *event)
{
	int code = enter("cuEventQuery", false);

	if (code == FAKE_OK)
		code = event_usable(event, "cuEventQuery");
	if (code == FAKE_OK && event->completed < event->recorded)
		code = FAKE_NOT_READY;
	return leave(code);
}

/* --- Memory --------------------------------------------------------------------------------------- */

static int memory_new(enum fake_kind kind, size_t bytes, uint64_t *out)
{
	const struct fake_block *block = fake_block_new(kind, current()->device, bytes);

	if (!block)
		return FAKE_OUT_OF_MEMORY;
	*out = (uint64_t)(uintptr_t)block->base;
	return FAKE_OK;
}

FAKE_API int cuMemAlloc_v2(uint64_t *pointer, size_t bytes);
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
	int code = enter("cuMemAlloc", true);

	if (code == FAKE_OK)
		code = memory_new(FAKE_DEVICE, bytes, pointer);
	return leave(code);
}

FAKE_API int cuMemAllocManaged(uint64_t *pointer, size_t bytes, unsigned flags);
int cuMemAllocManaged(uint64_t *pointer, size_t bytes, unsigned flags)
{
	int code = enter("cuMemAllocManaged", true);

	(void)flags;
	if (code == FAKE_OK)
		code = memory_new(FAKE_MANAGED, bytes, pointer);
	return leave(code);
}

FAKE_API int cuMemFree_v2(uint64_t pointer);
int cuMemFree_v2(uint64_t pointer)
{
	const int code = enter("cuMemFree", true), freed = fake_block_free(pointer, false);

	return leave(code != FAKE_OK ? code : freed);
}

FAKE_API int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
	int code = enter("cuMemHostAlloc", true);
	uint64_t base = 0;

	(void)flags;
	if (code == FAKE_OK)
		code = memory_new(FAKE_PINNED, bytes, &base);
	if (code == FAKE_OK)
		*pointer = (void *)(uintptr_t)base;
	return leave(code);
}

FAKE_API int cuMemFreeHost(void *pointer);
int cuMemFreeHost(void *pointer)
{
	const int code = enter("cuMemFreeHost", true),
		  freed = fake_block_free((uint64_t)(uintptr_t)pointer, true);

	return leave(code != FAKE_OK ? code : freed);
}

FAKE_API int cuPointerGetAttributes(unsigned nr, int *attributes, void **data, uint64_t pointer);
int cuPointerGetAttributes(unsigned nr, int *attributes, void **data, uint64_t pointer)
{
	const int code = enter("cuPointerGetAttributes", false);
	const struct fake_block *block = code == FAKE_OK ? fake_block_find(pointer, 0) : NULL;

	for (unsigned i = 0; code == FAKE_OK && i < nr; i++) {
		int value = 0;

		if (attributes[i] == MEMORY_TYPE && block)
			value = block->kind == FAKE_PINNED ? 1 : 2;
		else if (attributes[i] == IS_MANAGED && block)
			value = block->kind == FAKE_MANAGED;
		else if (attributes[i] == ORDINAL)
			value = block ? block->device : -2;
		memcpy(data[i], &value, sizeof(value));
	}
	return leave(code);
}

static int copy_push(struct fake_work *work, struct fake_stream *stream, const char *call)
{
	int code = stream_usable(&stream, call);
	void *host = NULL;

	if (code != FAKE_OK)
		return code;
	if (stream->context != current()) {
		fake_violation("%s on a stream of another context", call);
		return FAKE_INVALID_HANDLE;
	}
	if (!fake_translate(work->to, work->bytes, call) ||
	    !fake_translate(work->from, work->bytes, call))
		return FAKE_INVALID_VALUE;
	/* What is there until the copy has come is nothing to rely on. */
	if (work->to_host)
		host = fake_translate(work->to, work->bytes, call);
	if (host)
		memset(host, 0xee, work->bytes);
	fake_stream_push(stream, work);
	return FAKE_OK;
}

FAKE_API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
				  struct fake_stream *stream);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct fake_stream *stream)
{
	struct fake_work work = {
		.kind = FAKE_COPY, .to = to, .from = (uint64_t)(uintptr_t)from, .bytes = bytes
	};
	int code = enter("cuMemcpyHtoDAsync", true);

	if (code == FAKE_OK)
		code = copy_push(&work, stream, "cuMemcpyHtoDAsync");
	return leave(code);
}

FAKE_API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes,
				  struct fake_stream *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct fake_stream *stream)
{
	struct fake_work work = { .kind = FAKE_COPY,
				  .to = (uint64_t)(uintptr_t)to,
				  .from = from,
				  .bytes = bytes,
				  .to_host = true };
	int code = enter("cuMemcpyDtoHAsync", true);

	if (code == FAKE_OK)
		code = copy_push(&work, stream, "cuMemcpyDtoHAsync");
	return leave(code);
}

/* At once, for tests: host memory of any kind. */
FAKE_API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	int code = enter("cuMemcpyHtoD", true);
	void *at = fake_translate(to, bytes, "cuMemcpyHtoD");

	if (at)
		memcpy(at, from, bytes);
	return leave(at ? code : FAKE_INVALID_VALUE);
}

FAKE_API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	int code = enter("cuMemcpyDtoH", true);
	const void *at = fake_translate(from, bytes, "cuMemcpyDtoH");

	if (at)
		memcpy(to, at, bytes);
	return leave(at ? code : FAKE_INVALID_VALUE);
}

FAKE_API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
				  struct fake_stream *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, struct fake_stream *stream)
{
	struct fake_work work = { .kind = FAKE_COPY, .to = to, .from = from, .bytes = bytes };
	int code = enter("cuMemcpyDtoDAsync", true);

	if (code == FAKE_OK)
		code = copy_push(&work, stream, "cuMemcpyDtoDAsync");
	return leave(code);
}

/* No time to speak of: the fake driver has no clock. */
FAKE_API int cuEventElapsedTime(float *ms, struct fake_event *begin, struct fake_event *end);
int cuEventElapsedTime(float *ms, struct fake_event *begin, struct fake_event *end)
{
	*ms = 1;
	return begin->completed && end->completed ? FAKE_OK : FAKE_NOT_READY;
}

FAKE_API int cuDeviceGetName(char *name, int room, int device);
int cuDeviceGetName(char *name, int room, int device)
{
	snprintf(name, (size_t)room, "fake device %d", device);
	return FAKE_OK;
}

/* --- For tests ------------------------------------------------------------------------------------ */

FAKE_API fake_seed_fn fake_seed;
void fake_seed(uint64_t seed)
{
	pthread_mutex_lock(&lock);
	rng = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	pthread_mutex_unlock(&lock);
}

FAKE_API fake_count_fn fake_count;
void fake_count(struct fake_count *count)
{
	pthread_mutex_lock(&lock);
	*count = (struct fake_count){
		.streams = fake_streams(),
		.events = nr_events,
		.modules = nr_modules,
		.device = fake_blocks(false),
		.pinned = fake_blocks(true),
		.depth = depth,
		.launches = launches,
		.violations = violations,
	};
	for (int i = 0; i < FAKE_DEVICES; i++)
		count->retained += contexts[i].retained;
	memcpy(count->violation, violation, sizeof(violation));
	pthread_mutex_unlock(&lock);
}

FAKE_API fake_fail_fn fake_fail;
void fake_fail(const char *call, unsigned nr, int code, unsigned times)
{
	snprintf(fail.call, sizeof(fail.call), "%s", call ? call : "");
	fail.hit = NULL;
	fail.nr = nr;
	fail.code = code;
	fail.times = nr ? times : 0;
}

FAKE_API fake_failed_fn fake_failed;
int fake_failed(const char **name)
{
	if (name)
		*name = fail.hit;
	return fail.hit != NULL;
}

FAKE_API fake_hold_fn fake_hold;
void fake_hold(void *stream, unsigned nr)
{
	struct fake_stream *held;

	pthread_mutex_lock(&lock);
	held = fake_stream_of(stream, current());
	if (held)
		held->held = nr;
	pthread_mutex_unlock(&lock);
}

FAKE_API fake_capture_fn fake_capture;
void fake_capture(void *stream, int capturing)
{
	struct fake_stream *captured;

	pthread_mutex_lock(&lock);
	captured = fake_stream_of(stream, current());
	if (captured)
		captured->capturing = capturing;
	pthread_mutex_unlock(&lock);
}

FAKE_API fake_waits_fn fake_waits;
unsigned fake_waits(void)
{
	return waits;
}

/* The last word: what is left over when the process ends is a leak. */
__attribute__((destructor)) static void fake_end(void)
{
	struct fake_count count;

	fake_count(&count);
	if (count.retained || count.streams || count.events || count.modules || count.device ||
	    count.pinned)
		fprintf(stderr,
			"fake libcuda: left over: %u contexts, %u streams, %u events, %u modules, %u "
			"device and %u page-locked blocks\n",
			count.retained, count.streams, count.events, count.modules, count.device,
			count.pinned);
	else if (!count.violations)
		return;
	_exit(3);
}
