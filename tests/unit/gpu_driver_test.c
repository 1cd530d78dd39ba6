// SPDX-License-Identifier: BSD-3-Clause
// gpu_driver_test.c - the driver is found where it is loaded, and only there; memory is told apart.
#include "host/gpu_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "host/include/tally.h"
#include "host/gpu.h"
#include "host/log.h"
#include "tests/unit/gpu_rig.h"

enum { PAGE = 4096 };

static struct gpu_error error;

/* The first test: nothing has loaded a driver in this process. */
static void find__nothing_where_nothing_is_loaded(void **state)
{
	(void)state;
	assert_null(gpu_driver_find(NULL, &error));
	assert_int_equal(error.status, TALLY_OK);
	assert_null(gpu_driver_find("/nowhere/libcuda.so.1", &error));
	assert_int_equal(error.status, TALLY_OK);
	/* Now from memory. */
	assert_null(gpu_driver_find("", &error));
	assert_int_equal(error.status, TALLY_OK);
}

static const char *library;

static int begin(const void *src, void *dst, void *stream)
{
	const struct quantizer_tensor tensor = {
		.src = src, .dst = dst, .dtype = WIRE_F32, .op = WIRE_SUM
	};
	const struct gpu_args args = { .libcuda = library,
				       .tensor = &tensor,
				       .count = 4,
				       .stream = stream,
				       .form = COLL_FLOAT,
				       .width = 4,
				       .p = 128,
				       .p_max = 128,
				       .world = 1 };
	struct gpu *gpu = NULL;
	const int rc = gpu_begin(&gpu, &args, &error);

	assert_null(gpu);
	return rc;
}

static void begin__without_a_driver(void **state)
{
	float host[4] = { 1, 2, 3, 4 };
	void *hidden = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(hidden != MAP_FAILED);
	assert_int_equal(begin(host, host, NULL), 0);
	assert_int_equal(begin(hidden, host, NULL), TALLY_DEVICE);
	assert_non_null(strstr(error.text, "no CUDA driver"));
	assert_int_equal(begin(host, hidden, NULL), TALLY_DEVICE);
	assert_int_equal(begin(host, host, hidden), TALLY_UNSUPPORTED);
	assert_non_null(strstr(error.text, "stream"));
	assert_int_equal(begin(host, host, NULL), 0);
	munmap(hidden, PAGE);
}

static void find__a_library_that_is_no_driver(void **state)
{
	(void)state;
	/* Loaded in this process, as the test framework is linked with it. */
	assert_null(gpu_driver_find("libc.so.6", &error));
	assert_int_equal(error.status, TALLY_DEVICE);
	assert_string_equal(error.text,
			    "libc.so.6 has no cuGetErrorName: install a driver of CUDA 12 or later");
	/* Now from memory. */
	memset(&error, 0, sizeof(error));
	assert_null(gpu_driver_find("libc.so.6", &error));
	assert_int_equal(error.status, TALLY_DEVICE);
	assert_non_null(strstr(error.text, "cuGetErrorName"));
}

static char noted[512];
static unsigned nr_noted;

static void note(void *ctx, int level, const char *text)
{
	(void)ctx;
	assert_int_equal(level, TALLY_LOG_INFO);
	snprintf(noted, sizeof(noted), "%s", text);
	nr_noted++;
}

/* Host memory goes on without it, and that is said once; nothing else does. */
static void begin__with_a_library_that_is_no_driver(void **state)
{
	float host[4] = { 1, 2, 3, 4 };
	void *hidden = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(hidden != MAP_FAILED);
	library = "libc.so.6";
	assert_int_equal(log_setup(TALLY_LOG_INFO, NULL), 0);
	tally_set_log(note, NULL);
	assert_int_equal(begin(host, host, NULL), 0);
	assert_int_equal(begin(host + 1, host, NULL), 0);
	tally_set_log(NULL, NULL);
	assert_int_equal(log_setup(TALLY_LOG_WARN, NULL), 0);
	assert_int_equal(nr_noted, 1);
	assert_string_equal(
		noted,
		"libc.so.6 has no cuGetErrorName: install a driver of CUDA 12 or later: what "
		"the CPU can read is taken for host memory");
	assert_int_equal(begin(hidden, host, NULL), TALLY_DEVICE);
	assert_non_null(strstr(error.text, "libc.so.6 has no cuGetErrorName"));
	assert_int_equal(begin(host, host, hidden), TALLY_DEVICE);
	assert_non_null(strstr(error.text, "a stream is given"));
	assert_non_null(strstr(error.text, "libc.so.6 has no cuGetErrorName"));
	library = NULL;
	munmap(hidden, PAGE);
}

static void find__one_for_the_process(void **state)
{
	const struct gpu_rig *rig = gpu_rig_open(NULL);

	(void)state;
	if (!rig)
		skip();
	assert_non_null(gpu_driver_find(rig->library, &error));
	assert_ptr_equal(gpu_driver_find(rig->library, &error), gpu_driver_find(NULL, &error));
	assert_null(gpu_driver_find("libother.so.1", &error));
	assert_int_equal(error.status, TALLY_INVALID);
	assert_non_null(strstr(error.text, "libother.so.1"));
}

static void locate__every_kind_of_memory(void **state)
{
	const struct gpu_rig *rig = gpu_rig_open(NULL);
	enum gpu_place place = GPU_HOST;
	struct gpu_user user;
	uint64_t device, managed = 0;
	void *pinned = NULL;
	int ordinal = -1;

	(void)state;
	if (!rig)
		skip();
	gpu_user_begin(&user, rig, 0);
	device = gpu_user_new(&user, NULL, 1000, 0);
	assert_int_equal(rig->managed(&managed, 1000, 1), 0);
	assert_int_equal(rig->driver.cuMemHostAlloc(&pinned, 1000, 0), 0);

	assert_int_equal(gpu_driver_locate(&rig->driver, (void *)(uintptr_t)(device + 999), &place,
					   &ordinal),
			 0);
	assert_int_equal(place, GPU_DEVICE);
	assert_int_equal(ordinal, 0);
	assert_int_equal(gpu_driver_locate(&rig->driver, (void *)(uintptr_t)managed, &place,
					   &ordinal),
			 0);
	assert_int_equal(place, GPU_DEVICE);
	assert_int_equal(gpu_driver_locate(&rig->driver, pinned, &place, &ordinal), 0);
	assert_int_equal(place, GPU_HOST);
	assert_int_equal(gpu_driver_locate(&rig->driver, &user, &place, &ordinal), 0);
	assert_int_equal(place, GPU_HOST);

	rig->driver.cuMemFree(device);
	rig->driver.cuMemFree(managed);
	rig->driver.cuMemFreeHost(pinned);
	gpu_user_end(&user);
}

/* A driver that does not answer: host memory goes on without it, all else is refused. */
static void begin__with_a_driver_that_does_not_answer(void **state)
{
	const struct gpu_rig *rig = gpu_rig_open(NULL);
	float host[4] = { 1, 2, 3, 4 };
	struct gpu_user user;
	uint64_t device;

	(void)state;
	if (!rig || !rig->inject)
		skip();
	gpu_user_begin(&user, rig, 0);
	device = gpu_user_new(&user, NULL, 1000, 0);
	rig->inject("cuPointerGetAttributes", 1, 700, 1000);
	assert_int_equal(begin(host, host, NULL), 0);
	assert_int_equal(begin(host, host, user.stream), TALLY_DEVICE);
	assert_int_equal(begin((void *)(uintptr_t)device, host, NULL), TALLY_DEVICE);
	assert_non_null(strstr(error.text, "cuPointerGetAttributes: CUDA_ERROR_ILLEGAL_ADDRESS"));
	/* As in a child of the process that initialised it. */
	rig->inject("cuPointerGetAttributes", 1, CUDA_ERROR_NOT_INITIALIZED, 1000);
	assert_int_equal(begin(host, host, NULL), 0);
	assert_int_equal(begin((void *)(uintptr_t)device, host, NULL), TALLY_DEVICE);
	assert_non_null(strstr(error.text, "no CUDA driver is at work"));
	rig->inject(NULL, 0, 0, 0);
	assert_int_equal(begin(host, host, NULL), 0);
	gpu_user_free(&user, device, 0);
	gpu_user_end(&user);
}

static void fail__names_the_call_and_the_code(void **state)
{
	const struct gpu_rig *rig = gpu_rig_open(NULL);

	(void)state;
	if (!rig)
		skip();
	assert_int_equal(gpu_driver_fail(&rig->driver, "cuMemAlloc", 2, &error), TALLY_DEVICE);
	assert_string_equal(error.text, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY");
	assert_int_equal(error.status, TALLY_DEVICE);
	gpu_driver_fail(&rig->driver, "cuMemAlloc", 123456, &error);
	assert_string_equal(error.text, "cuMemAlloc: CUDA error 123456");
}

static void readable__what_the_cpu_can_read(void **state)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	assert_true(gpu_driver_readable(pages, pages + PAGE - 1));
	assert_false(gpu_driver_readable(pages, pages + PAGE));
	assert_false(gpu_driver_readable(pages + PAGE, pages));
	munmap(pages, 2 * PAGE);
	assert_false(gpu_driver_readable(pages, pages));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__nothing_where_nothing_is_loaded),
		cmocka_unit_test(begin__without_a_driver),
		cmocka_unit_test(find__a_library_that_is_no_driver),
		cmocka_unit_test(begin__with_a_library_that_is_no_driver),
		cmocka_unit_test(find__one_for_the_process),
		cmocka_unit_test(locate__every_kind_of_memory),
		cmocka_unit_test(begin__with_a_driver_that_does_not_answer),
		cmocka_unit_test(fail__names_the_call_and_the_code),
		cmocka_unit_test(readable__what_the_cpu_can_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
