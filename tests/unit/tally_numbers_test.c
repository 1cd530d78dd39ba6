// SPDX-License-Identifier: BSD-3-Clause
// tally_numbers_test.c - every dtype, operation and wire of the public API, bit for bit what the definition gives.
#include "host/include/tally.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/naive.h"
#include "tests/unit/ranks.h"

enum { GUARD = 64 };

/* How the buffers lie. */
struct place {
	bool in_place;
	unsigned misalign; /* bytes */
};

struct run {
	const struct naive *naive;
	struct place place;
	bool by_option; /* the wire is what option wire says */
};

/* The element that differs first, and how. */
static void numbers_compare(struct rank *rank, const struct naive *naive, const uint8_t *got,
			    const uint8_t *want)
{
	const size_t bytes = naive_bytes(naive->dtype);

	for (size_t i = 0; i < naive->count; i++) {
		uint32_t a = 0, b = 0;

		memcpy(&a, got + i * bytes, bytes);
		memcpy(&b, want + i * bytes, bytes);
		if (a == b || rank->error[0])
			continue;
		snprintf(
			rank->error, sizeof(rank->error),
			"rank %d of %d: element %zu of %zu (dtype %d op %d wire %d): %08x, want %08x",
			rank->rank, naive->ranks, i, naive->count, (int)naive->dtype,
			(int)naive->op, naive->narrow ? 16 : 32, a, b);
	}
}

static void numbers_check(struct rank *rank, const struct naive *naive, tally_request_t *req,
			  const uint8_t *got)
{
	struct tally_result result = { .size = sizeof(result) };
	uint8_t *want = malloc(naive->count * naive_bytes(naive->dtype) + 1);
	uint64_t nonfinite;

	if (!want)
		abort();
	nonfinite = naive_result(naive, rank->rank, want);
	numbers_compare(rank, naive, got, want);
	rank_check(rank, tally_get_result(req, &result) == TALLY_OK);
	rank_check(rank, result.nonfinite == nonfinite);
	rank_check(rank, result.saturated == naive_saturated(naive));
	if (naive->op == TALLY_SUM || naive->op == TALLY_AVG)
		rank_check(rank, result.nonfinite_rank == naive_nonfinite_rank(naive));
	free(want);
}

static void numbers_run(struct rank *rank, const struct run *run)
{
	const struct naive *naive = run->naive;
	const size_t bytes = naive_bytes(naive->dtype) * naive->count;
	const size_t room = bytes + 2 * GUARD + run->place.misalign;
	uint8_t *memory[2] = { malloc(room), malloc(room) };
	uint8_t *dst, *src;
	struct tally_args args = naive_args(naive, rank->rank);
	tally_request_t *req = NULL;

	if (!memory[0] || !memory[1])
		abort();
	memset(memory[0], 0xa5, room);
	dst = memory[0] + GUARD + run->place.misalign;
	src = run->place.in_place ? dst : memory[1] + GUARD + run->place.misalign;
	for (size_t i = 0; i < naive->count; i++) {
		const uint32_t bits = naive_data(naive, rank->rank, i);

		memcpy(src + i * naive_bytes(naive->dtype), &bits, naive_bytes(naive->dtype));
	}
	args.src = src;
	args.dst = dst;
	if (run->by_option)
		args.wire = TALLY_WIRE_DEFAULT;
	if (rank_check(rank, tally_allreduce(rank->comm, &args, &req) == TALLY_OK) &&
	    rank_check(rank, tally_wait(req, -1) == TALLY_OK))
		numbers_check(rank, naive, req, dst);
	tally_release(req);
	for (unsigned i = 0; i < GUARD; i++)
		rank_check(rank, dst[-1 - (int)i] == 0xa5 && dst[bytes + i] == 0xa5);
	free(memory[0]);
	free(memory[1]);
}

/* --- Every combination ------------------------------------------------------------------------------ */

static const enum tally_dtype floats[] = { TALLY_F32, TALLY_F16, TALLY_BF16 };
static const enum tally_op ops[] = { TALLY_SUM, TALLY_AVG, TALLY_MAX, TALLY_MIN };

/* Counts around a chunk of either width, a block, and a segment; in and out of place; any alignment. */
static void all_floats(struct rank *rank, void *ctx)
{
	static const size_t counts[] = { 0, 1, 32, 33, 64, 257, 1000, 16385 };
	uint32_t seed = 1;

	(void)ctx;
	for (unsigned c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		for (unsigned d = 0; d < 3; d++)
			/* Beyond a segment: as sums alone. */
			for (unsigned o = 0; o<6; o += counts[c]> 1000 ? 4 : 1) {
				const struct naive naive = { .ranks = rank->size,
							     .count = counts[c],
							     .dtype = floats[d],
							     .op = ops[o % 4],
							     .narrow = o >= 4,
							     .seed = seed++ };

				numbers_run(rank, &(struct run){ .naive = &naive,
								 .place = { seed & 1, seed % 7 } });
			}
}

static void tally_allreduce__floats(void **state)
{
	(void)state;
	for (int n = 1; n <= 4; n++) {
		struct ranks ranks = { .size = n,
				       .absent = -1,
				       .fn = all_floats,
				       .options = { { "chunk", "128" }, { "check", "1" } } };

		if (n & 1)
			memcpy(ranks.options[1], (const char *[]){ "check", "0" },
			       sizeof(ranks.options[1]));
		ranks_run(&ranks);
	}
}

/* What was agreed for 16 bits is only for sums and averages of floats. */
static void by_option(struct rank *rank, void *ctx)
{
	(void)ctx;
	for (unsigned o = 0; o < 4; o++) {
		const struct naive naive = { .ranks = rank->size,
					     .count = 3000,
					     .dtype = floats[o % 3],
					     .op = ops[o],
					     .narrow = o < 2,
					     .seed = 77 + o };
		struct naive ints = naive;

		numbers_run(rank, &(struct run){ .naive = &naive, .by_option = true });
		ints.dtype = TALLY_I32;
		ints.narrow = false;
		numbers_run(rank, &(struct run){ .naive = &ints, .by_option = true });
	}
}

static void tally_allreduce__wire_by_option(void **state)
{
	struct ranks ranks = { .size = 3,
			       .absent = -1,
			       .fn = by_option,
			       .options = { { "wire", "int16" }, { "check", "1" } } };

	(void)state;
	ranks_run(&ranks);
}

static void many_bytes(struct rank *rank, void *ctx)
{
	struct tally_stats before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	const struct naive naive = { .ranks = rank->size,
				     .count = 100000,
				     .dtype = TALLY_F32,
				     .op = TALLY_SUM,
				     .narrow = true,
				     .seed = 5 };

	(void)ctx;
	rank_check(rank, tally_get_stats(rank->comm, &before) == TALLY_OK);
	numbers_run(rank, &(struct run){ .naive = &naive });
	rank_check(rank, tally_get_stats(rank->comm, &after) == TALLY_OK);
	/* 2 bytes an element, and headers and exponents. */
	rank_check(rank, after.retransmits > before.retransmits ||
				 after.tx_bytes - before.tx_bytes < 2 * 100000 * 11 / 10);
}

static void tally_allreduce__16_bits_are_half_the_bytes(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = many_bytes };

	(void)state;
	ranks_run(&ranks);
}

/* --- Factors ---------------------------------------------------------------------------------------- */

static void factors(struct rank *rank, void *ctx)
{
	/* Of very different size, so that products overflow, vanish, and round. */
	static const float before[] = { 0.1f, 3.0f, 0x1p-140f, 1.0f, 0x1.8p20f };
	static const float after[] = { 1.0f, 0.7f, -2.5f, 0x1p-30f, 1e30f };
	uint32_t seed = 900;

	(void)ctx;
	for (unsigned d = 0; d < 3; d++)
		for (unsigned v = 0; v < 8; v++) {
			struct naive naive = { .ranks = rank->size,
					       .count = 1300,
					       .dtype = floats[d],
					       .op = v & 1 ? TALLY_AVG : TALLY_SUM,
					       .narrow = v & 2,
					       .seed = seed++ };

			for (int r = 0; r < rank->size; r++) {
				naive.prescale[r] = before[(seed + (unsigned)r) % 5];
				naive.postscale[r] = after[(seed * 3 + (unsigned)r) % 5];
			}
			numbers_run(rank,
				    &(struct run){ .naive = &naive, .place = { v & 1, seed % 5 } });
		}
}

static void tally_allreduce__prescale_and_postscale(void **state)
{
	struct ranks ranks = {
		.size = 4, .absent = -1, .fn = factors, .options = { { "chunk", "256" } }
	};

	(void)state;
	ranks_run(&ranks);
}

/* --- What is not finite ------------------------------------------------------------------------------- */

static void bad_elements(struct rank *rank, void *ctx)
{
	static const struct {
		uint32_t inf, minus_inf, nan;
	} bad[] = {
		{ 0x7f800000, 0xff800000, 0x7f800001 },
		{ 0x7c00, 0xfc00, 0xfd55 },
		{ 0x7f80, 0xff80, 0x7fff },
	};

	(void)ctx;
	for (unsigned d = 0; d < 3; d++)
		for (unsigned v = 0; v < 12; v++) {
			const uint32_t bits[] = { bad[d].inf, bad[d].minus_inf, bad[d].nan };
			const struct naive naive = { .ranks = rank->size,
						     .count = 3000,
						     .dtype = floats[d],
						     .op = ops[v % 4],
						     .narrow = v & 8 && v % 4 < 2,
						     .seed = 31 + v,
						     .bad_ranks = v & 1 ? 0x6 : 0x4,
						     .bad_at = 2900 - 137 * v,
						     .bad_bits = bits[v % 3] };

			numbers_run(rank, &(struct run){ .naive = &naive });
		}
}

static void tally_allreduce__not_finite_names_the_rank(void **state)
{
	struct ranks ranks = {
		.size = 4, .absent = -1, .fn = bad_elements, .options = { { "chunk", "128" } }
	};

	(void)state;
	ranks_run(&ranks);
}

/* --- Integers ----------------------------------------------------------------------------------------- */

static void integers(struct rank *rank, void *ctx)
{
	(void)ctx;
	for (unsigned v = 0; v < 12; v++) {
		const struct naive naive = { .ranks = rank->size,
					     .count = 700 + 13 * v,
					     .dtype = TALLY_I32,
					     .op = ops[v % 4],
					     .saturate = v >= 4 && v % 4 < 2,
					     .seed = 4000 + v };

		numbers_run(rank, &(struct run){ .naive = &naive, .place = { v & 1, v % 4 } });
	}
}

static void tally_allreduce__int32_wraps_or_saturates(void **state)
{
	(void)state;
	for (int n = 1; n <= 4; n++) {
		struct ranks ranks = { .size = n,
				       .absent = -1,
				       .fn = integers,
				       .options = { { "chunk", "128" },
						    { "check", n & 1 ? "1" : "0" } } };

		ranks_run(&ranks);
	}
}

/* --- Programs built before ------------------------------------------------------------------------------ */

/* The struct ended with stream; what lies behind it is not ours to look at. */
static void older(struct rank *rank, void *ctx)
{
	float a[300], b[300];
	struct tally_args args;
	tally_request_t *req = NULL;

	(void)ctx;
	for (unsigned i = 0; i < 300; i++)
		a[i] = (float)(i * 3 + (unsigned)rank->rank);
	memset(&args, 0x5a, sizeof(args));
	args.size = offsetof(struct tally_args, wire);
	args.src = a;
	args.dst = b;
	args.count = 300;
	args.dtype = TALLY_F32;
	args.op = TALLY_SUM;
	args.stream = NULL;
	if (rank_check(rank, tally_allreduce(rank->comm, &args, &req) == TALLY_OK))
		rank_check(rank, tally_wait(req, -1) == TALLY_OK);
	for (unsigned i = 0; i < 300; i++)
		rank_check(rank, b[i] == (float)(i * 6 + 1));
	tally_release(req);
	args.size--;
	rank_check(rank, tally_allreduce(rank->comm, &args, &req) == TALLY_INVALID);
	rank_says(rank, "args->size is 47");
}

static void tally_allreduce__of_an_older_program(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = older };

	(void)state;
	ranks_run(&ranks);
}

/* --- What is refused ------------------------------------------------------------------------------------ */

static const struct {
	struct tally_args args;
	int status;
	const char *says;
} refused[] = {
	{ { .dtype = TALLY_F32, .op = TALLY_SUM, .prescale = NAN },
	  TALLY_INVALID,
	  "args->prescale is NaN" },
	{ { .dtype = TALLY_BF16, .op = TALLY_AVG, .postscale = -INFINITY },
	  TALLY_INVALID,
	  "args->postscale is infinite" },
	{ { .dtype = TALLY_I32, .op = TALLY_SUM, .prescale = 2 },
	  TALLY_UNSUPPORTED,
	  "args->prescale is for sums and averages of floats, not for sum of int32" },
	{ { .dtype = TALLY_F16, .op = TALLY_MAX, .postscale = 0.5f },
	  TALLY_UNSUPPORTED,
	  "args->postscale is for sums and averages of floats, not for max of float16" },
	{ { .dtype = TALLY_I32, .op = TALLY_AVG, .wire = TALLY_WIRE_INT16 },
	  TALLY_UNSUPPORTED,
	  "int16 on the wire is for sums and averages of floats, not for avg of int32" },
	{ { .dtype = TALLY_F32, .op = TALLY_MIN, .wire = TALLY_WIRE_INT16 },
	  TALLY_UNSUPPORTED,
	  "not for min of float32" },
	{ { .dtype = TALLY_F32, .op = TALLY_SUM, .wire = (enum tally_wire)3 },
	  TALLY_INVALID,
	  "wire 3 is none of enum tally_wire" },
	{ { .dtype = TALLY_F32, .op = TALLY_SUM, .flags = TALLY_SATURATE },
	  TALLY_UNSUPPORTED,
	  "TALLY_SATURATE is for sums and averages of int32, not for sum of float32" },
	{ { .dtype = TALLY_I32, .op = TALLY_MAX, .flags = TALLY_SATURATE },
	  TALLY_UNSUPPORTED,
	  "not for max of int32" },
	{ { .dtype = TALLY_I32, .op = TALLY_SUM, .flags = 0x6 },
	  TALLY_UNSUPPORTED,
	  "args->flags is 0x6" },
};

static void refuse(struct rank *rank, void *ctx)
{
	struct tally_stats before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	int32_t data[64] = { 0 };
	tally_request_t *req = NULL;

	(void)ctx;
	rank_check(rank, tally_get_stats(rank->comm, &before) == TALLY_OK);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct tally_args args = refused[i].args;

		args.size = sizeof(args);
		args.src = args.dst = data;
		args.count = 64;
		rank_check(rank, tally_allreduce(rank->comm, &args, &req) == refused[i].status);
		rank_says(rank, refused[i].says);
	}
	rank_check(rank, tally_get_stats(rank->comm, &after) == TALLY_OK);
	rank_check(rank, after.tx_packets == before.tx_packets && req == NULL);
}

static void tally_allreduce__refused_before_anything_is_sent(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = refuse };

	(void)state;
	ranks_run(&ranks);
}

/* Factors that are none are fine anywhere. */
static void no_factor(struct rank *rank, void *ctx)
{
	const struct naive naive = { .ranks = rank->size,
				     .count = 100,
				     .dtype = TALLY_I32,
				     .op = TALLY_MAX,
				     .prescale = { 1, 1 },
				     .postscale = { 1, -0.0f },
				     .seed = 9 };

	(void)ctx;
	numbers_run(rank, &(struct run){ .naive = &naive });
}

static void tally_allreduce__factors_of_one(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = no_factor };

	(void)state;
	ranks_run(&ranks);
}

/* --- Ranks that differ ------------------------------------------------------------------------------------ */

static void differ(struct rank *rank, void *ctx)
{
	const struct naive *naive = ctx;
	const bool odd = rank->rank == 1;
	struct tally_args args = naive_args(naive, rank->rank);
	int32_t data[64] = { 0 };
	tally_request_t *req = NULL;

	args.src = args.dst = data;
	args.count = 64;
	if (naive->dtype == TALLY_I32)
		args.flags = odd ? TALLY_SATURATE : 0;
	else
		args.wire = odd ? TALLY_WIRE_INT16 : TALLY_WIRE_INT32;
	if (!rank_check(rank, tally_allreduce(rank->comm, &args, &req) == TALLY_OK))
		return;
	rank_check(rank, tally_wait(req, -1) == TALLY_MISMATCH);
	if (naive->dtype == TALLY_I32) {
		rank_says(rank, "ranks disagree on all-reduce 0: saturation is ");
		rank_says(rank, "asked for on rank 1");
		rank_says(rank, "not asked for on rank 0");
	} else {
		rank_says(rank, "ranks disagree on all-reduce 0: the wire (TALLY_WIRE) is ");
		rank_says(rank, "int16 on rank 1");
		rank_says(rank, "int32 on rank 0");
	}
	tally_release(req);
}

static void tally_allreduce__ranks_differ_in_wire_or_saturation(void **state)
{
	static struct naive cases[] = {
		{ .dtype = TALLY_F16, .op = TALLY_SUM },
		{ .dtype = TALLY_I32, .op = TALLY_SUM },
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct ranks ranks = { .size = 2, .absent = -1, .fn = differ, .ctx = &cases[i] };

		ranks_run(&ranks);
	}
}

/* --- Outstanding together ---------------------------------------------------------------------------------- */

/* What does not overlap in elements of 2 bytes may be under way at once; what does, may not. */
static void neighbours(struct rank *rank, void *ctx)
{
	uint16_t halves[200];
	tally_request_t *req[2] = { NULL, NULL }, *more = NULL;
	struct tally_args args = {
		.size = sizeof(args), .dtype = TALLY_F16, .op = TALLY_SUM, .count = 100
	};

	(void)ctx;
	for (unsigned i = 0; i < 200; i++)
		halves[i] = (uint16_t)(0x3c00 + i); /* 1 and more */
	for (unsigned i = 0; i < 2; i++) {
		args.src = args.dst = halves + 100 * i;
		rank_check(rank, tally_allreduce(rank->comm, &args, &req[i]) == TALLY_OK);
	}
	if (rank->rank == 0) {
		args.src = args.dst = halves + 199;
		args.count = 1;
		rank_check(rank, tally_allreduce(rank->comm, &args, &more) == TALLY_INVALID);
		rank_says(rank, "overlaps that of all-reduce 1 (float16 sum, 100 elements)");
	}
	for (unsigned i = 0; i < 2; i++) {
		rank_check(rank, tally_wait(req[i], -1) == TALLY_OK);
		tally_release(req[i]);
	}
	for (unsigned i = 0; i < 200; i++) /* twice it: one exponent more */
		rank_check(rank, halves[i] == 0x4000 + i);
}

static void tally_allreduce__halves_side_by_side(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = neighbours };

	(void)state;
	ranks_run(&ranks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tally_allreduce__floats),
		cmocka_unit_test(tally_allreduce__wire_by_option),
		cmocka_unit_test(tally_allreduce__16_bits_are_half_the_bytes),
		cmocka_unit_test(tally_allreduce__prescale_and_postscale),
		cmocka_unit_test(tally_allreduce__not_finite_names_the_rank),
		cmocka_unit_test(tally_allreduce__int32_wraps_or_saturates),
		cmocka_unit_test(tally_allreduce__of_an_older_program),
		cmocka_unit_test(tally_allreduce__refused_before_anything_is_sent),
		cmocka_unit_test(tally_allreduce__factors_of_one),
		cmocka_unit_test(tally_allreduce__ranks_differ_in_wire_or_saturation),
		cmocka_unit_test(tally_allreduce__halves_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
