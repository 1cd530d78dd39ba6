// SPDX-License-Identifier: BSD-3-Clause
// gpu_failure_test.c - device tensors when something is wrong: the driver fails at any call, streams are late, the
// operation is given up while work is under way; nothing is corrupted, lost or touched too late.
#include "host/include/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "host/engine.h"
#include "host/gpu_device.h"
#include "tests/unit/gpu_rig.h"
#include "tests/unit/ranks.h"

enum { COUNT = 16704, CALLS_MAX = 2000, CODE = 719, LATE = 200, HELD = 600 };

static const struct gpu_rig *rig;
static const char *no_rig;

/* The first thing in each test. */
static void rig_needed(void)
{
	if (rig && rig->inject)
		return;
	print_message("%s\n", rig ? "only the fake driver fails when it is told to" : no_rig);
	skip();
}

/* A job of one rank, so that what fails is this one's driver. */
struct solo {
	tally_t *comm;
	struct gpu_user user;
	float *data, *got;
	uint64_t src, dst;
	tally_request_t *req;
};

static float value_at(size_t i)
{
	return (float)((int)(i * 2654435761u % 20011) - 10000) / 64;
}

static void solo_open(struct solo *solo, const char *timeout)
{
	tally_config_t *config;
	char sw[64];

	snprintf(sw, sizeof(sw), "inproc:%p", (void *)solo);
	assert_int_equal(tally_config_new(&config), TALLY_OK);
	assert_int_equal(tally_config_set(config, "size", "1"), TALLY_OK);
	assert_int_equal(tally_config_set(config, "rank", "0"), TALLY_OK);
	assert_int_equal(tally_config_set(config, "switch", sw), TALLY_OK);
	assert_int_equal(tally_config_set(config, "chunk", "128"), TALLY_OK);
	assert_int_equal(tally_config_set(config, "timeout", timeout), TALLY_OK);
	assert_int_equal(tally_config_set(config, "libcuda", rig->library), TALLY_OK);
	assert_int_equal(tally_open(&solo->comm, config), TALLY_OK);
	tally_config_free(config);
}

static void solo_begin(struct solo *solo)
{
	memset(solo, 0, sizeof(*solo));
	solo_open(solo, "20");
	gpu_user_begin(&solo->user, rig, 0);
	solo->data = calloc(COUNT, sizeof(float));
	solo->got = calloc(COUNT, sizeof(float));
	assert_non_null(solo->data);
	assert_non_null(solo->got);
	for (size_t i = 0; i < COUNT; i++)
		solo->data[i] = value_at(i);
	solo->src = gpu_user_new(&solo->user, solo->data, COUNT * sizeof(float), 0);
	solo->dst = gpu_user_new(&solo->user, solo->got, COUNT * sizeof(float), 0);
}

static void check_clean(void)
{
	struct fake_count count;

	rig->count(&count);
	assert_string_equal(count.violation, "");
	assert_int_equal(count.retained + count.depth, 0);
	assert_int_equal(count.streams + count.events + count.modules, 0);
	assert_int_equal(count.device + count.pinned, 0);
}

static void solo_free(struct solo *solo)
{
	gpu_user_free(&solo->user, solo->src, 0);
	gpu_user_free(&solo->user, solo->dst, 0);
	gpu_user_end(&solo->user);
	free(solo->data);
	free(solo->got);
	check_clean();
}

static void solo_end(struct solo *solo)
{
	tally_release(solo->req);
	tally_close(solo->comm);
	solo_free(solo);
}

static int solo_post(struct solo *solo)
{
	const struct tally_args args = {
		.size = sizeof(args),
		.src = (const void *)(uintptr_t)solo->src,
		.dst = (void *)(uintptr_t)solo->dst,
		.count = COUNT,
		.dtype = TALLY_F32,
		.op = TALLY_SUM,
		.stream = solo->user.stream,
	};

	tally_release(solo->req);
	solo->req = NULL;
	return tally_allreduce(solo->comm, &args, &solo->req);
}

static int solo_reduce(struct solo *solo)
{
	const int rc = solo_post(solo);

	return rc < 0 ? rc : tally_wait(solo->req, -1);
}

/* With one rank the sum is what it put in: these numbers fit exactly. */
static void solo_check(struct solo *solo, const float *want)
{
	gpu_user_read(&solo->user, solo->got, solo->dst, COUNT * sizeof(float));
	assert_memory_equal(solo->got, want, COUNT * sizeof(float));
	gpu_user_read(&solo->user, solo->got, solo->src, COUNT * sizeof(float));
	assert_memory_equal(solo->got, solo->data, COUNT * sizeof(float));
}

static void solo_wipe(struct solo *solo)
{
	memset(solo->got, 0x5a, COUNT * sizeof(float));
	assert_int_equal(rig->to_device(solo->dst, solo->got, COUNT * sizeof(float)), 0);
}

/* The error names the call, and afterwards everything works again. */
static void solo_recover(struct solo *solo, int rc, const char *call)
{
	char text[128];

	if (rc != TALLY_OK) {
		assert_int_equal(rc, TALLY_DEVICE);
		snprintf(text, sizeof(text), "GPU 0: %s: CUDA_ERROR_LAUNCH_FAILED", call);
		/* Without an answer about a pointer nobody knows which GPU. */
		assert_non_null(strstr(tally_last_error(solo->comm),
				       strcmp(call, "cuPointerGetAttributes") ? text : text + 7));
		if (tally_progress(solo->comm) < 0)
			assert_int_equal(tally_rejoin(solo->comm), TALLY_OK);
	}
	solo_wipe(solo);
	assert_int_equal(solo_reduce(solo), TALLY_OK);
	solo_check(solo, solo->data);
}

/* The n-th call of an operation fails, for every n: of a communicator's first, or of a later one. */
static void each_call(unsigned times, bool first)
{
	unsigned n, failures = 0, waits = 0;
	const char *call;
	bool hit = true;

	for (n = 1; hit && n < CALLS_MAX; n++) {
		struct solo solo;
		int rc;

		rig->seed(n);
		solo_begin(&solo);
		if (!first)
			assert_int_equal(solo_reduce(&solo), TALLY_OK);
		rig->inject(NULL, n, CODE, times);
		rc = solo_reduce(&solo);
		hit = rig->failed(&call);
		rig->inject(NULL, 0, 0, 0);
		if (!hit)
			assert_int_equal(rc, TALLY_OK);
		failures += rc != TALLY_OK;
		waits += hit && !strcmp(call, "cuStreamWaitEvent");
		solo_recover(&solo, rc, hit ? call : "");
		solo_end(&solo);
	}
	assert_false(hit);
	assert_true(failures > 20);
	/* Both streams of ours for the caller's, and the caller's for the end. */
	assert_true(waits >= 3);
}

static void failure__at_each_call_of_the_first_operation(void **state)
{
	(void)state;
	rig_needed();
	each_call(1, true);
}

static void failure__at_each_call_of_a_later_operation(void **state)
{
	(void)state;
	rig_needed();
	each_call(1, false);
}

static void failure__of_a_call_for_good(void **state)
{
	static const char *const calls[] = {
		"cuLaunchKernel",   "cuMemcpyHtoDAsync",   "cuMemcpyDtoHAsync", "cuEventQuery",
		"cuEventRecord",    "cuStreamWaitEvent",   "cuMemAlloc",	"cuMemHostAlloc",
		"cuModuleLoadData", "cuModuleGetFunction", "cuStreamCreate",	"cuEventCreate"
	};
	(void)state;
	rig_needed();
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct solo solo;

		solo_begin(&solo);
		for (unsigned again = 0; again < 3; again++) {
			rig->inject(calls[i], 1, CODE, 100000);
			assert_int_equal(solo_reduce(&solo), TALLY_DEVICE);
			assert_non_null(strstr(tally_last_error(solo.comm), calls[i]));
			if (tally_progress(solo.comm) < 0)
				assert_int_equal(tally_rejoin(solo.comm), TALLY_OK);
		}
		rig->inject(NULL, 0, 0, 0);
		solo_recover(&solo, TALLY_OK, "");
		solo_end(&solo);
	}
}

static void failure__while_closing_leaves_nothing(void **state)
{
	struct solo solo;
	const char *call;
	bool hit = true;

	(void)state;
	rig_needed();
	for (unsigned n = 1; hit && n < CALLS_MAX; n++) {
		solo_begin(&solo);
		assert_int_equal(solo_reduce(&solo), TALLY_OK);
		tally_release(solo.req);
		rig->inject(NULL, n, CODE, 1);
		tally_close(solo.comm);
		hit = rig->failed(&call);
		rig->inject(NULL, 0, 0, 0);
		solo_free(&solo);
	}
	assert_false(hit);
}

/* Not even the second time, and the caller's context is the thread's current one, as it mostly is. */
static void failure__to_enter_the_context_leaves_nothing(void **state)
{
	struct solo solo;

	(void)state;
	rig_needed();
	solo_begin(&solo);
	assert_int_equal(solo_reduce(&solo), TALLY_OK);
	tally_release(solo.req);
	rig->inject("cuCtxPushCurrent", 1, CODE, 100000);
	tally_close(solo.comm);
	rig->inject(NULL, 0, 0, 0);
	solo_free(&solo);
}

/* --- The other ranks ------------------------------------------------------------------------------ */

/* The call of rank 2 that fails, while it posts or later, but before anything is sent: the others cannot be done. */
struct one {
	const char *call;
	unsigned nr;
};

static int one_reduce(struct rank *rank, const void *src, void *dst, void *stream)
{
	const struct tally_args args = {
		.size = sizeof(args),
		.src = src,
		.dst = dst,
		.count = COUNT,
		.dtype = TALLY_I32,
		.op = TALLY_SUM,
		.stream = stream,
	};
	tally_request_t *req = NULL;
	int rc = tally_allreduce(rank->comm, &args, &req);

	if (rc < 0)
		return rc;
	rc = tally_wait(req, -1);
	tally_release(req);
	return rc;
}

static void one_host(struct rank *rank)
{
	int32_t *data = calloc(COUNT, sizeof(*data));

	if (!data)
		abort();
	for (size_t i = 0; i < COUNT; i++)
		data[i] = (int32_t)i * 31 + rank->rank;
	rank_check(rank, one_reduce(rank, data, data, NULL) == TALLY_PEER);
	rank_says(rank, "rank 2 of 3: its GPU failed: ");
	rank_check(rank, tally_rejoin(rank->comm) == TALLY_OK);
	for (size_t i = 0; i < COUNT; i++)
		data[i] = (int32_t)i * 31 + rank->rank;
	rank_check(rank, one_reduce(rank, data, data, NULL) == TALLY_OK);
	for (size_t i = 0; i < COUNT; i++)
		if (!rank_check(rank, data[i] == (int32_t)i * 93 + 3))
			break;
	free(data);
}

static void one_device(struct rank *rank, const struct one *one)
{
	int32_t *data = calloc(COUNT, sizeof(*data));
	struct gpu_user user;
	uint64_t at;
	void *tensor;
	int rc;

	if (!data)
		abort();
	for (size_t i = 0; i < COUNT; i++)
		data[i] = (int32_t)i * 31 + rank->rank;
	gpu_user_begin(&user, rig, 0);
	at = gpu_user_new(&user, data, COUNT * sizeof(*data), 0);
	tensor = (void *)(uintptr_t)at;
	rig->inject(one->call, one->nr, CODE, 1);
	rc = one_reduce(rank, tensor, tensor, user.stream);
	rig->inject(NULL, 0, 0, 0);
	rank_check(rank, rc == TALLY_DEVICE);
	rank_says(rank, one->call);
	rank_says(rank, "tally_rejoin()");
	/* The epoch is over for this rank, too. */
	rank_check(rank, one_reduce(rank, data, data, NULL) == TALLY_DEVICE);
	rank_check(rank, tally_rejoin(rank->comm) == TALLY_OK);
	if (rig->to_device(at, data, COUNT * sizeof(*data)))
		abort();
	rank_check(rank, one_reduce(rank, tensor, tensor, user.stream) == TALLY_OK);
	gpu_user_read(&user, data, at, COUNT * sizeof(*data));
	for (size_t i = 0; i < COUNT; i++)
		if (!rank_check(rank, data[i] == (int32_t)i * 93 + 3))
			break;
	gpu_user_free(&user, at, 0);
	gpu_user_end(&user);
	free(data);
}

static void one_rank(struct rank *rank, void *ctx)
{
	if (rank->rank == 2)
		one_device(rank, ctx);
	else
		one_host(rank);
}

/* Long before the 20 s that an operation may take: they have the status of a rank that failed, not TALLY_TIMEOUT. */
static void failure__of_one_rank_is_told_to_the_others(void **state)
{
	struct one each[] = {
		{ "cuPointerGetAttributes", 1 }, { "cuMemHostAlloc", 1 },
		{ "cuStreamWaitEvent", 1 },	 { "cuLaunchKernel", 1 },
		{ "cuEventQuery", 1 },
	};

	(void)state;
	rig_needed();
	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct ranks ranks = {
			.size = 3,
			.absent = -1,
			.fn = one_rank,
			.ctx = &each[i],
			.options = { { "libcuda", rig->library } },
		};

		rig->seed(i + 1);
		ranks_run(&ranks);
		check_clean();
	}
}

/* --- Order ---------------------------------------------------------------------------------------- */

/* What the caller's stream still has to do with src and dst is done before the operation. */
static void order__after_what_the_stream_has_to_do(void **state)
{
	const size_t bytes = COUNT * sizeof(float);
	void *fresh = NULL, *old = NULL;
	float *before = calloc(COUNT, sizeof(float));
	struct solo solo;

	(void)state;
	rig_needed();
	assert_non_null(before);
	for (unsigned seed = 1; seed < 8; seed++) {
		rig->seed(seed);
		solo_begin(&solo);
		assert_int_equal(rig->driver.cuMemHostAlloc(&fresh, bytes, 0), 0);
		assert_int_equal(rig->driver.cuMemHostAlloc(&old, bytes, 0), 0);
		gpu_user_read(&solo.user, before, solo.dst, bytes);
		for (size_t i = 0; i < COUNT; i++)
			solo.data[i] = value_at(i * 7 + seed);
		memcpy(fresh, solo.data, bytes);
		rig->hold(solo.user.stream, LATE);
		assert_int_equal(rig->driver.cuMemcpyHtoDAsync(solo.src, fresh, bytes,
							       solo.user.stream),
				 0);
		assert_int_equal(rig->driver.cuMemcpyDtoHAsync(old, solo.dst, bytes,
							       solo.user.stream),
				 0);
		assert_int_equal(solo_reduce(&solo), TALLY_OK);
		solo_check(&solo, solo.data);
		assert_memory_equal(old, before, bytes);
		assert_int_equal(rig->driver.cuMemFreeHost(fresh), 0);
		assert_int_equal(rig->driver.cuMemFreeHost(old), 0);
		solo_end(&solo);
	}
	free(before);
}

/* Nor is anything that the CPU reads read earlier. */
static void order__of_host_memory_as_source(void **state)
{
	const size_t bytes = COUNT * sizeof(float);
	void *host = NULL;
	uint64_t device;
	struct solo solo;

	(void)state;
	rig_needed();
	solo_begin(&solo);
	assert_int_equal(rig->driver.cuMemHostAlloc(&host, bytes, 0), 0);
	device = solo.src;
	solo.src = (uint64_t)(uintptr_t)host;
	rig->hold(solo.user.stream, LATE);
	assert_int_equal(rig->driver.cuMemcpyDtoHAsync(host, device, bytes, solo.user.stream), 0);
	assert_int_equal(solo_reduce(&solo), TALLY_OK);
	solo.src = device;
	solo_check(&solo, solo.data);
	assert_int_equal(rig->driver.cuMemFreeHost(host), 0);
	solo_end(&solo);
}

static void order__progress_never_waits(void **state)
{
	struct solo solo;
	unsigned waits;

	(void)state;
	rig_needed();
	solo_begin(&solo);
	waits = rig->waits();
	rig->hold(solo.user.stream, HELD);
	assert_int_equal(solo_post(&solo), TALLY_OK);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(tally_test(solo.req), TALLY_IN_PROGRESS);
	assert_int_equal(tally_wait(solo.req, -1), TALLY_OK);
	assert_int_equal(rig->waits(), waits);
	solo_check(&solo, solo.data);
	solo_end(&solo);
}

/* The caller's stream may take longer than an operation may be without progress. */
static void order__a_late_stream_is_no_stall(void **state)
{
	struct solo solo;
	uint64_t begin_ns;

	(void)state;
	rig_needed();
	solo_begin(&solo);
	tally_close(solo.comm);
	solo_open(&solo, "0.4");
	rig->hold(solo.user.stream, HELD);
	assert_int_equal(solo_post(&solo), TALLY_OK);
	for (begin_ns = engine_clock(); engine_clock() - begin_ns < UINT64_C(600000000);) {
		rig->hold(solo.user.stream, HELD);
		assert_int_equal(tally_wait(solo.req, 1000000), TALLY_IN_PROGRESS);
	}
	rig->hold(solo.user.stream, 0);
	assert_int_equal(tally_wait(solo.req, -1), TALLY_OK);
	solo_check(&solo, solo.data);
	solo_end(&solo);
}

static void order__many_operations_at_once(void **state)
{
	enum { OPS = 32, EACH = COUNT / OPS };
	tally_request_t *reqs[OPS];
	struct solo solo;

	(void)state;
	rig_needed();
	for (unsigned seed = 1; seed < 4; seed++) {
		rig->seed(seed);
		solo_begin(&solo);
		for (unsigned i = 0; i < OPS; i++) {
			const struct tally_args args = {
				.size = sizeof(args),
				.src = (const void *)(uintptr_t)(solo.src + i * EACH * 4),
				.dst = (void *)(uintptr_t)(solo.dst + i * EACH * 4),
				.count = EACH,
				.dtype = TALLY_F32,
				.op = i % 2 ? TALLY_MAX : TALLY_AVG,
				.stream = i % 3 ? solo.user.stream : NULL,
			};

			assert_int_equal(tally_allreduce(solo.comm, &args, &reqs[i]), TALLY_OK);
		}
		for (unsigned i = OPS; i-- > 0;) {
			assert_int_equal(tally_wait(reqs[i], -1), TALLY_OK);
			tally_release(reqs[i]);
		}
		solo_check(&solo, solo.data);
		solo_end(&solo);
	}
}

/* --- Giving up ------------------------------------------------------------------------------------ */

static void steps(struct solo *solo, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		tally_test(solo->req);
}

static void stop__abort_waits_for_the_device(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned after = 0; after < 24; after++) {
		struct solo solo;
		unsigned waits;
		int rc;

		rig->seed(after + 1);
		solo_begin(&solo);
		waits = rig->waits();
		rig->hold(solo.user.stream, after % 4 == 0 ? HELD : 0);
		assert_int_equal(solo_post(&solo), TALLY_OK);
		steps(&solo, after);
		assert_int_equal(tally_abort(solo.comm), TALLY_OK);
		rc = tally_wait(solo.req, -1);
		assert_true(rc == TALLY_ABORTED || rc == TALLY_OK);
		assert_int_equal(rig->waits(), waits);
		/* The memory is the caller's: freed while in use, the driver would complain. */
		gpu_user_free(&solo.user, solo.dst, 0);
		solo.dst = gpu_user_new(&solo.user, solo.got, COUNT * sizeof(float), 0);
		assert_int_equal(tally_rejoin(solo.comm), TALLY_OK);
		solo_recover(&solo, TALLY_OK, "");
		solo_end(&solo);
	}
}

static void stop__close_waits_for_the_device(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned after = 0; after < 24; after++) {
		struct solo solo;

		rig->seed(after + 1);
		solo_begin(&solo);
		rig->hold(solo.user.stream, after % 4 == 0 ? HELD : 0);
		assert_int_equal(solo_post(&solo), TALLY_OK);
		steps(&solo, after);
		tally_close(solo.comm);
		solo_free(&solo);
	}
}

static void stop__rejoin_waits_for_the_device(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned after = 0; after < 12; after++) {
		struct solo solo;

		rig->seed(after + 1);
		solo_begin(&solo);
		rig->hold(solo.user.stream, after % 2 ? HELD : 0);
		assert_int_equal(solo_post(&solo), TALLY_OK);
		steps(&solo, after);
		assert_int_equal(tally_rejoin(solo.comm), TALLY_OK);
		assert_int_not_equal(tally_test(solo.req), TALLY_IN_PROGRESS);
		solo_recover(&solo, TALLY_OK, "");
		solo_end(&solo);
	}
}

/* --- Refusals ------------------------------------------------------------------------------------- */

static const void *no_image(size_t *bytes)
{
	*bytes = 0;
	return NULL;
}

static void refuse__a_build_without_kernels(void **state)
{
	const void *(*image)(size_t *) = gpu_device_image;
	struct solo solo;

	(void)state;
	rig_needed();
	solo_begin(&solo);
	gpu_device_image = no_image;
	assert_int_equal(solo_reduce(&solo), TALLY_UNSUPPORTED);
	assert_non_null(strstr(tally_last_error(solo.comm), "nvcc"));
	gpu_device_image = image;
	solo_recover(&solo, TALLY_OK, "");
	solo_end(&solo);
}

static void refuse__tensors_on_two_devices(void **state)
{
	struct gpu_user other;
	struct solo solo;
	uint64_t dst;

	(void)state;
	rig_needed();
	solo_begin(&solo);
	gpu_user_begin(&other, rig, 1);
	dst = solo.dst;
	solo.dst = gpu_user_new(&other, solo.got, COUNT * sizeof(float), 0);
	assert_int_equal(solo_reduce(&solo), TALLY_INVALID);
	assert_non_null(strstr(tally_last_error(solo.comm), "src is on GPU 0, dst on GPU 1"));
	gpu_user_free(&other, solo.dst, 0);
	gpu_user_end(&other);
	solo.dst = dst;
	solo_recover(&solo, TALLY_OK, "");
	solo_end(&solo);
}

static void refuse__a_stream_with_host_memory(void **state)
{
	struct solo solo;
	uint64_t src, dst;

	(void)state;
	rig_needed();
	solo_begin(&solo);
	src = solo.src;
	dst = solo.dst;
	solo.src = (uint64_t)(uintptr_t)solo.data;
	solo.dst = (uint64_t)(uintptr_t)solo.got;
	assert_int_equal(solo_reduce(&solo), TALLY_INVALID);
	assert_non_null(strstr(tally_last_error(solo.comm), "host memory"));
	solo.src = src;
	solo.dst = dst;
	solo_end(&solo);
}

static void refuse__a_stream_that_is_captured(void **state)
{
	struct solo solo;

	(void)state;
	rig_needed();
	solo_begin(&solo);
	rig->capture(solo.user.stream, 1);
	assert_int_equal(solo_reduce(&solo), TALLY_INVALID);
	assert_non_null(strstr(tally_last_error(solo.comm), "captured"));
	rig->capture(solo.user.stream, 0);
	solo_recover(&solo, TALLY_OK, "");
	solo_end(&solo);
}

/* Both devices, one after the other and at once. */
static void devices__each_has_its_own(void **state)
{
	struct gpu_user other;
	struct solo solo;
	uint64_t there;
	tally_request_t *req = NULL;
	struct tally_args args = {
		.size = sizeof(args), .count = COUNT, .dtype = TALLY_F32, .op = TALLY_SUM
	};

	(void)state;
	rig_needed();
	solo_begin(&solo);
	gpu_user_begin(&other, rig, 1);
	there = gpu_user_new(&other, solo.data, COUNT * sizeof(float), 0);
	args.src = args.dst = (void *)(uintptr_t)there;
	args.stream = other.stream;
	assert_int_equal(solo_post(&solo), TALLY_OK);
	assert_int_equal(tally_allreduce(solo.comm, &args, &req), TALLY_OK);
	assert_int_equal(tally_wait(req, -1), TALLY_OK);
	assert_int_equal(tally_wait(solo.req, -1), TALLY_OK);
	tally_release(req);
	gpu_user_read(&other, solo.got, there, COUNT * sizeof(float));
	assert_memory_equal(solo.got, solo.data, COUNT * sizeof(float));
	gpu_user_free(&other, there, 0);
	gpu_user_end(&other);
	solo_check(&solo, solo.data);
	solo_end(&solo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failure__at_each_call_of_the_first_operation),
		cmocka_unit_test(failure__at_each_call_of_a_later_operation),
		cmocka_unit_test(failure__of_a_call_for_good),
		cmocka_unit_test(failure__while_closing_leaves_nothing),
		cmocka_unit_test(failure__to_enter_the_context_leaves_nothing),
		cmocka_unit_test(failure__of_one_rank_is_told_to_the_others),
		cmocka_unit_test(order__after_what_the_stream_has_to_do),
		cmocka_unit_test(order__of_host_memory_as_source),
		cmocka_unit_test(order__progress_never_waits),
		cmocka_unit_test(order__a_late_stream_is_no_stall),
		cmocka_unit_test(order__many_operations_at_once),
		cmocka_unit_test(stop__abort_waits_for_the_device),
		cmocka_unit_test(stop__close_waits_for_the_device),
		cmocka_unit_test(stop__rejoin_waits_for_the_device),
		cmocka_unit_test(refuse__a_build_without_kernels),
		cmocka_unit_test(refuse__tensors_on_two_devices),
		cmocka_unit_test(refuse__a_stream_with_host_memory),
		cmocka_unit_test(refuse__a_stream_that_is_captured),
		cmocka_unit_test(devices__each_has_its_own),
	};

	rig = gpu_rig_open(&no_rig);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
