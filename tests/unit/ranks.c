// SPDX-License-Identifier: BSD-3-Clause
// ranks.c - a job whose ranks are threads of the test, and the data they reduce.
#include "tests/unit/ranks.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 64 }; /* bytes around dst that nobody may write */

bool rank_check_at(struct rank *rank, bool condition, const char *text, const char *file, int line)
{
	if (!condition && !rank->error[0])
		snprintf(rank->error, sizeof(rank->error),
			 "%s:%d: rank %d: not: %s (last error: %.300s)", file, line, rank->rank,
			 text, rank->comm ? tally_last_error(rank->comm) : "");
	return condition;
}

bool rank_says_at(struct rank *rank, const char *text, const char *file, int line)
{
	char what[256];

	snprintf(what, sizeof(what), "last error has \"%s\"", text);
	return rank_check_at(rank, strstr(tally_last_error(rank->comm), text) != NULL, what, file,
			     line);
}

static void rank_configure(const struct rank *rank, tally_config_t *config)
{
	const struct ranks *ranks = rank->ranks;
	char text[32], sw[48];

	snprintf(text, sizeof(text), "%d", rank->rank);
	tally_config_set(config, "rank", text);
	snprintf(text, sizeof(text), "%d", rank->size);
	tally_config_set(config, "size", text);
	/* The address tells embedded switches of tests apart. */
	snprintf(sw, sizeof(sw), "inproc:%p", (const void *)ranks);
	tally_config_set(config, "switch", ranks->sw ? ranks->sw : sw);
	tally_config_set(config, "chunk", "1408");
	tally_config_set(config, "timeout", "20");
	tally_config_set(config, "join_timeout", "20");
	for (unsigned i = 0; i < RANKS_OPTIONS && ranks->options[i][0]; i++)
		if (tally_config_set(config, ranks->options[i][0], ranks->options[i][1]) < 0)
			abort();
	if (ranks->rank_option[0] && rank->rank + 1 == rank->size &&
	    tally_config_set(config, ranks->rank_option[0], ranks->rank_option[1]) < 0)
		abort();
}

static void *rank_main(void *arg)
{
	struct rank *rank = arg;
	tally_config_t *config = NULL;

	if (tally_config_new(&config) < 0)
		abort();
	rank_configure(rank, config);
	rank->status = tally_open(&rank->comm, config);
	tally_config_free(config);
	if (rank->status < 0) {
		snprintf(rank->error, sizeof(rank->error), "%s", tally_last_error(NULL));
		return NULL;
	}
	rank->ranks->fn(rank, rank->ranks->ctx);
	tally_close(rank->comm);
	return NULL;
}

void ranks_run(struct ranks *ranks)
{
	pthread_t threads[RANKS_MAX];
	bool failed = false;

	for (int i = 0; i < ranks->size; i++) {
		ranks->rank[i] = (struct rank){ .rank = i, .size = ranks->size, .ranks = ranks };
		if (i != ranks->absent)
			assert_int_equal(pthread_create(&threads[i], NULL, rank_main,
							&ranks->rank[i]),
					 0);
	}
	for (int i = 0; i < ranks->size; i++)
		if (i != ranks->absent)
			pthread_join(threads[i], NULL);
	for (int i = 0; i < ranks->size && !ranks->may_fail; i++) {
		if (ranks->rank[i].error[0])
			print_error("%s\n", ranks->rank[i].error);
		failed = failed || ranks->rank[i].error[0];
	}
	assert_false(failed);
}

/* --- Data --------------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= UINT32_C(0x7feb352d);
	x ^= x >> 15;
	x *= UINT32_C(0x846ca68b);
	return x ^ x >> 16;
}

uint32_t reduction_bits(const struct reduction *reduction, int rank, size_t i)
{
	const uint32_t hash =
		mix((uint32_t)i * 2654435761u + (uint32_t)rank * 40503u + reduction->seed);
	float value;
	uint32_t bits;

	if (reduction->dtype == TALLY_I32)
		return hash; /* over all of the range, so that sums wrap */
	if (rank == reduction->nan_rank && i == reduction->nan_at)
		return UINT32_C(0x7fc01234);
	/* Blocks of very different magnitude; both signs. */
	value = ldexpf((float)((int32_t)hash >> 8), (int)(i / 256 % 40) - 40);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float as_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int biased_exponent(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (int)(bits >> 23 & 255);
}

/* The largest biased exponent of the block that element i is in. */
static int block_exponent(const struct reduction *reduction, int n, size_t i)
{
	const size_t first = i / 256 * 256;
	int e = 1;

	for (size_t j = first; j < first + 256 && j < reduction->count; j++)
		for (int r = 0; r < n; r++) {
			int x = biased_exponent(as_float(reduction_bits(reduction, r, j)));

			if (x > e)
				e = x;
		}
	return e;
}

/* Bound of a sum of n ranks: n 2^-(k+1) + 2^-24 |result|. */
static double float_bound(int n, int e, double sum)
{
	int lg = 0;

	while (1 << lg < n)
		lg++;
	return n * ldexp(1, -(157 - e - lg) - 1) + ldexp(fabs(sum), -24);
}

static bool float_right(const struct reduction *reduction, int n, size_t i, int e, float got)
{
	double sum = 0, max = -INFINITY, min = INFINITY, bound;

	for (int r = 0; r < n; r++) {
		const double x = as_float(reduction_bits(reduction, r, i));

		sum += x;
		max = x > max ? x : max;
		min = x < min ? x : min;
	}
	if (reduction->op == TALLY_MAX)
		return (double)got == max;
	if (reduction->op == TALLY_MIN)
		return (double)got == min;
	bound = float_bound(n, e, sum);
	if (reduction->op == TALLY_AVG)
		return fabs((double)got - sum / n) <= bound / n + ldexp(fabs(sum / n), -24);
	return fabs((double)got - sum) <= bound;
}

static bool int_right(const struct reduction *reduction, int n, size_t i, uint32_t got)
{
	uint32_t sum = 0;
	int32_t max = INT32_MIN, min = INT32_MAX;

	for (int r = 0; r < n; r++) {
		const uint32_t bits = reduction_bits(reduction, r, i);
		const int32_t x = (int32_t)bits;

		sum += bits;
		max = x > max ? x : max;
		min = x < min ? x : min;
	}
	switch (reduction->op) {
	case TALLY_SUM:
		return got == sum;
	case TALLY_AVG:
		return (int32_t)got == (int32_t)sum / n;
	case TALLY_MAX:
		return (int32_t)got == max;
	case TALLY_MIN:
		return (int32_t)got == min;
	}
	return false;
}

static bool element_right(const struct reduction *reduction, int n, size_t i, int e, uint32_t got)
{
	if (reduction->dtype == TALLY_I32)
		return int_right(reduction, n, i, got);
	if (reduction->nan_rank >= 0 && i / 256 == reduction->nan_at / 256)
		return isnan(as_float(got));
	return float_right(reduction, n, i, e, as_float(got));
}

static void reduction_check(struct rank *rank, const struct reduction *reduction,
			    const uint8_t *src, const uint8_t *dst)
{
	int e = 0;

	for (size_t i = 0; i < reduction->count; i++) {
		const uint32_t own = reduction_bits(reduction, rank->rank, i);
		uint32_t got;

		if (i % 256 == 0 && reduction->dtype == TALLY_F32)
			e = block_exponent(reduction, rank->size, i);

		memcpy(&got, dst + 4 * i, 4);
		if (!element_right(reduction, rank->size, i, e, got)) {
			if (!rank->error[0])
				snprintf(
					rank->error, sizeof(rank->error),
					"rank %d of %d: element %zu of %zu (dtype %d op %d) is %08x",
					rank->rank, rank->size, i, reduction->count,
					(int)reduction->dtype, (int)reduction->op, got);
			return;
		}
		if (!reduction->in_place && memcmp(src + 4 * i, &own, 4) != 0) {
			rank_check(rank, !"src was written");
			return;
		}
	}
}

void reduction_run(struct rank *rank, const struct reduction *reduction,
		   struct tally_result *result)
{
	const size_t bytes = 4 * reduction->count, room = bytes + 2 * GUARD + reduction->misalign;
	uint8_t *src_mem = malloc(room), *dst_mem = malloc(room);
	uint8_t *src = src_mem + GUARD + reduction->misalign,
		*dst = dst_mem + GUARD + reduction->misalign;
	struct tally_args args = { .size = sizeof(args),
				   .src = src,
				   .dst = dst,
				   .count = reduction->count,
				   .dtype = reduction->dtype,
				   .op = reduction->op };
	tally_request_t *req = NULL;

	if (!src_mem || !dst_mem)
		abort();
	memset(dst_mem, 0xa5, room);
	if (reduction->in_place)
		args.src = src = dst;
	for (size_t i = 0; i < reduction->count; i++) {
		const uint32_t bits = reduction_bits(reduction, rank->rank, i);

		memcpy(src + 4 * i, &bits, 4);
	}
	if (rank_check(rank, tally_allreduce(rank->comm, &args, &req) == TALLY_OK)) {
		if (rank_check(rank, tally_wait(req, -1) == TALLY_OK))
			reduction_check(rank, reduction, src, dst);
		if (result)
			rank_check(rank, tally_get_result(req, result) == TALLY_OK);
		tally_release(req);
		for (unsigned i = 0; i < GUARD; i++)
			rank_check(rank, dst[-1 - (int)i] == 0xa5 && dst[bytes + i] == 0xa5);
	}
	free(src_mem);
	free(dst_mem);
}
