// SPDX-License-Identifier: BSD-3-Clause
// perf_data.c - the data of tally-perf: f(seed, rank, operation, element), the same on every
// machine.
//
// A rank has one long row of values.  Operation o reads it from place perf_data_shift(o) on, so
// that every operation has other data and a result left over from an earlier one is seen as wrong,
// without filling a buffer before each.  Any rank can compute any value of any other, which is what
// the check does.
#include "host/tools/perf.h"

#include <string.h>

#define PERF_RUN 256 /* neighbours whose magnitudes are alike */

/* The finaliser of splitmix64: a bijection in which every input bit reaches every output bit. */
static uint64_t perf_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t perf_data_shift(uint64_t seed, uint64_t operation)
{
	return perf_mix(perf_mix(seed + 1) + operation * UINT64_C(0x9e3779b97f4a7c15)) %
	       PERF_SHIFTS;
}

/*
 * A float of either sign.  Each run of neighbours has its own magnitude, one run in eight a very
 * small or a very large one (2^-100 .. 2^100); within it values spread over 14 binades.  No Inf,
 * NaN or subnormal, and the sum of 64 ranks is finite.
 */
static uint32_t perf_float_bits(uint64_t runs, uint64_t position, uint64_t bits)
{
	uint64_t run = perf_mix(runs ^ (position / PERF_RUN * UINT64_C(0xd1342543de82ef95)));
	uint32_t exponent;

	if (run % 8 == 0)
		exponent = 27 + (uint32_t)(run >> 32) % 201;
	else
		exponent = 119 + (uint32_t)(run >> 32) % 17;
	exponent -= (uint32_t)(bits >> 40) % 14;
	return (uint32_t)(bits >> 32) << 31 | exponent << 23 | ((uint32_t)bits & 0x7fffff);
}

static int32_t perf_value(const struct perf_data *data, uint64_t stream, uint64_t position)
{
	uint64_t bits = perf_mix(stream + position * UINT64_C(0x9e3779b97f4a7c15));

	if (data->dtype == TALLY_I32)
		return (int32_t)(uint32_t)bits;
	/* The same runs for all ranks: beside a far larger one, a rank's part cannot be checked. */
	return (int32_t)perf_float_bits(perf_mix(data->seed), position, bits);
}

static uint64_t perf_stream(uint64_t seed, int rank)
{
	return perf_mix(perf_mix(seed + UINT64_C(0x632be59bd9b4e019)) + (uint64_t)rank + 1);
}

/* The values of rank at places first .. first + nr - 1, float32 as their bits. */
void perf_data_fill(const struct perf_data *data, int rank, uint64_t first, int32_t *out,
		    uint64_t nr)
{
	uint64_t stream = perf_stream(data->seed, rank), i;

	for (i = 0; i < nr; i++)
		out[i] = perf_value(data, stream, first + i);
}

uint64_t perf_data_hash(uint64_t hash, const int32_t *values, uint64_t nr)
{
	uint64_t i, word;

	hash = perf_mix(hash + nr + 1);
	for (i = 0; i + 2 <= nr; i += 2) {
		memcpy(&word, values + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
		hash ^= hash >> 29;
	}
	if (i < nr)
		hash = perf_mix(hash ^ (uint32_t)values[i]);
	return perf_mix(hash);
}
