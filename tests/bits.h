/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers from a seed, and floats by their bits: for tests of numbers, in C and C++. */
#ifndef TESTS_BITS_H
#define TESTS_BITS_H

#include <stdint.h>
#include <string.h>

/* The next of the numbers that the state stands for; any value starts a series. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)(random_next(state) >> 32) % limit;
}

static inline uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float bits_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* A sum on which the rounding of its quotient to a format could turn, or a neighbour; up: of how many places. */
static inline uint32_t random_tie(uint64_t *state, uint32_t divisor, uint32_t up)
{
	/* One more than the bits of a significand: bfloat16, float16, float32. */
	static const uint32_t bits[] = { 9, 12, 25 };
	uint32_t drop = 32 - bits[random_below(state, 3)];
	uint32_t tie = (uint32_t)random_next(state) >> drop | 1u;

	tie <<= random_below(state, up);
	tie *= random_below(state, 2) ? divisor : 1u;
	return tie + random_below(state, 3) - 1u;
}

#endif
