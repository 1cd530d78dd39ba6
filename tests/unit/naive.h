/* SPDX-License-Identifier: BSD-3-Clause */
/* naive.h - what an all-reduce gives, from its definition alone: in double, one element after the other. */
#ifndef TESTS_UNIT_NAIVE_H
#define TESTS_UNIT_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/include/tally.h"

enum { NAIVE_RANKS = 8 };

/* An all-reduce whose data are a function of rank, element and seed. */
struct naive {
	int ranks;
	size_t count;
	enum tally_dtype dtype;
	enum tally_op op;
	bool narrow; /* int16 on the wire */
	bool saturate;
	float prescale[NAIVE_RANKS]; /* of each rank; 0: 1 */
	float postscale[NAIVE_RANKS];
	uint32_t seed;
	/* The elements bad_at and more are not finite, on these ranks (a bit each). */
	unsigned bad_ranks;
	size_t bad_at;
	uint32_t bad_bits;
};

size_t naive_bytes(enum tally_dtype dtype);
/* Element i as rank has it: the bits of its format. */
uint32_t naive_data(const struct naive *naive, int rank, size_t i);
/* The results of all elements at rank, one after the other at out; returns how many are NaN by their block. */
uint64_t naive_result(const struct naive *naive, int rank, uint8_t *out);
/* The lowest rank that puts in something that is not finite, -1: none. */
int naive_nonfinite_rank(const struct naive *naive);
/* With saturate: how many sums do not fit. */
uint64_t naive_saturated(const struct naive *naive);

double naive_value(enum tally_dtype dtype, uint32_t bits);
/* The nearest number of the format, ties to even; Inf where there is none. */
uint32_t naive_bits(enum tally_dtype dtype, double value);

/* What a rank asks the library for: all but its memory. */
struct tally_args naive_args(const struct naive *naive, int rank);

#endif
