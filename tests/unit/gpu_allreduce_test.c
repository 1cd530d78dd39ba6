// SPDX-License-Identifier: BSD-3-Clause
// gpu_allreduce_test.c - all-reduces of device tensors through the public API, bit for bit what the definition and
// the same all-reduce of host memory give: every dtype, operation and wire.
#include "host/include/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "host/gpu_device.h"
#include "tests/unit/gpu_rig.h"
#include "tests/unit/naive.h"
#include "tests/unit/ranks.h"

static const struct gpu_rig *rig;
static const char *no_rig;

/* What elements on the device were compared with, and how many were. */
enum { WITH_HOST, WITH_DEFINITION, WITHS };
static const char *const with_names[WITHS] = { "host memory", "definition" };
static atomic_ullong compared[WITHS];
static unsigned nth_round; /* each has other data */

/* The first thing in each test. */
static void rig_needed(void)
{
	size_t bytes;

	if (rig && gpu_device_image(&bytes))
		return;
	print_message("%s\n", rig ? "this build has no kernels" : no_rig);
	skip();
}

/* Where the tensors of a run lie. */
struct place {
	bool src, dst; /* on the device */
	bool in_place;
	bool managed;
	bool null_stream;
	unsigned offset; /* bytes from where memory starts */
};

struct run {
	struct naive naive;
	struct place place;
	unsigned times;
};

/* One rank's tensors, in the three forms: host memory for reference, and what the run uses. */
struct tensors {
	struct gpu_user user;
	size_t bytes;
	uint8_t *data, *want, *got;
	uint64_t src, dst;
};

static void *must_alloc(size_t bytes)
{
	void *memory = malloc(bytes + 1);

	if (!memory)
		abort();
	return memory;
}

static uint64_t tensor_new(const struct tensors *t, const struct place *place, bool on_device,
			   const void *from)
{
	uint8_t *host;
	uint64_t managed = 0;

	if (!on_device) {
		host = (uint8_t *)must_alloc(t->bytes + place->offset) + place->offset;
		if (from)
			memcpy(host, from, t->bytes);
		return (uint64_t)(uintptr_t)host;
	}
	if (!place->managed)
		return gpu_user_new(&t->user, from, t->bytes, place->offset);
	if (rig->managed(&managed, t->bytes + place->offset + 1, 1))
		abort();
	host = (uint8_t *)(uintptr_t)managed + place->offset;
	if (from)
		memcpy(host, from, t->bytes);
	return (uint64_t)(uintptr_t)host;
}

static void tensor_free(const struct tensors *t, const struct place *place, bool on_device,
			uint64_t pointer)
{
	if (on_device)
		gpu_user_free(&t->user, pointer, place->offset);
	else
		free((void *)(uintptr_t)(pointer - place->offset));
}

static void tensors_new(struct tensors *t, const struct run *run, int rank)
{
	const struct naive *naive = &run->naive;
	const size_t each = naive_bytes(naive->dtype);

	*t = (struct tensors){ .bytes = naive->count * each };
	gpu_user_begin(&t->user, rig, 0);
	t->data = must_alloc(t->bytes);
	t->want = must_alloc(t->bytes);
	t->got = must_alloc(t->bytes);
	for (size_t i = 0; i < naive->count; i++) {
		const uint32_t bits = naive_data(naive, rank, i);

		memcpy(t->data + i * each, &bits, each);
	}
	t->src = tensor_new(t, &run->place, run->place.src, t->data);
	t->dst = run->place.in_place ? t->src : tensor_new(t, &run->place, run->place.dst, NULL);
}

static void tensors_free(struct tensors *t, const struct run *run)
{
	tensor_free(t, &run->place, run->place.src, t->src);
	if (t->dst != t->src)
		tensor_free(t, &run->place, run->place.dst, t->dst);
	free(t->data);
	free(t->want);
	free(t->got);
	gpu_user_end(&t->user);
}

static bool reduce(struct rank *rank, const struct tally_args *args, struct tally_result *result)
{
	tally_request_t *req = NULL;
	bool ok = rank_check(rank, tally_allreduce(rank->comm, args, &req) == TALLY_OK);

	result->size = sizeof(*result);
	ok = ok && rank_check(rank, tally_wait(req, -1) == TALLY_OK) &&
	     rank_check(rank, tally_get_result(req, result) == TALLY_OK);
	tally_release(req);
	return ok;
}

static void tensors_read(struct tensors *t, const struct run *run)
{
	if (run->place.dst && !run->place.managed)
		gpu_user_read(&t->user, t->got, t->dst, t->bytes);
	else
		memcpy(t->got, (const void *)(uintptr_t)t->dst, t->bytes);
}

static void tensors_compare(struct rank *rank, const struct tensors *t, const struct naive *naive,
			    unsigned with)
{
	const size_t each = naive_bytes(naive->dtype);

	atomic_fetch_add(&compared[with], naive->count);
	for (size_t i = 0; i < naive->count && !rank->error[0]; i++)
		if (memcmp(t->got + i * each, t->want + i * each, each) != 0)
			snprintf(
				rank->error, sizeof(rank->error),
				"rank %d: element %zu of %zu is not that of the %s (dtype %d op %d wire %d)",
				rank->rank, i, naive->count, with_names[with], (int)naive->dtype,
				(int)naive->op, naive->narrow ? 16 : 32);
}

static void run_rank(struct rank *rank, void *ctx)
{
	const struct run *run = ctx;
	const struct naive *naive = &run->naive;
	struct tally_result host, device;
	struct tally_args args = naive_args(naive, rank->rank);
	struct tensors t;
	uint64_t nonfinite;

	tensors_new(&t, run, rank->rank);
	args.src = t.data;
	args.dst = t.want;
	if (reduce(rank, &args, &host)) {
		args.src = (const void *)(uintptr_t)t.src;
		args.dst = (void *)(uintptr_t)t.dst;
		args.stream = run->place.null_stream ? NULL : t.user.stream;
		if (reduce(rank, &args, &device)) {
			tensors_read(&t, run);
			tensors_compare(rank, &t, naive, WITH_HOST);
			nonfinite = naive_result(naive, rank->rank, t.want);
			tensors_compare(rank, &t, naive, WITH_DEFINITION);
			rank_check(rank, device.nonfinite == nonfinite);
			rank_check(rank, device.nonfinite_rank == host.nonfinite_rank);
			rank_check(rank, device.saturated == host.saturated);
		}
	}
	tensors_free(&t, run);
}

/* Everything is given back, nothing forbidden was done, and kernels have run. */
static void check_clean(void)
{
	struct fake_count count;

	if (!rig->count)
		return;
	rig->count(&count);
	assert_string_equal(count.violation, "");
	assert_int_equal(count.retained, 0);
	assert_int_equal(count.streams + count.events + count.modules, 0);
	assert_int_equal(count.device + count.pinned, 0);
	assert_int_equal(count.depth, 0);
	assert_true(count.launches > 0);
}

static void run_all(const struct run *run, int size, const char *chunk)
{
	struct ranks ranks = {
		.size = size,
		.absent = -1,
		.options = { { "libcuda", rig->library }, { "chunk", chunk } },
		.fn = run_rank,
		.ctx = (void *)(uintptr_t)run,
	};

	ranks_run(&ranks);
	check_clean();
}

/* --- Numbers -------------------------------------------------------------------------------------- */

static const struct naive shapes[] = {
	{ .dtype = TALLY_F32, .op = TALLY_SUM },
	{ .dtype = TALLY_F32, .op = TALLY_AVG },
	{ .dtype = TALLY_F32, .op = TALLY_MAX },
	{ .dtype = TALLY_F32, .op = TALLY_MIN },
	{ .dtype = TALLY_F32, .op = TALLY_SUM, .narrow = true },
	{ .dtype = TALLY_F32, .op = TALLY_AVG, .narrow = true },
	{ .dtype = TALLY_F16, .op = TALLY_SUM },
	{ .dtype = TALLY_F16, .op = TALLY_AVG },
	{ .dtype = TALLY_F16, .op = TALLY_MAX },
	{ .dtype = TALLY_F16, .op = TALLY_MIN },
	{ .dtype = TALLY_F16, .op = TALLY_SUM, .narrow = true },
	{ .dtype = TALLY_F16, .op = TALLY_AVG, .narrow = true },
	{ .dtype = TALLY_BF16, .op = TALLY_SUM },
	{ .dtype = TALLY_BF16, .op = TALLY_AVG },
	{ .dtype = TALLY_BF16, .op = TALLY_MAX },
	{ .dtype = TALLY_BF16, .op = TALLY_MIN },
	{ .dtype = TALLY_BF16, .op = TALLY_SUM, .narrow = true },
	{ .dtype = TALLY_BF16, .op = TALLY_AVG, .narrow = true },
	{ .dtype = TALLY_I32, .op = TALLY_SUM },
	{ .dtype = TALLY_I32, .op = TALLY_AVG },
	{ .dtype = TALLY_I32, .op = TALLY_MAX },
	{ .dtype = TALLY_I32, .op = TALLY_MIN },
	{ .dtype = TALLY_I32, .op = TALLY_SUM, .saturate = true },
	{ .dtype = TALLY_I32, .op = TALLY_AVG, .saturate = true },
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* Several pieces of 128 * 128 elements, the last one short, and a block that is not finite. */
static void shape_run(unsigned i, const struct place *place, size_t count, int size)
{
	struct run run = { .naive = shapes[i], .place = *place };

	run.naive.ranks = size;
	run.naive.count = count;
	run.naive.seed = 1000 + i + SHAPES * nth_round;
	if (run.naive.dtype != TALLY_I32 && i % 2) {
		run.naive.bad_ranks = 2;
		run.naive.bad_at = 300;
		run.naive.bad_bits = run.naive.dtype == TALLY_F32    ? 0x7f800000
				     : run.naive.dtype == TALLY_BF16 ? 0x7f80
								     : 0x7c00;
	}
	if (rig->seed)
		rig->seed(77 * i + count + nth_round);
	run_all(&run, size, "128");
}

static void allreduce__every_dtype_op_and_wire(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned i = 0; i < SHAPES; i++)
		shape_run(i, &(struct place){ .src = true, .dst = true }, 35000 + 77 * i, 2);
}

static void allreduce__in_place(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned i = 0; i < SHAPES; i++)
		shape_run(i, &(struct place){ .src = true, .dst = true, .in_place = true },
			  17001 + 5 * i, 3);
}

static void allreduce__src_or_dst_on_the_device_alone(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned i = 0; i < SHAPES; i++)
		shape_run(i, &(struct place){ .src = i % 2, .dst = !(i % 2) }, 17000 + i, 2);
	for (unsigned i = 0; i < SHAPES; i++)
		shape_run(i, &(struct place){ .src = !(i % 2), .dst = i % 2 }, 400 + i, 2);
}

static void allreduce__any_alignment(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned i = 0; i < SHAPES; i++)
		shape_run(i, &(struct place){ .src = true, .dst = true, .offset = 1 + i % 15 },
			  1 + 97 * i, 2);
}

static void allreduce__managed_memory_and_the_default_stream(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned i = 0; i < SHAPES; i += 5)
		shape_run(i,
			  &(struct place){
				  .src = true, .dst = true, .managed = true, .null_stream = true },
			  5000, 2);
}

static void allreduce__factors(void **state)
{
	(void)state;
	rig_needed();
	for (unsigned i = 0; i < SHAPES; i++) {
		struct run run = { .naive = shapes[i], .place = { .src = true, .dst = true } };

		if (run.naive.dtype == TALLY_I32 || run.naive.op >= TALLY_MAX)
			continue;
		run.naive.ranks = 2;
		run.naive.count = 3001;
		run.naive.seed = i + SHAPES * nth_round;
		for (int r = 0; r < 2; r++) {
			run.naive.prescale[r] = 0.37f + (float)r;
			run.naive.postscale[r] = -1.3f - (float)r;
		}
		run_all(&run, 2, "1408");
	}
}

/* One line for each pair, as every check of numbers has. */
static void pairs_print(void)
{
	for (unsigned with = 0; with < WITHS; with++)
		print_message("pair %s = %s: %llu comparisons\n",
			      rig->count ? "fake driver" : "GPU", with_names[with],
			      (unsigned long long)atomic_load(&compared[with]));
}

/* Argument: how many millions to compare with each, at least; without it every case runs once. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allreduce__every_dtype_op_and_wire),
		cmocka_unit_test(allreduce__in_place),
		cmocka_unit_test(allreduce__src_or_dst_on_the_device_alone),
		cmocka_unit_test(allreduce__any_alignment),
		cmocka_unit_test(allreduce__managed_memory_and_the_default_stream),
		cmocka_unit_test(allreduce__factors),
	};
	const unsigned long long wanted = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000000 : 0;
	int failed;

	rig = gpu_rig_open(&no_rig);
	do {
		failed = cmocka_run_group_tests(tests, NULL, NULL);
		nth_round++;
	} while (!failed && compared[WITH_HOST] > 0 && compared[WITH_DEFINITION] < wanted);
	if (rig && compared[WITH_HOST] > 0)
		pairs_print();
	return failed;
}
