// SPDX-License-Identifier: BSD-3-Clause
// gpu_test.c - an operation on device memory step by step, without a network: what may be sent when, the same numbers
// as the CPU's, and results in any order.
#include "host/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/gpu_line.h"
#include "host/include/tally.h"
#include "tests/unit/gpu_rig.h"

enum { P = 128, SPAN = 128 * P, WORLD = 3, OP = 5, STEPS = 100000 };

static const struct gpu_rig *rig;
static const char *no_rig;

static void rig_needed(void)
{
	if (rig && rig->count)
		return;
	print_message("%s\n", rig ? "only the fake driver counts" : no_rig);
	skip();
}

/* One operation of one rank; the exponents that are agreed are its own, as are the sums. */
struct drive {
	struct gpu *gpu;
	struct gpu_user user;
	struct quantizer quantizer;
	struct quantizer_tensor tensor, host; /* the same in host memory */
	struct coll_args plan;
	uint64_t count;
	size_t bytes;
	uint32_t per;
	uint32_t burst; /* results at once, 0: all that was sent */
	uint8_t *e;	/* of each segment, P bytes */
	uint8_t *wire;	/* words, as they are sent */
};

static void *must_alloc(size_t bytes)
{
	void *memory = calloc(1, bytes + 1);

	if (!memory)
		abort();
	return memory;
}

/* hold: so many calls of the driver the caller's stream stands still. */
static void drive_begin(struct drive *drive, struct quantizer_tensor tensor, uint64_t count,
			unsigned hold)
{
	struct gpu_args args = {
		.libcuda = rig->library, .count = count, .p = P, .p_max = P, .world = WORLD
	};
	struct gpu_error error;
	uint32_t seed = 7;
	uint8_t *data;

	*drive = (struct drive){ .tensor = tensor, .host = tensor, .count = count };
	drive->quantizer = (struct quantizer){ .ops = quant_select("scalar"), .world = WORLD };
	drive->bytes = count * quantizer_bytes(tensor.dtype);
	gpu_user_begin(&drive->user, rig, 0);
	data = must_alloc(drive->bytes);
	for (size_t i = 0; i < drive->bytes; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (uint8_t)(seed >> 24);
	}
	drive->host.src = data;
	drive->host.dst = must_alloc(drive->bytes);
	drive->tensor.src = (void *)(uintptr_t)gpu_user_new(&drive->user, data, drive->bytes, 0);
	drive->tensor.dst = (void *)(uintptr_t)gpu_user_new(&drive->user, NULL, drive->bytes, 0);
	quantizer_plan(&drive->plan, &drive->tensor);
	drive->per = P / drive->plan.width;
	drive->e = must_alloc((count / SPAN + 1) * P);
	drive->wire = must_alloc(count * drive->plan.width);
	args.tensor = &drive->tensor;
	args.stream = drive->user.stream;
	rig->hold(drive->user.stream, hold);
	args.form = drive->plan.form;
	args.width = drive->plan.width;
	assert_int_equal(gpu_begin(&drive->gpu, &args, &error), 1);
	gpu_attach(drive->gpu, OP);
}

static void drive_end(struct drive *drive)
{
	struct fake_count count;

	gpu_close(drive->gpu);
	gpu_user_free(&drive->user, (uint64_t)(uintptr_t)drive->tensor.src, 0);
	gpu_user_free(&drive->user, (uint64_t)(uintptr_t)drive->tensor.dst, 0);
	gpu_user_end(&drive->user);
	free((void *)(uintptr_t)drive->host.src);
	free(drive->host.dst);
	free(drive->e);
	free(drive->wire);
	rig->count(&count);
	assert_string_equal(count.violation, "");
	assert_int_equal(count.streams + count.events + count.modules + count.retained, 0);
	assert_int_equal(count.device + count.pinned, 0);
}

static int drive_step(struct drive *drive)
{
	struct gpu_error error;
	const int rc = gpu_progress(drive->gpu, &error);

	assert_true(rc >= 0);
	return rc;
}

/* As coll.c describes a segment and a data chunk. */
static struct coll_chunk segment_at(const struct drive *drive, uint64_t segment)
{
	const uint64_t first = segment * SPAN, left = drive->count - first;

	return (struct coll_chunk){
		.lane = COLL_E,
		.op = OP,
		.kind = WIRE_MAX8,
		.first = first,
		.count = left < SPAN ? (uint32_t)left : SPAN,
		.e = drive->e + segment * P,
	};
}

static struct coll_chunk chunk_at(const struct drive *drive, uint64_t index)
{
	const uint64_t first = index * drive->per, left = drive->count - first;

	return (struct coll_chunk){
		.lane = COLL_D,
		.op = OP,
		.kind = drive->plan.kind,
		.first = first,
		.count = left < drive->per ? (uint32_t)left : drive->per,
		.phase = first % QUANT_BLOCK,
		.len = P,
		.e = drive->e + first / SPAN * P + WIRE_E_EXP + first % SPAN / QUANT_BLOCK,
	};
}

static uint64_t drive_chunks(const struct drive *drive)
{
	return (drive->count + drive->per - 1) / drive->per;
}

/* The exponents are those that the CPU finds. */
static void check_scan(struct drive *drive, uint64_t segment)
{
	const struct coll_chunk chunk = segment_at(drive, segment);
	struct coll_chunk host = chunk;
	uint8_t e[P] = { 0 };
	uint64_t bad;

	host.e = e;
	bad = quantizer_scan(&drive->quantizer, &drive->host, &host);
	assert_int_equal(gpu_scan(drive->gpu, &drive->quantizer, &chunk) > 0, bad > 0);
	assert_memory_equal(chunk.e, e, P);
	gpu_agreed(drive->gpu, &chunk);
}

/* The words are those that the CPU makes, each time they are asked for. */
static void check_fill(struct drive *drive, uint64_t index)
{
	const struct coll_chunk chunk = chunk_at(drive, index);
	uint8_t ours[P], again[P], want[P];

	memset(ours, 0xa5, P);
	gpu_fill(drive->gpu, &drive->quantizer, &chunk, ours);
	gpu_fill(drive->gpu, &drive->quantizer, &chunk, again);
	quantizer_fill(&drive->quantizer, &drive->host, &chunk, want);
	assert_memory_equal(ours, want, P);
	assert_memory_equal(again, want, P);
	memcpy(drive->wire + index * P, ours, (size_t)chunk.count * drive->plan.width);
}

static void check_deliver(struct drive *drive, uint64_t index)
{
	const struct coll_chunk chunk = chunk_at(drive, index);
	const uint8_t *payload = drive->wire + index * P;
	const uint64_t want = quantizer_deliver(&drive->quantizer, &drive->host, &chunk, payload);

	assert_int_equal(gpu_deliver(drive->gpu, &drive->quantizer, &chunk, payload), want);
}

/* All that may be sent is sent at once, and its results come in reverse order. */
static void drive_run(struct drive *drive)
{
	uint64_t segment = 0, sent = 0, taken = 0, back;
	const uint64_t segments = drive->plan.form == COLL_FLOAT ? (drive->count + SPAN - 1) / SPAN
								 : 0;
	unsigned steps = 0;

	while (!gpu_finished(drive->gpu, OP)) {
		const struct gpu_limits limits = gpu_limits(drive->gpu, OP);

		assert_true(++steps < STEPS);
		while (segment < segments && segment < limits.segments)
			check_scan(drive, segment++);
		while (sent < drive_chunks(drive) && sent < limits.chunks)
			check_fill(drive, sent++);
		back = drive->burst && sent - taken > drive->burst ? taken + drive->burst : sent;
		for (uint64_t i = back; i-- > taken;)
			check_deliver(drive, i);
		taken = back;
		drive_step(drive);
	}
	assert_int_equal(sent, drive_chunks(drive));
	assert_int_equal(segment, segments);
	gpu_detach(drive->gpu, OP);
}

static void check_result(struct drive *drive)
{
	uint8_t *got = must_alloc(drive->bytes);

	gpu_user_read(&drive->user, got, (uint64_t)(uintptr_t)drive->tensor.dst, drive->bytes);
	assert_memory_equal(got, drive->host.dst, drive->bytes);
	free(got);
}

static void run(struct quantizer_tensor tensor, uint64_t count)
{
	struct drive drive;

	drive_begin(&drive, tensor, count, 0);
	drive_run(&drive);
	check_result(&drive);
	drive_end(&drive);
}

static void pipeline__same_numbers_as_the_cpu(void **state)
{
	static const uint8_t dtypes[] = { WIRE_F32, WIRE_F16, WIRE_BF16, WIRE_I32 };
	static const uint8_t ops[] = { WIRE_SUM, WIRE_AVG, WIRE_MAX, WIRE_MIN };

	(void)state;
	rig_needed();
	for (unsigned d = 0; d < 4; d++)
		for (unsigned o = 0; o < 4; o++) {
			struct quantizer_tensor tensor = { .dtype = dtypes[d],
							   .op = ops[o],
							   .width = 4 };

			run(tensor, SPAN + 1 + 300 * d + 77 * o);
			tensor.width = 2;
			tensor.prescale = d < 3 && o < 2 ? 0.3f : 0;
			tensor.postscale = d < 3 && o < 2 ? -7.7f : 0;
			run(tensor, 1000 + d + 10 * o);
		}
}

/* More than staging holds: pieces wait for room, and the ring comes round. */
static void pipeline__more_than_staging(void **state)
{
	struct fake_count count;
	struct drive drive;
	unsigned steps = 0;
	uint64_t most;

	(void)state;
	rig_needed();
	drive_begin(&drive,
		    (struct quantizer_tensor){ .dtype = WIRE_I32, .op = WIRE_SUM, .width = 4 },
		    21 * SPAN + 17, 0);
	while (drive_step(&drive) > 0 || steps < 3000)
		steps++;
	drive.burst = 100;
	most = gpu_limits(drive.gpu, OP).chunks;
	assert_true(most > 0 && most < drive_chunks(&drive));
	assert_int_equal(most, gpu_line_bytes(P) / (SPAN * 4 + 512) * 512);
	drive_run(&drive);
	check_result(&drive);
	/* Events are used again: one for each piece that staging holds, two for the operation. */
	rig->count(&count);
	assert_true(count.events <= most / 512 + 2);
	drive_end(&drive);
}

static void limits__nothing_before_its_time(void **state)
{
	struct drive drive;
	struct gpu_limits limits;
	unsigned steps = 0;

	(void)state;
	rig_needed();
	drive_begin(&drive,
		    (struct quantizer_tensor){ .dtype = WIRE_F32, .op = WIRE_SUM, .width = 4 },
		    2 * SPAN, 1000);
	limits = gpu_limits(drive.gpu, OP);
	assert_int_equal(limits.segments, 0);
	assert_int_equal(limits.chunks, 0);
	for (; steps < 20; steps++)
		drive_step(&drive);
	assert_true(gpu_held(drive.gpu, OP));
	assert_int_equal(gpu_limits(drive.gpu, OP).segments, 0);
	rig->hold(drive.user.stream, 0);
	while (gpu_limits(drive.gpu, OP).segments != UINT64_MAX && steps++ < STEPS)
		drive_step(&drive);
	assert_false(gpu_held(drive.gpu, OP));
	assert_int_equal(gpu_limits(drive.gpu, OP).chunks, 0);
	/* The second segment is agreed first: its chunks come after those of the first. */
	check_scan(&drive, 1);
	for (steps = 0; steps < 3000; steps++)
		drive_step(&drive);
	assert_int_equal(gpu_limits(drive.gpu, OP).chunks, 0);
	check_scan(&drive, 0);
	while (gpu_limits(drive.gpu, OP).chunks != UINT64_MAX && steps++ < STEPS)
		drive_step(&drive);
	assert_int_equal(gpu_limits(drive.gpu, OP).chunks, UINT64_MAX);
	assert_false(gpu_finished(drive.gpu, OP));
	gpu_stop(drive.gpu);
	while (!gpu_idle(drive.gpu))
		assert_true(steps++ < STEPS);
	drive_end(&drive);
}

static void cancel__gives_back_what_was_begun(void **state)
{
	struct drive drive;
	struct gpu_args args = { .libcuda = rig ? rig->library : "",
				 .count = 10,
				 .form = COLL_RAW,
				 .width = 4,
				 .p = P,
				 .p_max = P,
				 .world = WORLD };
	struct gpu_error error;

	(void)state;
	rig_needed();
	drive_begin(&drive,
		    (struct quantizer_tensor){ .dtype = WIRE_I32, .op = WIRE_MAX, .width = 4 }, 10,
		    0);
	args.tensor = &drive.tensor;
	for (unsigned i = 0; i < 2 * GPU_EVENTS; i++) {
		assert_int_equal(gpu_begin(&drive.gpu, &args, &error), 1);
		gpu_cancel(drive.gpu);
	}
	drive_run(&drive);
	check_result(&drive);
	drive_end(&drive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipeline__same_numbers_as_the_cpu),
		cmocka_unit_test(pipeline__more_than_staging),
		cmocka_unit_test(limits__nothing_before_its_time),
		cmocka_unit_test(cancel__gives_back_what_was_begun),
	};

	rig = gpu_rig_open(&no_rig);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
