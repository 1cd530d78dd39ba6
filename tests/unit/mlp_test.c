// SPDX-License-Identifier: BSD-3-Clause
// Tests of the perceptron: losses and gradients against a naive network in double precision.
#include "host/examples/mlp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { WIDEST = 1024, DIRECTIONS = 3 };

static float params[MLP_PARAMS], grads[MLP_PARAMS], before[MLP_PARAMS];
static double exact[MLP_PARAMS], moved[MLP_PARAMS], direction[MLP_PARAMS];
static float pixels[DIGITS_PIXELS];
static uint64_t random_state;

static double random_next(void) /* -1 .. 1 */
{
	random_state = random_state * UINT64_C(2862933555777941757) + 3037000493U;
	return (double)(int64_t)random_state / 9223372036854775808.0;
}

/* Outputs of the last layer, by the definition. */
static void naive_outputs(const double *p, double out[DIGITS_CLASSES])
{
	static const int widths[] = { DIGITS_PIXELS, 1024, 192, DIGITS_CLASSES };
	static double values[2][WIDEST];
	double *in = values[0], *to = values[1], *swap;

	for (int i = 0; i < DIGITS_PIXELS; i++)
		in[i] = (double)pixels[i];
	for (int l = 0; l < 3; l++) {
		const double *bias = p + widths[l] * widths[l + 1];

		memcpy(to, bias, (size_t)widths[l + 1] * sizeof(*to));
		for (int i = 0; i < widths[l]; i++)
			for (int o = 0; o < widths[l + 1]; o++)
				to[o] += in[i] * p[i * widths[l + 1] + o];
		for (int o = 0; l < 2 && o < widths[l + 1]; o++)
			to[o] = to[o] > 0 ? to[o] : 0;
		p = bias + widths[l + 1];
		swap = in;
		in = to;
		to = swap;
	}
	memcpy(out, in, DIGITS_CLASSES * sizeof(*out));
}

static double naive_loss(const double *p, uint32_t label)
{
	double out[DIGITS_CLASSES], sum = 0;

	naive_outputs(p, out);
	for (int i = 0; i < DIGITS_CLASSES; i++)
		sum += exp(out[i]);
	return log(sum) - out[label];
}

/* Weights, biases and pixels that are all different; a third of the pixels is 0. */
static void network_make(uint64_t seed)
{
	mlp_init(params, seed);
	random_state = seed;
	for (int l = 0; l < MLP_LAYERS; l++)
		for (uint32_t i = mlp_layers[l].nr_in * mlp_layers[l].nr_out; i < mlp_layers[l].nr;
		     i++)
			params[mlp_layers[l].first + i] = (float)random_next() / 4;
	for (int i = 0; i < DIGITS_PIXELS; i++)
		pixels[i] = i % 3 ? (float)fabs(random_next()) : 0;
	for (int i = 0; i < MLP_PARAMS; i++)
		exact[i] = (double)params[i];
}

static void mlp_learn__loss_is_the_cross_entropy(void **state)
{
	(void)state;
	for (uint32_t label = 0; label < DIGITS_CLASSES; label += 3) {
		double want;

		network_make(label + 40);
		want = naive_loss(exact, label);
		assert_true(fabs((double)mlp_learn(params, pixels, label, 1, grads) - want) <
			    1e-5 * (1 + want));
	}
}

/* Outputs that are known exactly: the biases of the last layer. */
static void mlp_learn__probabilities_are_exact_to_a_few_units(void **state)
{
	const struct mlp_layer *last = &mlp_layers[MLP_LAYERS - 1];
	uint32_t first = last->first + last->nr_in * last->nr_out;

	(void)state;
	for (int round = 0; round < 50; round++) {
		double sum = 0;

		network_make((uint64_t)round + 1);
		memset(params, 0, sizeof(params));
		memset(grads, 0, sizeof(grads));
		for (uint32_t i = 0; i < DIGITS_CLASSES; i++) {
			/* of few bits, so that differences are exact as well */
			params[first + i] = (float)(floor(random_next() * 64 * (1 + round)) / 64);
			sum += exp((double)params[first + i]);
		}
		mlp_learn(params, pixels, 9, 1, grads);
		for (uint32_t i = 0; i < DIGITS_CLASSES; i++) {
			double p = exp((double)params[first + i]) / sum;
			double want = p - (i == 9), got = (double)grads[first + i];

			if (fabs(got - want) > 1e-6 * p + (i == 9 ? 1e-7 : 1e-37))
				fail_msg("output %g: %.9g, expected %.9g",
					 (double)params[first + i], got, want);
		}
	}
}

static double difference(uint32_t from, uint32_t to, uint32_t label)
{
	const double step = 1e-5;
	double loss[2];

	for (int side = 0; side < 2; side++) {
		memcpy(moved, exact, sizeof(moved));
		for (uint32_t i = from; i < to; i++)
			moved[i] += (side ? step : -step) * direction[i];
		loss[side] = naive_loss(moved, label);
	}
	return (loss[1] - loss[0]) / (2 * step);
}

/* Along random directions: every parameter of a layer takes part at once. */
static void mlp_learn__gradient_is_that_of_finite_differences(void **state)
{
	const uint32_t label = 6;

	(void)state;
	network_make(3);
	memset(grads, 0, sizeof(grads));
	mlp_learn(params, pixels, label, 1, grads);
	for (int l = 0; l < MLP_LAYERS; l++) {
		const struct mlp_layer *layer = &mlp_layers[l];
		uint32_t weights = layer->nr_in * layer->nr_out;

		for (int d = 0; d < 2 * DIRECTIONS; d++) {
			uint32_t from = layer->first + (d < DIRECTIONS ? 0 : weights);
			uint32_t to = layer->first + (d < DIRECTIONS ? weights : layer->nr);
			double got = 0, want, size = 0;

			for (uint32_t i = from; i < to; i++) {
				direction[i] = random_next();
				got += (double)grads[i] * direction[i];
				size += (double)grads[i] * (double)grads[i];
			}
			want = difference(from, to, label);
			assert_true(size > 0);
			if (!(fabs(got - want) < 1e-4 * sqrt(size)))
				fail_msg("layer %d: %.9g, expected %.9g", l, got, want);
		}
	}
}

/* One by one, for some. */
static void mlp_learn__partial_derivatives(void **state)
{
	const uint32_t label = 2;
	int nr = 0;

	(void)state;
	network_make(8);
	memset(grads, 0, sizeof(grads));
	mlp_learn(params, pixels, label, 1, grads);
	for (int l = 0; l < MLP_LAYERS; l++) {
		for (uint32_t i = mlp_layers[l].first, n = 0;
		     n < 4 && i < mlp_layers[l].first + mlp_layers[l].nr; i++) {
			if (fabsf(grads[i]) < 1e-3f)
				continue;
			direction[i] = 1;
			assert_true(fabs(difference(i, i + 1, label) - (double)grads[i]) <
				    1e-4 * fabs((double)grads[i]) + 1e-7);
			i += 97;
			n++;
			nr++;
		}
	}
	assert_int_equal(nr, 12);
}

static void mlp_learn__adds_scale_times_the_gradient(void **state)
{
	static float once[MLP_PARAMS];

	(void)state;
	network_make(5);
	mlp_learn(params, pixels, 1, 1, once);
	for (int i = 0; i < MLP_PARAMS; i++)
		before[i] = grads[i] = (float)random_next();
	mlp_learn(params, pixels, 1, 0.375f, grads);
	for (int i = 0; i < MLP_PARAMS; i++)
		if (fabsf(grads[i] - before[i] - 0.375f * once[i]) > 2e-6f * (1 + fabsf(once[i])))
			fail_msg("parameter %d: %g, expected %g", i, (double)(grads[i] - before[i]),
				 0.375 * (double)once[i]);
}

static void mlp_learn__same_bits_every_time(void **state)
{
	(void)state;
	network_make(6);
	memset(grads, 0, sizeof(grads));
	mlp_learn(params, pixels, 4, 0.5f, grads);
	memcpy(before, grads, sizeof(before));
	memset(grads, 0, sizeof(grads));
	mlp_learn(params, pixels, 4, 0.5f, grads);
	assert_memory_equal(grads, before, sizeof(grads));
}

/* A certain answer that is wrong, and one that is right: no Inf, no NaN. */
static void mlp_learn__extreme_outputs_stay_finite(void **state)
{
	const struct mlp_layer *last = &mlp_layers[MLP_LAYERS - 1];
	float *bias = params + last->first + last->nr_in * last->nr_out;
	float loss;

	(void)state;
	network_make(7);
	bias[3] = 1e5f;
	loss = mlp_learn(params, pixels, 2, 1, grads);
	assert_true(isfinite(loss) && loss > 50);
	loss = mlp_learn(params, pixels, 3, 1, grads);
	assert_true(fabsf(loss) < 1e-6f);
	for (int i = 0; i < MLP_PARAMS; i++)
		assert_true(isfinite(grads[i]));
}

static void mlp_classify__is_the_largest_output(void **state)
{
	unsigned int seen[DIGITS_CLASSES] = { 0 }, nr = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		double out[DIGITS_CLASSES];
		uint32_t best = 0;

		network_make(seed);
		naive_outputs(exact, out);
		for (uint32_t i = 1; i < DIGITS_CLASSES; i++)
			best = out[i] > out[best] ? i : best;
		assert_int_equal(mlp_classify(params, pixels), best);
		nr += !seen[best]++;
	}
	assert_true(nr > 3);
}

static void mlp_init__is_spread_to_its_limit_and_the_seed_decides(void **state)
{
	(void)state;
	mlp_init(params, 1);
	mlp_init(before, 1);
	assert_memory_equal(params, before, sizeof(params));
	mlp_init(before, 2);
	for (int l = 0; l < MLP_LAYERS; l++) {
		const struct mlp_layer *layer = &mlp_layers[l];
		uint32_t nr = layer->nr_in * layer->nr_out, nr_same = 0;
		double limit = sqrt(6.0 / layer->nr_in), most = 0, sum = 0, squares = 0;

		for (uint32_t i = layer->first; i < layer->first + nr; i++) {
			most = fmax(most, fabs((double)params[i]));
			sum += (double)params[i];
			squares += (double)params[i] * (double)params[i];
			nr_same += !(params[i] < before[i] || params[i] > before[i]);
		}
		assert_true(most <= limit * 1.000001 && most > 0.99 * limit);
		assert_true(fabs(sum / nr) < 0.05 * limit);
		assert_true(fabs(squares / nr / (limit * limit / 3) - 1) < 0.1);
		assert_true(nr_same < 3);
		for (uint32_t i = layer->first + nr; i < layer->first + layer->nr; i++)
			assert_true(!(params[i] < 0 || params[i] > 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mlp_learn__loss_is_the_cross_entropy),
		cmocka_unit_test(mlp_learn__probabilities_are_exact_to_a_few_units),
		cmocka_unit_test(mlp_learn__gradient_is_that_of_finite_differences),
		cmocka_unit_test(mlp_learn__partial_derivatives),
		cmocka_unit_test(mlp_learn__adds_scale_times_the_gradient),
		cmocka_unit_test(mlp_learn__same_bits_every_time),
		cmocka_unit_test(mlp_learn__extreme_outputs_stay_finite),
		cmocka_unit_test(mlp_classify__is_the_largest_output),
		cmocka_unit_test(mlp_init__is_spread_to_its_limit_and_the_seed_decides),
	};

	return cmocka_run_group_tests_name("mlp", tests, NULL, NULL);
}
