// SPDX-License-Identifier: BSD-3-Clause
// perf_share.c - brings the ranks' times, wrong counts and hashes together, over the library
// itself.
#include "host/tools/perf.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static int perf_reduce(struct perf_rank *rank, void *values, size_t count, enum tally_dtype dtype,
		       enum tally_op op)
{
	struct tally_args args = { .size = sizeof(args), .dtype = dtype, .op = op };
	tally_request_t *req = NULL;
	int err;

	args.src = args.dst = values;
	args.count = count;
	err = tally_allreduce(rank->comm, &args, &req);
	if (err == TALLY_OK)
		err = tally_wait(req, -1);
	tally_release(req);
	return err;
}

static int32_t perf_clamp(uint64_t value, int nr_ranks)
{
	uint64_t most = (uint64_t)INT32_MAX / (uint64_t)nr_ranks;

	return (int32_t)(value < most ? value : most);
}

/*
 * Times become the mean over the ranks, wrong results their sum; an interrupt anywhere stops all.
 */
int perf_share_row(struct perf_rank *rank, struct perf_row *row)
{
	float times[PERF_NR_MODES];
	int32_t counts[PERF_NR_MODES + 1];
	int mode, err;

	for (mode = 0; mode < PERF_NR_MODES; mode++) {
		times[mode] = (float)row->time_us[mode];
		counts[mode] = perf_clamp(row->wrong[mode], rank->nr_ranks);
	}
	counts[PERF_NR_MODES] = perf_interrupted != 0;
	err = perf_reduce(rank, times, PERF_NR_MODES, TALLY_F32, TALLY_AVG);
	if (err == TALLY_OK)
		err = perf_reduce(rank, counts, PERF_NR_MODES + 1, TALLY_I32, TALLY_SUM);
	if (err != TALLY_OK)
		return err;
	for (mode = 0; mode < PERF_NR_MODES; mode++) {
		row->time_us[mode] = (double)times[mode];
		row->wrong[mode] = (uint64_t)counts[mode];
	}
	rank->interrupted = counts[PERF_NR_MODES] != 0;
	return TALLY_OK;
}

/* Counts of all ranks, beyond what 32 bits hold: their sum in two parts. */
static int perf_share_counts(struct perf_rank *rank, const struct tally_stats *stats,
			     struct perf_summary *summary)
{
	enum { LOW = 20 }; /* bits: the sum over 1024 ranks fits */
	const uint64_t mine[2] = { stats->first, stats->results };
	int32_t parts[4];
	int i, err;

	for (i = 0; i < 2; i++) {
		parts[2 * i] = (int32_t)(mine[i] & ((1 << LOW) - 1));
		parts[2 * i + 1] = perf_clamp(mine[i] >> LOW, rank->nr_ranks);
	}
	err = perf_reduce(rank, parts, 4, TALLY_I32, TALLY_SUM);
	summary->first = ((uint64_t)parts[1] << LOW) + (uint64_t)parts[0];
	summary->results = ((uint64_t)parts[3] << LOW) + (uint64_t)parts[2];
	return err;
}

/* Every rank's hash to every rank: a sum in which only its owner's place is not zero. */
static int perf_share_hash(struct perf_rank *rank, struct perf_summary *summary)
{
	size_t nr = (size_t)rank->nr_ranks, i;
	int32_t *hashes = calloc(nr, 2 * sizeof(*hashes));
	int err;

	if (hashes == NULL)
		return TALLY_NOMEM;
	memcpy(hashes + 2 * rank->rank, &rank->hash, sizeof(rank->hash));
	err = perf_reduce(rank, hashes, 2 * nr, TALLY_I32, TALLY_SUM);
	summary->hash = rank->hash;
	summary->hash_equal = true;
	for (i = nr - 1; i > 0; i--) {
		if (memcmp(hashes, hashes + 2 * i, sizeof(rank->hash)) == 0)
			continue;
		summary->hash_equal = false;
		summary->hash_other = (uint32_t)i;
	}
	free(hashes);
	return err;
}

static float perf_ratio(uint64_t part, uint64_t whole)
{
	return whole != 0 ? (float)((double)part / (double)whole) : 0;
}

/* JSON knows no infinity. */
static float perf_finite(double value)
{
	return value < (double)FLT_MAX ? (float)value : FLT_MAX;
}

/* Of what all iterations of all ranks took. */
static int perf_share_steps(struct perf_rank *rank, struct perf_summary *summary)
{
	const struct perf_totals *totals = &rank->totals;
	const struct perf_stretch *mine[3] = { &totals->iteration, &totals->compute,
					       &totals->waiting };
	struct perf_stretch *all[3] = { &summary->iteration, &summary->compute, &summary->waiting };
	float least[3], mean[3], most[3];
	int i, err;

	for (i = 0; i < 3; i++) {
		least[i] = (float)mine[i]->least_us;
		mean[i] = mine[i]->nr != 0 ? (float)(mine[i]->sum_us / (double)mine[i]->nr) : 0;
		most[i] = (float)mine[i]->most_us;
	}
	err = perf_reduce(rank, least, 3, TALLY_F32, TALLY_MIN);
	if (err == TALLY_OK)
		err = perf_reduce(rank, mean, 3, TALLY_F32, TALLY_AVG);
	if (err == TALLY_OK)
		err = perf_reduce(rank, most, 3, TALLY_F32, TALLY_MAX);
	for (i = 0; i < 3; i++)
		*all[i] = (struct perf_stretch){ (double)least[i], (double)mean[i], (double)most[i],
						 1 };
	return err;
}

int perf_share_summary(struct perf_rank *rank, struct perf_summary *summary)
{
	const struct perf_totals *totals = &rank->totals;
	struct tally_stats stats = { .size = sizeof(stats) };
	float errors[2] = { perf_finite(totals->error.max_part),
			    perf_finite(totals->error.max_share) };
	float means[7];
	int32_t retransmits;
	int err = tally_get_stats(rank->comm, &stats);

	if (err != TALLY_OK)
		return err;
	retransmits = perf_clamp(stats.retransmits, rank->nr_ranks);
	means[0] = perf_ratio(totals->cpu_ns, totals->bytes);
	means[1] = perf_ratio(totals->wait_ns, totals->time_ns);
	means[2] = perf_ratio(totals->wire_ns, totals->time_ns);
	means[3] = perf_ratio(totals->convert_ns, totals->time_ns);
	means[4] = perf_ratio(totals->delay_ns, totals->wall_ns);
	means[5] = (float)stats.rtt_ns / 1e3f;
	means[6] = perf_ratio(totals->retransmit_ns, totals->time_ns);
	err = perf_reduce(rank, means, 7, TALLY_F32, TALLY_AVG);
	if (err == TALLY_OK)
		err = perf_reduce(rank, errors, 2, TALLY_F32, TALLY_MAX);
	if (err == TALLY_OK)
		err = perf_reduce(rank, &retransmits, 1, TALLY_I32, TALLY_SUM);
	if (err == TALLY_OK)
		err = perf_share_counts(rank, &stats, summary);
	if (err == TALLY_OK)
		err = perf_share_hash(rank, summary);
	if (err == TALLY_OK && rank->options->trace != NULL)
		err = perf_share_steps(rank, summary);
	if (err != TALLY_OK)
		return err;
	summary->cpu_ns_per_byte = (double)means[0];
	summary->wait = (double)means[1];
	summary->wire = (double)means[2];
	summary->convert = (double)means[3];
	summary->delay = (double)means[4];
	summary->rtt_us = (double)means[5];
	summary->retransmit = (double)means[6];
	summary->max_part = (double)errors[0];
	summary->max_share = (double)errors[1];
	summary->retransmits = (uint64_t)retransmits;
	summary->wrong = rank->wrong;
	summary->avg_busbw = rank->nr_busbw != 0 ? rank->busbw_sum / rank->nr_busbw : 0;
	summary->interrupted = rank->interrupted;
	return TALLY_OK;
}
