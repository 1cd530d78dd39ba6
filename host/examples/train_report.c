// SPDX-License-Identifier: BSD-3-Clause
// train_report.c - what rank 0 prints; the numbers of all ranks come together over the library.
#include "host/examples/train.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct train_values *train_values_now(const struct train *train)
{
	return train->states[train->step % 2].values;
}

/* How many of the test samples the model gets right; each rank tries its share. */
static int train_count_right(struct train *train, int32_t *right)
{
	const struct digits *digits = train->digits;
	const float *params = train_values_now(train)->params;
	int i;

	*right = 0;
	for (i = DIGITS_TRAIN + train->rank; i < DIGITS_ALL; i += train->nr_ranks)
		*right += mlp_classify(params, digits->pixels[i]) == digits->labels[i];
	if (train->comm == NULL)
		return TALLY_OK;
	return train_share_ints(train->comm, right, 1, TALLY_SUM);
}

int train_report_epoch(struct train *train)
{
	uint32_t epoch = (uint32_t)train->step / train->steps_per_epoch;
	float loss = train_values_now(train)->loss / (float)train->steps_per_epoch;
	int32_t right;
	int err = train_count_right(train, &right);

	/* After a restart at the end of an epoch its line is there already. */
	if (err != TALLY_OK || train->rank != 0 || epoch <= train->printed)
		return err;
	train->printed = epoch;
	printf("%sepoch %*u/%u  loss %.4f  test accuracy %.4f\n", isatty(1) ? "\r\033[K" : "",
	       train->options->epochs < 10 ? 1 : 2, (unsigned int)epoch,
	       (unsigned int)train->options->epochs, (double)loss, right / (double)DIGITS_TEST);
	fflush(stdout);
	return TALLY_OK;
}

/* The line that moves, on a terminal only. */
void train_report_step(const struct train *train)
{
	if (train->rank != 0 || !isatty(1))
		return;
	printf("\rstep %d/%u", train->step, (unsigned int)train->steps);
	fflush(stdout);
}

void train_report_skip(const struct train *train, int rank)
{
	if (train->rank != 0)
		return;
	printf("%sstep %d: Inf or NaN in the gradients of rank %d: all ranks skip it\n",
	       isatty(1) ? "\r\033[K" : "", train->step, rank);
	fflush(stdout);
}

/* FNV-1a over the bytes of the weights. */
static uint64_t train_hash(const struct train *train)
{
	const float *params = train_values_now(train)->params;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	uint32_t i, bits, byte;

	for (i = 0; i < MLP_PARAMS; i++) {
		memcpy(&bits, &params[i], sizeof(bits));
		for (byte = 0; byte < 4; byte++)
			hash = (hash ^ (bits >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
	}
	return hash;
}

/* 0 if all ranks have this hash (its largest and its smallest halves are equal), 1 if not. */
static int train_compare_hash(struct train *train, uint64_t hash)
{
	int32_t most[2], least[2];
	int err;

	memcpy(most, &hash, sizeof(most));
	memcpy(least, &hash, sizeof(least));
	err = train_share_ints(train->comm, most, 2, TALLY_MAX);
	if (err == TALLY_OK)
		err = train_share_ints(train->comm, least, 2, TALLY_MIN);
	if (err != TALLY_OK)
		return err;
	return memcmp(most, least, sizeof(most)) != 0;
}

static void train_print_speed(const struct train *train)
{
	if (train->seconds <= 0)
		return;
	printf("%u steps, %.1f steps/s, %zu gradient bytes per step and rank\n",
	       (unsigned int)train->steps, train->steps / train->seconds,
	       MLP_PARAMS * sizeof(float));
}

/* Packets and retransmissions of all ranks, as 32 bit sums: enough for some hours. */
static int train_report_packets(struct train *train)
{
	struct tally_stats stats = { .size = sizeof(stats) };
	const int32_t skipped = train_values_now(train)->skipped;
	int32_t sums[4];
	int err = tally_get_stats(train->comm, &stats);

	if (err != TALLY_OK)
		return err;
	sums[0] = (int32_t)(uint32_t)stats.tx_packets;
	sums[1] = (int32_t)(uint32_t)stats.rx_packets;
	sums[2] = (int32_t)(uint32_t)stats.retransmits;
	sums[3] = skipped;
	err = train_share_ints(train->comm, sums, 4, TALLY_SUM);
	if (err == TALLY_OK && train->rank == 0 && skipped != 0)
		printf("%" PRId32 " step%s skipped, by %s ranks\n", skipped,
		       skipped == 1 ? "" : "s",
		       sums[3] == skipped * train->nr_ranks ? "all" : "NOT all");
	if (err == TALLY_OK && train->rank == 0)
		printf("packets of all ranks: %" PRIu32 " sent, %" PRIu32 " received, %" PRIu32
		       " retransmissions; %" PRIu32 " restart%s\n",
		       (uint32_t)sums[0], (uint32_t)sums[1], (uint32_t)sums[2], train->restarts,
		       train->restarts == 1 ? "" : "s");
	return err;
}

int train_report_end(struct train *train)
{
	uint64_t hash = train_hash(train);
	int32_t right;
	int err = train_count_right(train, &right), differ = 0;

	if (err == TALLY_OK && train->comm != NULL) {
		differ = train_compare_hash(train, hash);
		err = differ < 0 ? differ : TALLY_OK;
	}
	if (err != TALLY_OK)
		return err;
	if (train->rank == 0) {
		printf("test accuracy %.4f\n", right / (double)DIGITS_TEST);
		if (train->comm == NULL)
			printf("weights hash %016" PRIx64 " (one process)\n", hash);
		else
			printf("weights hash %016" PRIx64 " (%s %d rank%s equal)\n", hash,
			       differ != 0 ? "NOT all" : "all", train->nr_ranks,
			       train->nr_ranks == 1 ? "" : "s");
		train_print_speed(train);
	}
	if (train->comm != NULL)
		err = train_report_packets(train);
	fflush(stdout);
	return err != TALLY_OK ? err : differ;
}
