// SPDX-License-Identifier: BSD-3-Clause
// perf_data.c - the data of tally-perf: f(seed, rank, operation, element), the same on every
// machine.
//
// A rank has one long row of values.  Operation o reads it from place perf_data_shift(o) on, so
// that every operation has other data and a result left over from an earlier one is seen as wrong,
// without filling a buffer before each.  Any rank can compute any value of any other, which is what
// the check does.
#include "host/tools/perf.h"

#include <math.h>
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

/* The same in float16, whose range is small: no more than 2^8, so that 64 ranks have a finite sum. */
static uint32_t perf_half_bits(uint64_t runs, uint64_t position, uint64_t bits)
{
	uint64_t run = perf_mix(runs ^ (position / PERF_RUN * UINT64_C(0xd1342543de82ef95)));
	uint32_t exponent = run % 8 == 0 ? 1 + (uint32_t)(run >> 32) % 22
					 : 15 + (uint32_t)(run >> 32) % 8;
	uint32_t less = (uint32_t)(bits >> 40) % 14;

	exponent = exponent > less ? exponent - less : 1;
	return ((uint32_t)(bits >> 32) & 1) << 15 | exponent << 10 | ((uint32_t)bits & 0x3ff);
}

static int32_t perf_value(const struct perf_data *data, uint64_t stream, uint64_t position)
{
	uint64_t bits = perf_mix(stream + position * UINT64_C(0x9e3779b97f4a7c15));

	if (data->dtype == TALLY_I32)
		return (int32_t)(uint32_t)bits;
	/* The same runs for all ranks: beside a far larger one, a rank's part cannot be checked. */
	if (data->dtype == TALLY_F16)
		return (int32_t)perf_half_bits(perf_mix(data->seed), position, bits);
	bits = perf_float_bits(perf_mix(data->seed), position, bits);
	return (int32_t)(uint32_t)(data->dtype == TALLY_BF16 ? bits >> 16 : bits);
}

static uint64_t perf_stream(uint64_t seed, int rank)
{
	return perf_mix(perf_mix(seed + UINT64_C(0x632be59bd9b4e019)) + (uint64_t)rank + 1);
}

/* The values of rank at places first .. first + nr - 1, floats as their bits. */
void perf_data_fill(const struct perf_data *data, int rank, uint64_t first, int32_t *out,
		    uint64_t nr)
{
	uint64_t stream = perf_stream(data->seed, rank), i;

	for (i = 0; i < nr; i++)
		out[i] = perf_value(data, stream, first + i);
}

uint32_t perf_data_bytes(enum tally_dtype dtype)
{
	return dtype == TALLY_F16 || dtype == TALLY_BF16 ? 2 : 4;
}

void perf_data_pack(enum tally_dtype dtype, void *out, const int32_t *values, uint64_t nr)
{
	uint8_t *to = out;
	uint16_t half;
	uint64_t i;

	if (perf_data_bytes(dtype) == sizeof(*values)) {
		memcpy(out, values, nr * sizeof(*values));
		return;
	}
	for (i = 0; i < nr; i++) {
		half = (uint16_t)values[i];
		memcpy(to + i * sizeof(half), &half, sizeof(half));
	}
}

void perf_data_unpack(enum tally_dtype dtype, int32_t *out, const void *elements, uint64_t nr)
{
	const uint8_t *from = elements;
	uint16_t half;
	uint64_t i;

	if (perf_data_bytes(dtype) == sizeof(*out)) {
		memcpy(out, elements, nr * sizeof(*out));
		return;
	}
	for (i = 0; i < nr; i++) {
		memcpy(&half, from + i * sizeof(half), sizeof(half));
		out[i] = half;
	}
}

static float perf_half(uint32_t bits)
{
	int exponent = (int)(bits >> 10 & 31);
	float value = ldexpf((float)(bits & 0x3ff) + (exponent != 0 ? 1024 : 0),
			     (exponent != 0 ? exponent : 1) - 25);

	if (exponent == 31)
		value = (bits & 0x3ff) != 0 ? NAN : INFINITY;
	return (bits & 0x8000) != 0 ? -value : value;
}

float perf_data_float(enum tally_dtype dtype, int32_t bits)
{
	uint32_t word = (uint32_t)bits;
	float value;

	if (dtype == TALLY_F16)
		return perf_half(word);
	if (dtype == TALLY_BF16)
		word <<= 16;
	memcpy(&value, &word, sizeof(value));
	return value;
}

uint64_t perf_data_hash(uint64_t hash, const void *values, uint64_t bytes)
{
	const uint8_t *at = values;
	uint64_t i, word;
	uint32_t tail;
	uint16_t half;

	hash = perf_mix(hash + bytes / sizeof(tail) + 1);
	for (i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
		hash ^= hash >> 29;
	}
	if (i + sizeof(tail) <= bytes) {
		memcpy(&tail, at + i, sizeof(tail));
		hash = perf_mix(hash ^ tail);
		i += sizeof(tail);
	}
	if (i < bytes) {
		memcpy(&half, at + i, sizeof(half));
		hash = perf_mix(~hash ^ half);
	}
	return perf_mix(hash);
}
