// SPDX-License-Identifier: BSD-3-Clause
// Tests of a training step: the same bits every time, shares that add up, and a common start.
#include "host/examples/train.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ranks.h"

enum { BATCH = 7, NR = 3 };

static struct digits digits;
static struct train_options options = { .epochs = 2,
					.batch = BATCH,
					.rate = 0.5f,
					.momentum = 0.75f,
					.seed = 4,
					.abort_at = 1 };

static struct train *train_new(int rank, int nr_ranks)
{
	struct train *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	*t = (struct train){ .options = &options,
			     .digits = &digits,
			     .rank = rank,
			     .nr_ranks = nr_ranks,
			     .step = -1,
			     .order_epoch = -1 };
	t->steps_per_epoch = (DIGITS_TRAIN + options.batch - 1) / options.batch;
	t->steps = options.epochs * t->steps_per_epoch;
	t->grads = calloc(MLP_PARAMS, sizeof(*t->grads));
	assert_non_null(t->grads);
	for (int i = 0; i < 2; i++) {
		t->states[i].step = -1;
		t->states[i].values = calloc(1, sizeof(*t->states[i].values));
		assert_non_null(t->states[i].values);
	}
	return t;
}

static void train_free(struct train *t)
{
	free(t->states[0].values);
	free(t->states[1].values);
	free(t->grads);
	free(t);
}

static struct train *train_begin(int rank, int nr_ranks)
{
	struct train *t = train_new(rank, nr_ranks);

	assert_int_equal(train_agree(t), TALLY_OK);
	assert_int_equal(t->step, 0);
	return t;
}

static void steps(struct train *t, int nr)
{
	for (int i = 0; i < nr; i++)
		assert_int_equal(train_step(t), TALLY_OK);
}

static const struct train_values *values(const struct train *t)
{
	return t->states[t->step % 2].values;
}

static int digits_make(void **state)
{
	uint32_t x = 1;

	(void)state;
	for (int s = 0; s < DIGITS_ALL; s++) {
		for (int i = 0; i < DIGITS_PIXELS; i++) {
			x = x * 1664525 + 1013904223;
			digits.pixels[s][i] = (float)(x >> 28) / 16;
		}
		digits.labels[s] = (uint8_t)((x >> 8) % DIGITS_CLASSES);
	}
	return 0;
}

static void train_agree__alone_begins_from_the_seed(void **state)
{
	static float want[MLP_PARAMS];
	struct train *t = train_begin(0, 1);

	(void)state;
	mlp_init(want, options.seed);
	assert_memory_equal(values(t)->params, want, sizeof(want));
	train_free(t);
}

static void train_step__same_bits_every_time(void **state)
{
	struct train *a = train_begin(0, 1), *b = train_begin(0, 1);

	(void)state;
	steps(a, 3);
	steps(b, 3);
	assert_int_equal(a->step, 3);
	assert_int_equal(a->states[1].step, 3);
	assert_int_equal(a->states[0].step, 2);
	assert_memory_equal(values(a), values(b), sizeof(*values(a)));
	assert_memory_equal(a->states[0].values, b->states[0].values, sizeof(*values(a)));
	train_free(a);
	train_free(b);
}

/* Going on from a copied state is going on: nothing else is remembered. */
static void train_step__depends_on_the_state_only(void **state)
{
	struct train *a = train_begin(0, 1), *b = train_new(0, 1);

	(void)state;
	steps(a, 2);
	b->step = b->states[0].step = 2;
	*b->states[0].values = *values(a);
	steps(a, 1);
	steps(b, 1);
	assert_memory_equal(values(a), values(b), sizeof(*values(a)));
	train_free(a);
	train_free(b);
}

static void train_step__seed_decides_weights_and_order(void **state)
{
	struct train *a = train_begin(0, 1), *b;

	(void)state;
	steps(a, 1);
	options.seed++;
	b = train_begin(0, 1);
	steps(b, 1);
	options.seed--;
	assert_memory_not_equal(a->order, b->order, sizeof(a->order));
	assert_memory_not_equal(values(a)->params, values(b)->params, sizeof(values(a)->params));
	train_free(a);
	train_free(b);
}

/* Momentum, and a rate that falls to 0 over all steps; the state before stays as it was. */
static void train_step__updates_by_the_rule(void **state)
{
	static struct train_values old;
	struct train *t = train_begin(0, 1);
	const struct train_values *new;
	double rate;

	(void)state;
	steps(t, 2);
	old = *values(t);
	steps(t, 1);
	new = values(t);
	assert_memory_equal(t->states[0].values, &old, sizeof(old));
	rate = 0.5 * (t->steps - 2) / t->steps;
	for (int i = 0; i < MLP_PARAMS; i++) {
		double velocity = 0.75 * (double)old.velocity[i] + (double)t->grads[i];
		double param = (double)old.params[i] - rate * velocity;

		if (fabs((double)new->velocity[i] - velocity) > 1e-6 * (1 + fabs(velocity)) ||
		    fabs((double)new->params[i] - param) > 1e-6 * (1 + fabs(param)))
			fail_msg("parameter %d: %.9g, expected %.9g", i, (double)new->params[i],
				 param);
	}
	assert_true(new->loss > old.loss);
	train_free(t);
}

/* 7 samples over 3 ranks: 2, 2 and 3, and still the mean over all 7. */
static void train_step__shares_of_the_ranks_average_to_the_whole(void **state)
{
	struct train *all = train_begin(0, 1), *part[NR];
	double loss = 0, most = 0;

	(void)state;
	steps(all, 1);
	for (int r = 0; r < NR; r++) {
		part[r] = train_begin(r, NR);
		steps(part[r], 1);
		assert_memory_equal(part[r]->order, all->order, sizeof(all->order));
		loss += (double)values(part[r])->loss / NR;
	}
	for (int i = 0; i < MLP_PARAMS; i++)
		most = fmax(most, fabs((double)all->grads[i]));
	for (int i = 0; i < MLP_PARAMS; i++) {
		double mean = 0;

		for (int r = 0; r < NR; r++)
			mean += (double)part[r]->grads[i] / NR;
		if (fabs(mean - (double)all->grads[i]) > 1e-6 * most)
			fail_msg("parameter %d: %.9g, expected %.9g", i, mean,
				 (double)all->grads[i]);
	}
	assert_true(fabs(loss - (double)values(all)->loss) < 1e-5 * loss);
	assert_memory_not_equal(part[0]->grads, part[1]->grads, MLP_PARAMS * sizeof(float));
	for (int r = 0; r < NR; r++)
		train_free(part[r]);
	train_free(all);
}

/* The last batch of an epoch is what is left, here one sample; then the loss begins anew. */
static void train_step__short_batch_and_new_epoch(void **state)
{
	static float want[MLP_PARAMS];
	struct train *t;
	uint32_t sample, before;
	float loss;

	(void)state;
	options.batch = DIGITS_TRAIN - 1;
	t = train_new(0, 1);
	t->step = t->states[1].step = 1;
	mlp_init(t->states[1].values->params, 9);
	t->states[1].values->loss = 1000;
	steps(t, 1);
	sample = t->order[DIGITS_TRAIN - 1];
	loss = mlp_learn(t->states[1].values->params, digits.pixels[sample], digits.labels[sample],
			 1, want);
	assert_memory_equal(t->grads, want, sizeof(want));
	assert_true(fabsf(values(t)->loss - 1000 - loss) < 1e-3f);
	assert_int_equal(t->order_epoch, 0);
	before = t->order[0];
	options.batch = BATCH;
	t->steps_per_epoch = 2;
	steps(t, 1);
	assert_int_equal(t->order_epoch, 1);
	assert_true(values(t)->loss < 1000);
	assert_true(t->order[0] != before || t->order[DIGITS_TRAIN - 1] != sample);
	train_free(t);
}

static void state_make(struct train *t, int32_t step)
{
	struct train_state *s = &t->states[step % 2];
	uint32_t x = (uint32_t)step;

	s->step = step;
	for (int i = 0; i < MLP_PARAMS; i++) {
		x = x * 1664525 + 1013904223;
		memcpy(&s->values->params[i], &x, sizeof(x)); /* any bits, NaN as well */
		x = x * 1664525 + 1013904223;
		memcpy(&s->values->velocity[i], &x, sizeof(x));
	}
	s->values->loss = (float)step;
	t->step = step;
}

static struct train *trains[NR];

static void agree_run(struct rank *rank, void *ctx)
{
	struct train *t = trains[rank->rank];

	(void)ctx;
	t->comm = rank->comm;
	rank_check(rank, train_agree(t) == TALLY_OK);
}

/* One rank is a step ahead, one comes anew: all go on from the lowest step, with the same bits. */
static void train_agree__lowest_step_goes_to_who_has_none(void **state)
{
	static struct ranks ranks = { .size = NR, .absent = -1, .fn = agree_run };

	(void)state;
	for (int r = 0; r < NR; r++)
		trains[r] = train_new(r, NR);
	state_make(trains[1], 4);
	state_make(trains[1], 5);
	state_make(trains[2], 3);
	state_make(trains[2], 4);
	ranks_run(&ranks);
	for (int r = 0; r < NR; r++) {
		assert_int_equal(trains[r]->step, 4);
		assert_int_equal(trains[r]->states[0].step, 4);
		assert_memory_equal(trains[r]->states[0].values, trains[2]->states[0].values,
				    sizeof(*values(trains[r])));
	}
	assert_true(values(trains[0])->loss > 3.9f);
	for (int r = 0; r < NR; r++)
		train_free(trains[r]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(train_agree__alone_begins_from_the_seed),
		cmocka_unit_test(train_step__same_bits_every_time),
		cmocka_unit_test(train_step__depends_on_the_state_only),
		cmocka_unit_test(train_step__seed_decides_weights_and_order),
		cmocka_unit_test(train_step__updates_by_the_rule),
		cmocka_unit_test(train_step__shares_of_the_ranks_average_to_the_whole),
		cmocka_unit_test(train_step__short_batch_and_new_epoch),
		cmocka_unit_test(train_agree__lowest_step_goes_to_who_has_none),
	};

	return cmocka_run_group_tests_name("train_step", tests, digits_make, NULL);
}
