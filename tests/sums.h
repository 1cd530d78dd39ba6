/* SPDX-License-Identifier: BSD-3-Clause */
/* What a switch adds and what CLOSE sums over, as plainly as possible: for tests that know the right result. */
#ifndef TESTS_SUMS_H
#define TESTS_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire.h"

/* Two words of 32 bits; *saturated becomes true if their sum does not fit, and stays what it was else. */
static inline uint32_t sums_add(unsigned kind, uint32_t a, uint32_t b, bool *saturated)
{
	int64_t sum = (int64_t)(int32_t)a + (int32_t)b;

	if (kind == WIRE_MAX32)
		return (int32_t)a > (int32_t)b ? a : b;
	if (kind != WIRE_ADD32SAT || (sum <= INT32_MAX && sum >= INT32_MIN))
		return a + b;
	*saturated = true;
	return sum > 0 ? (uint32_t)INT32_MAX : (uint32_t)INT32_MIN;
}

/* The sums of a chunk's integers, and of its integers times their numbers. */
static inline void sums_close(uint64_t sums[2], unsigned kind, const uint8_t *payload,
			      uint32_t count)
{
	sums[0] = sums[1] = 0;
	for (uint32_t i = 0; i < count; i++) {
		int64_t q = kind == WIRE_ADD16 ? (int16_t)wire_get16(payload + 2 * i)
					       : (int32_t)wire_get32(payload + 4 * i);

		sums[0] += (uint64_t)q;
		sums[1] += i * (uint64_t)q;
	}
}

#endif
