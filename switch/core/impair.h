/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * impair.h - faults on purpose, seeded, per port and direction: loss, duplication, reordering.
 *
 * Pure decision-making: the shell holds packets.  The same seed and the same sequence of packets
 * give the same faults.
 */
#ifndef SWITCH_CORE_IMPAIR_H
#define SWITCH_CORE_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

struct impair_params {
	double loss, dup, reorder; /* probabilities, 0 .. 1 */
	uint64_t seed;
};

struct impair {
	uint64_t rng;
	uint64_t loss, dup, reorder; /* thresholds out of 2^53 */
	uint64_t nr_lost, nr_duped, nr_reordered;
	bool active;
};

enum impair_fate {
	IMPAIR_PASS,
	IMPAIR_LOSE,
	IMPAIR_DUP,  /* send it twice */
	IMPAIR_HOLD, /* send it after the next packet of this direction, or after some ms */
};

void impair_init(struct impair *impair, const struct impair_params *params);
enum impair_fate impair_next(struct impair *impair);

#endif
