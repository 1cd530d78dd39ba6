// SPDX-License-Identifier: BSD-3-Clause
// gpu_driver.c - the CUDA driver, found in the process and never linked; and where memory lies.
#include "host/gpu_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/include/tally.h"

#define DRIVER_LIBRARY "libcuda.so.1"

/* One driver a process, as there is one set of devices.  All of it under the lock. */
static struct {
	pthread_mutex_t lock;
	bool ready;
	char name[256]; /* that serves, or was looked for last */
	unsigned long long
		adds;	      /* libraries that had been loaded when it was found to be of no use */
	struct gpu_error why; /* TALLY_OK: there was none */
	struct gpu_driver driver;
} loader = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const struct {
	const char *symbol;
	size_t at;
} driver_symbols[] = {
#define X(name, version, parameters) { #name version, offsetof(struct gpu_driver, name) },
	GPU_DRIVER_MAP(X)
#undef X
};

static int driver_adds(struct dl_phdr_info *info, size_t size, void *out)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof(info->dlpi_adds))
		*(unsigned long long *)out = info->dlpi_adds;
	return 1; /* the first one tells */
}

/* Whether the library is in the process.  A handle that is kept keeps it there. */
static bool driver_present(const char *library)
{
	return dlopen(library, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

static int driver_resolve(void *handle, const char *library, struct gpu_error *error)
{
	for (size_t i = 0; i < sizeof(driver_symbols) / sizeof(driver_symbols[0]); i++) {
		void *symbol = dlsym(handle, driver_symbols[i].symbol);

		if (!symbol) {
			error->status = TALLY_DEVICE;
			snprintf(error->text, sizeof(error->text),
				 "%s has no %s: install a driver of CUDA 12 or later", library,
				 driver_symbols[i].symbol);
			return error->status;
		}
		memcpy((char *)&loader.driver + driver_symbols[i].at, &symbol, sizeof(symbol));
	}
	return TALLY_OK;
}

static void driver_load(const char *library, struct gpu_error *error)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		error->status = TALLY_DEVICE;
		snprintf(error->text, sizeof(error->text),
			 "the CUDA driver cannot be loaded (TALLY_LIBCUDA names another): %.256s",
			 dlerror());
		return;
	}
	if (driver_resolve(handle, library, error) < 0)
		return;
	snprintf(loader.name, sizeof(loader.name), "%s", library);
	loader.ready = true;
}

static void driver_find(const char *library, struct gpu_error *error)
{
	const bool named = library[0];
	unsigned long long adds = 0;

	if (loader.ready) {
		if (!named || !strcmp(library, loader.name))
			return;
		error->status = TALLY_INVALID;
		snprintf(error->text, sizeof(error->text),
			 "TALLY_LIBCUDA is %.128s, but this process uses %.128s already: there is one "
			 "driver in a process",
			 library, loader.name);
		return;
	}
	/* Nothing has been loaded since there was none of use: that is cheaper to ask. */
	dl_iterate_phdr(driver_adds, &adds);
	if (adds && adds == loader.adds && !strcmp(library, loader.name)) {
		*error = loader.why;
		return;
	}
	if (driver_present(DRIVER_LIBRARY) || (named && driver_present(library)))
		driver_load(named ? library : DRIVER_LIBRARY, error);
	if (loader.ready)
		return;
	snprintf(loader.name, sizeof(loader.name), "%s", library);
	loader.adds = adds;
	loader.why = *error;
}

const struct gpu_driver *gpu_driver_find(const char *library, struct gpu_error *error)
{
	const struct gpu_driver *driver;

	error->status = TALLY_OK;
	error->text[0] = '\0';
	pthread_mutex_lock(&loader.lock);
	driver_find(library ? library : "", error);
	driver = loader.ready && error->status == TALLY_OK ? &loader.driver : NULL;
	pthread_mutex_unlock(&loader.lock);
	return driver;
}

int gpu_driver_locate(const struct gpu_driver *driver, const void *pointer, enum gpu_place *place,
		      int *device)
{
	int attributes[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
	};
	unsigned type = 0, managed = 0;
	int ordinal = -1;
	void *data[] = { &type, &managed, &ordinal };
	int code;

	/* Asked for every operation: an address may be freed and come back as memory of another kind. */
	code = driver->cuPointerGetAttributes(3, attributes, data, (uint64_t)(uintptr_t)pointer);
	if (code != CUDA_SUCCESS)
		return code;
	*place = type == CU_MEMORYTYPE_DEVICE || managed ? GPU_DEVICE : GPU_HOST;
	if (*place == GPU_DEVICE)
		*device = ordinal;
	return CUDA_SUCCESS;
}

int gpu_driver_fail(const struct gpu_driver *driver, const char *call, int code,
		    struct gpu_error *error)
{
	const char *name = NULL;

	error->status = TALLY_DEVICE;
	if (driver->cuGetErrorName(code, &name) == CUDA_SUCCESS && name)
		snprintf(error->text, sizeof(error->text), "%s: %.128s", call, name);
	else
		snprintf(error->text, sizeof(error->text), "%s: CUDA error %d", call, code);
	return error->status;
}

bool gpu_driver_readable(const void *a, const void *b)
{
	char bytes[2];
	/* The system copies from where this process would fault. */
	struct iovec to = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct iovec from[2] = {
		{ .iov_base = (void *)(uintptr_t)a, .iov_len = 1 },
		{ .iov_base = (void *)(uintptr_t)b, .iov_len = 1 },
	};
	ssize_t nr = process_vm_readv(getpid(), &to, 1, from, 2, 0);

	return nr == 2 || (nr < 0 && errno != EFAULT);
}
