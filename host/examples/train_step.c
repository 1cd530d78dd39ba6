// SPDX-License-Identifier: BSD-3-Clause
// train_step.c - one step of data-parallel training, and how the ranks agree where to start or go
// on.
//
// Every rank holds all weights and computes the gradient of its share of each mini-batch; the
// all-reduce gives all of them the same average, bit for bit, so the weights stay equal without
// ever being sent.
//
// A step reads the state before it and writes the state after it elsewhere, so that the last two
// states are always there.  When a rank is lost in step s, each survivor has completed s - 1 or s:
// nobody can be further, as a step completes only with everybody's gradients.  So they go on from
// the lowest step, which all have.
#include "host/examples/train.h"

#include <math.h>
#include <string.h>

/*
 * Gradient of this rank's share of the samples first .. first + nr - 1 of the epoch's order; *loss
 * += theirs.
 */
static void train_compute(struct train *train, uint32_t first, uint32_t nr, float *loss)
{
	const struct digits *digits = train->digits;
	const float *params = train->states[train->step % 2].values->params;
	uint32_t ranks = (uint32_t)train->nr_ranks, rank = (uint32_t)train->rank;
	uint32_t from = first + nr * rank / ranks, to = first + nr * (rank + 1) / ranks;
	/*
	 * The average over ranks of these is the mean over the samples, however unequal the shares.
	 */
	float scale = (float)ranks / (float)nr;
	uint32_t i, sample;

	memset(train->grads, 0, MLP_PARAMS * sizeof(*train->grads));
	for (i = from; i < to; i++) {
		sample = train->order[i];
		*loss += scale * mlp_learn(params, digits->pixels[sample], digits->labels[sample],
					   scale, train->grads);
	}
}

/*
 * The gradients of each layer and the loss become their averages over all ranks, all outstanding at
 * once.  *bad: the rank whose gradients were not all finite, -1: none.
 */
static int train_average(struct train *train, float *loss, int *bad)
{
	struct train_posts posts = { .nr = MLP_LAYERS + 1 };
	uint32_t l;
	int err;

	for (l = 0; l < MLP_LAYERS; l++) {
		posts.posts[l].values = train->grads + mlp_layers[l].first;
		posts.posts[l].count = mlp_layers[l].nr;
	}
	posts.posts[l].values = loss;
	posts.posts[l].count = 1;
	for (l = 0; l < posts.nr; l++) {
		posts.posts[l].dtype = TALLY_F32;
		posts.posts[l].op = TALLY_AVG;
	}
	err = train_share(train->comm, &posts);
	*bad = posts.nonfinite_rank;
	return err;
}

/*
 * The gradients are worth nothing, on any rank: the next state is this one.  All ranks know, so all of
 * them do the same.
 */
static void train_skip(struct train *train, float loss, bool new_epoch)
{
	const struct train_values *old = train->states[train->step % 2].values;
	struct train_state *next = &train->states[(train->step + 1) % 2];

	memcpy(next->values, old, sizeof(*old));
	loss = isfinite(loss) ? loss : 0;
	next->values->loss = new_epoch ? loss : old->loss + loss;
	next->values->skipped++;
	next->step = ++train->step;
}

/* Stochastic gradient descent with momentum, from one state to the next. */
static void train_update(struct train *train, float loss, bool new_epoch)
{
	const struct train_values *old = train->states[train->step % 2].values;
	struct train_state *next = &train->states[(train->step + 1) % 2];
	struct train_values *new = next->values;
	float momentum = train->options->momentum, left, rate;
	uint32_t i;

	/*
	 * Falls to 0 in a straight line, so that the end does not depend on the last few batches.
	 */
	left = (float)(train->steps - (uint32_t)train->step);
	rate = train->options->rate * left / (float)train->steps;
	for (i = 0; i < MLP_PARAMS; i++) {
		new->velocity[i] = momentum * old->velocity[i] + train->grads[i];
		new->params[i] = old->params[i] - rate *new->velocity[i];
	}
	new->loss = new_epoch ? loss : old->loss + loss;
	new->skipped = old->skipped;
	next->step = ++train->step;
}

int train_step(struct train *train)
{
	uint32_t step = (uint32_t)train->step, epoch = step / train->steps_per_epoch;
	uint32_t first = step % train->steps_per_epoch * train->options->batch;
	uint32_t left = DIGITS_TRAIN - first;
	uint32_t nr = left < train->options->batch ? left : train->options->batch;
	float loss = 0;
	int err = TALLY_OK, bad = -1;

	/* A function of seed and epoch alone: a rank that joins later finds the same order. */
	if (train->order_epoch != (int64_t)epoch) {
		digits_shuffle(train->order, DIGITS_TRAIN, train->options->seed << 32 | epoch);
		train->order_epoch = epoch;
	}
	train_compute(train, first, nr, &loss);
	if (train->options->abort_at == (int64_t)step && !train->aborted &&
	    train->rank == train->nr_ranks - 1 && train->comm != NULL) {
		train->aborted = true;
		tally_abort(train->comm);
	}
	if (train->options->inf_step == (int64_t)step && train->rank == train->options->inf_rank)
		train->grads[MLP_PARAMS / 2] = INFINITY;
	if (train->comm != NULL)
		err = train_average(train, &loss, &bad);
	if (err != TALLY_OK)
		return err;
	if (bad >= 0) {
		train_report_skip(train, bad);
		train_skip(train, loss, first == 0);
	} else {
		train_update(train, loss, first == 0);
	}
	return TALLY_OK;
}

/*
 * Sends the state of one rank to those that have none.  A sum in which the others put zeros is a
 * broadcast; as integers, so that every bit arrives as it left.  It travels in the place of the
 * state that is not needed any more, so that a second failure on the way loses nothing.
 */
static int train_send_state(struct train *train, int32_t step, int32_t donor)
{
	struct train_state *state = &train->states[step % 2];
	struct train_state *carrier = &train->states[(step + 1) % 2];
	size_t count = sizeof(*state->values) / sizeof(int32_t);
	int err;

	carrier->step = -1;
	if (train->rank == donor)
		memcpy(carrier->values, state->values, sizeof(*state->values));
	else
		memset(carrier->values, 0, sizeof(*carrier->values));
	err = train_share_ints(train->comm, (int32_t *)(void *)carrier->values, count, TALLY_SUM);
	if (err != TALLY_OK || state->step == step)
		return err;
	memcpy(state->values, carrier->values, sizeof(*state->values));
	state->step = step;
	return TALLY_OK;
}

/*
 * Where to start or to go on: the lowest step of those ranks that have one.  At the very start
 * nobody has, and all begin from the seed.  A process that replaces a lost rank is given the state
 * of the lowest rank that has it.  Every rank calls this first, and again after tally_rejoin().
 */
int train_agree(struct train *train)
{
	int32_t lowest[3] = { INT32_MAX, INT32_MAX,
			      1 }; /* step, rank that has it, 0: some rank has none */
	int32_t donor;
	int err = TALLY_OK;

	lowest[0] = train->step >= 0 ? train->step : INT32_MAX;
	lowest[2] = train->step >= 0;
	if (train->comm != NULL)
		err = train_share_ints(train->comm, lowest, 3, TALLY_MIN);
	if (err != TALLY_OK)
		return err;
	if (lowest[0] == INT32_MAX) {
		mlp_init(train->states[0].values->params, train->options->seed);
		train->states[0].step = train->step = 0;
		return TALLY_OK;
	}
	donor = train->states[lowest[0] % 2].step == lowest[0] ? train->rank : INT32_MAX;
	err = train_share_ints(train->comm, &donor, 1, TALLY_MIN);
	if (err == TALLY_OK && lowest[2] == 0)
		err = train_send_state(train, lowest[0], donor);
	if (err == TALLY_OK)
		train->step = lowest[0];
	return err;
}
