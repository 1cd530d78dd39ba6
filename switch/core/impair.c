// SPDX-License-Identifier: BSD-3-Clause
/* impair.c - which packets meet which fault. */
#include "switch/core/impair.h"

#define IMPAIR_ONE (UINT64_C(1) << 53)
#define IMPAIR_SECOND UINT64_C(1000000000)

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

static bool impair_is_active(const struct impair *impair)
{
	const struct impair_params *params = &impair->params;

	return impair->loss || impair->dup || impair->reorder || impair->corrupt ||
	       impair->corrupt_checked || impair->burst_enter || impair->burst_good ||
	       params->delay_ns || params->jitter_ns || params->rate || params->down;
}

void impair_set(struct impair *impair, const struct impair_params *params)
{
	/* Another rate is another link, which nobody waits for yet. */
	if (params->rate != impair->params.rate)
		impair->busy_ns = impair->busy_part = impair->nr_waiting = 0;
	impair->params = *params;
	impair->loss = impair_threshold(params->loss);
	impair->dup = impair_threshold(params->dup);
	impair->reorder = impair_threshold(params->reorder);
	impair->corrupt = impair_threshold(params->corrupt);
	impair->corrupt_checked = impair_threshold(params->corrupt_checked);
	impair->burst_enter = impair_threshold(params->burst_enter);
	impair->burst_leave = impair_threshold(params->burst_leave);
	impair->burst_loss = impair_threshold(params->burst_loss);
	impair->burst_good = impair_threshold(params->burst_good);
	if (!impair->burst_enter)
		impair->bad = false;
	impair->active = impair_is_active(impair);
}

void impair_init(struct impair *impair, const struct impair_params *params)
{
	*impair = (struct impair){ .rng = params->seed };
	impair_set(impair, params);
}

uint64_t impair_late_ns(const struct impair *impair)
{
	uint64_t ns = (uint64_t)impair->params.distance * IMPAIR_LATE_EACH_NS;

	return ns > IMPAIR_LATE_NS ? ns : IMPAIR_LATE_NS;
}

/* The packet meets the state as it is; then the state takes its step. */
static bool impair_bursts(struct impair *impair)
{
	uint64_t ignored = 0;
	bool lost;

	if (!impair->burst_enter && !impair->burst_good)
		return false;
	lost = impair_hits(impair, impair->bad ? impair->burst_loss : impair->burst_good,
			   &impair->nr_burst);
	if (impair_hits(impair, impair->bad ? impair->burst_leave : impair->burst_enter, &ignored))
		impair->bad = !impair->bad;
	return lost;
}

static bool impair_loses(struct impair *impair)
{
	if (impair->params.down) {
		impair->nr_down++;
		return true;
	}
	return impair_bursts(impair) || impair_hits(impair, impair->loss, &impair->nr_lost);
}

/* Those that have left by now wait no more. */
static void impair_queue_pass(struct impair *impair, uint64_t now_ns)
{
	while (impair->nr_waiting && impair->leaves[impair->first] <= now_ns) {
		impair->first = (impair->first + 1) % IMPAIR_QUEUE_MAX;
		impair->nr_waiting--;
	}
}

/* An empty queue takes any packet: it is on the link at once. */
static bool impair_queue_is_full(const struct impair *impair, uint64_t now_ns, uint32_t bytes)
{
	const struct impair_params *params = &impair->params;
	uint64_t waiting;

	if (impair->busy_ns <= now_ns)
		return false;
	if (!params->queue_bytes)
		return impair->nr_waiting >= (params->queue ? params->queue : IMPAIR_QUEUE);
	waiting = (impair->busy_ns - now_ns) * params->rate / (8 * IMPAIR_SECOND);
	return waiting + bytes > params->queue;
}

uint64_t impair_requeue(struct impair *impair, uint64_t now_ns, uint32_t bytes)
{
	uint64_t rate = impair->params.rate, work;

	if (!rate)
		return now_ns;
	if (impair->busy_ns < now_ns) {
		impair->busy_ns = now_ns;
		impair->busy_part = 0;
	}
	work = 8 * (uint64_t)bytes * IMPAIR_SECOND + impair->busy_part;
	impair->busy_ns += work / rate;
	impair->busy_part = work % rate;
	if (impair->nr_waiting < IMPAIR_QUEUE_MAX)
		impair->leaves[(impair->first + impair->nr_waiting++) % IMPAIR_QUEUE_MAX] =
			impair->busy_ns;
	return impair->busy_ns;
}

/* When the last bit has gone out at the limited rate; false: it does not even get into the queue. */
static bool impair_link(struct impair *impair, uint64_t now_ns, uint32_t bytes, uint64_t *left_ns)
{
	*left_ns = now_ns;
	if (!impair->params.rate)
		return true;
	impair_queue_pass(impair, now_ns);
	if (impair_queue_is_full(impair, now_ns, bytes))
		return false;
	*left_ns = impair_requeue(impair, now_ns, bytes);
	return true;
}

static void impair_copy(struct impair *impair, uint64_t now_ns, uint32_t bytes,
			struct impair_copy *copy)
{
	const struct impair_params *params = &impair->params;

	*copy = (struct impair_copy){ .corrupt = IMPAIR_INTACT };
	if (impair_hits(impair, impair->corrupt, &impair->nr_corrupted))
		copy->corrupt = IMPAIR_CORRUPT;
	else if (impair_hits(impair, impair->corrupt_checked, &impair->nr_corrupted_checked))
		copy->corrupt = IMPAIR_CORRUPT_CHECKED;
	if (copy->corrupt != IMPAIR_INTACT)
		copy->noise = impair_random(impair);
	if (!impair_link(impair, now_ns, bytes, &copy->due_ns)) {
		copy->queue_full = true;
		impair->nr_queue_full++;
		return;
	}
	copy->due_ns += params->delay_ns;
	if (params->jitter_ns)
		copy->due_ns += impair_random(impair) % (params->jitter_ns + 1);
	impair->nr_delayed += copy->due_ns > now_ns;
	copy->late = impair_hits(impair, impair->reorder, &impair->nr_reordered);
}

void impair_next(struct impair *impair, uint64_t now_ns, uint32_t bytes, struct impair_fate *fate)
{
	fate->nr = 0;
	if (impair_loses(impair))
		return;
	fate->nr = impair_hits(impair, impair->dup, &impair->nr_duped) ? 2 : 1;
	for (unsigned i = 0; i < fate->nr; i++)
		impair_copy(impair, now_ns, bytes, &fate->copies[i]);
}
