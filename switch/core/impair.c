// SPDX-License-Identifier: BSD-3-Clause
/* impair.c - which packets meet which fault. */
#include "switch/core/impair.h"

#define IMPAIR_ONE (UINT64_C(1) << 53)

/* SplitMix64 (Steele, Lea, Flood 2014): any seed will do, zero included. */
static uint64_t impair_random(struct impair *impair)
{
	uint64_t z = impair->rng += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The comparison's form makes a NaN a probability of 0. */
static uint64_t impair_threshold(double probability)
{
	if (!(probability > 0))
		return 0;
	return probability >= 1 ? IMPAIR_ONE : (uint64_t)(probability * (double)IMPAIR_ONE);
}

static bool impair_hits(struct impair *impair, uint64_t threshold, uint64_t *counter)
{
	bool hit = threshold > 0 && impair_random(impair) >> 11 < threshold;

	*counter += hit;
	return hit;
}

void impair_init(struct impair *impair, const struct impair_params *params)
{
	*impair = (struct impair){
		.rng = params->seed,
		.loss = impair_threshold(params->loss),
		.dup = impair_threshold(params->dup),
		.reorder = impair_threshold(params->reorder),
	};
	impair->active = impair->loss || impair->dup || impair->reorder;
}

enum impair_fate impair_next(struct impair *impair)
{
	if (!impair->active)
		return IMPAIR_PASS;
	if (impair_hits(impair, impair->loss, &impair->nr_lost))
		return IMPAIR_LOSE;
	if (impair_hits(impair, impair->dup, &impair->nr_duped))
		return IMPAIR_DUP;
	if (impair_hits(impair, impair->reorder, &impair->nr_reordered))
		return IMPAIR_HOLD;
	return IMPAIR_PASS;
}
