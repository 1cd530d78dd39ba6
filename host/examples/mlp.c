// SPDX-License-Identifier: BSD-3-Clause
// mlp.c - forward and backward pass, one sample at a time, in an order that no compiler may change.
#include "host/examples/mlp.h"

#include <math.h>
#include <string.h>

#define MLP_WIDEST MLP_HIDDEN_1
#define MLP_LANES                                                                                  \
	8 /* partial sums of a dot product: fills vector registers, keeps the order fixed */

const struct mlp_layer mlp_layers[MLP_LAYERS] = {
	{ DIGITS_PIXELS, MLP_HIDDEN_1, 0, MLP_PARAMS_1 },
	{ MLP_HIDDEN_1, MLP_HIDDEN_2, MLP_PARAMS_1, MLP_PARAMS_2 },
	{ MLP_HIDDEN_2, DIGITS_CLASSES, MLP_PARAMS_1 + MLP_PARAMS_2, MLP_PARAMS_3 },
};

/* What a sample makes of every layer: values[0] its pixels, values[l + 1] the output of layer l. */
struct mlp_pass {
	float values[MLP_LAYERS + 1][MLP_WIDEST];
};

static float mlp_uniform(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (float)(int32_t)(*state >> 40) / 8388608 - 1; /* -1 .. 1, 24 bits */
}

/* He initialisation, biases 0. */
void mlp_init(float params[MLP_PARAMS], uint64_t seed)
{
	const struct mlp_layer *layer;
	uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	float limit;
	uint32_t l, i, nr;

	for (l = 0; l < MLP_LAYERS; l++) {
		layer = &mlp_layers[l];
		limit = sqrtf(6.0f / (float)layer->nr_in);
		nr = layer->nr_in * layer->nr_out;
		for (i = 0; i < nr; i++)
			params[layer->first + i] = limit * mlp_uniform(&state);
		for (i = nr; i < layer->nr; i++)
			params[layer->first + i] = 0;
	}
}

/* to += factor x from */
static void mlp_add(float *restrict to, const float *restrict from, float factor, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		to[i] += factor * from[i];
}

static float mlp_dot(const float *restrict a, const float *restrict b, uint32_t nr)
{
	float sums[MLP_LANES] = { 0 }, sum = 0;
	uint32_t i, lane;

	for (i = 0; i + MLP_LANES <= nr; i += MLP_LANES)
		for (lane = 0; lane < MLP_LANES; lane++)
			sums[lane] += a[i + lane] * b[i + lane];
	for (; i < nr; i++)
		sum += a[i] * b[i];
	for (lane = 0; lane < MLP_LANES; lane++)
		sum += sums[lane];
	return sum;
}

static void mlp_forward(const float params[MLP_PARAMS], const float *pixels, struct mlp_pass *pass)
{
	const struct mlp_layer *layer;
	const float *weights;
	float *in, *out;
	uint32_t l, i;

	memcpy(pass->values[0], pixels, DIGITS_PIXELS * sizeof(*pixels));
	for (l = 0; l < MLP_LAYERS; l++) {
		layer = &mlp_layers[l];
		weights = params + layer->first;
		in = pass->values[l];
		out = pass->values[l + 1];
		memcpy(out, weights + layer->nr_in * layer->nr_out, layer->nr_out * sizeof(*out));
		for (i = 0; i < layer->nr_in; i++)
			if (in[i] > 0) /* half the pixels and half the ReLUs are 0 */
				mlp_add(out, weights + i * layer->nr_out, in[i], layer->nr_out);
		for (i = 0; i < layer->nr_out && l + 1 < MLP_LAYERS; i++)
			out[i] = out[i] > 0 ? out[i] : 0;
	}
}

/*
 * e^x for x <= 0, to 2e-7 relative.  Not expf(): a C library picks one of several by the CPU it
 * finds, and they differ in the last bit, which would give ranks on different machines different
 * gradients.
 */
static float mlp_exp(float x)
{
	float power, sum;
	int32_t halvings, bits;

	if (x < -87)
		return 0;
	halvings = (int32_t)(0.5f - x * 1.44269504f);
	x = x + (float)halvings * 0.693359375f - (float)halvings * 2.12194440e-4f;
	sum = 1 + x * (1 + x * (0.5f + x * (1.66666667e-1f +
					    x * (4.16666667e-2f +
						 x * (8.33333333e-3f + x * 1.38888889e-3f)))));
	bits = (127 - halvings) << 23;
	memcpy(&power, &bits, sizeof(power));
	return sum * power;
}

/* outputs <- probabilities */
static void mlp_softmax(float outputs[DIGITS_CLASSES])
{
	float most = outputs[0], sum = 0;
	uint32_t i;

	for (i = 1; i < DIGITS_CLASSES; i++)
		most = outputs[i] > most ? outputs[i] : most;
	for (i = 0; i < DIGITS_CLASSES; i++) {
		outputs[i] = mlp_exp(outputs[i] - most);
		sum += outputs[i];
	}
	for (i = 0; i < DIGITS_CLASSES; i++)
		outputs[i] /= sum;
}

/*
 * errors: in, d loss / d output of the last layer; the ReLU's derivative is 0 where its output is
 * 0.
 */
static void mlp_backward(const float params[MLP_PARAMS], const struct mlp_pass *pass,
			 float errors[MLP_WIDEST], float grads[MLP_PARAMS])
{
	const struct mlp_layer *layer;
	float below[MLP_WIDEST];
	const float *in, *weights;
	float *to;
	uint32_t l, i;

	for (l = MLP_LAYERS; l-- > 0;) {
		layer = &mlp_layers[l];
		in = pass->values[l];
		weights = params + layer->first;
		to = grads + layer->first;
		mlp_add(to + layer->nr_in * layer->nr_out, errors, 1, layer->nr_out);
		for (i = 0; i < layer->nr_in; i++) {
			below[i] = 0;
			if (!(in[i] > 0))
				continue;
			mlp_add(to + i * layer->nr_out, errors, in[i], layer->nr_out);
			if (l > 0)
				below[i] =
					mlp_dot(weights + i * layer->nr_out, errors, layer->nr_out);
		}
		memcpy(errors, below, layer->nr_in * sizeof(*errors));
	}
}

float mlp_learn(const float params[MLP_PARAMS], const float *pixels, uint32_t label, float scale,
		float grads[MLP_PARAMS])
{
	struct mlp_pass pass;
	float errors[MLP_WIDEST];
	float *outputs = pass.values[MLP_LAYERS];
	float right;
	uint32_t i;

	mlp_forward(params, pixels, &pass);
	mlp_softmax(outputs);
	right = outputs[label];
	for (i = 0; i < DIGITS_CLASSES; i++)
		errors[i] = scale * (outputs[i] - (i == label ? 1 : 0));
	mlp_backward(params, &pass, errors, grads);
	return -logf(right > 1e-30f ? right : 1e-30f); /* printed only */
}

uint32_t mlp_classify(const float params[MLP_PARAMS], const float *pixels)
{
	struct mlp_pass pass;
	const float *outputs = pass.values[MLP_LAYERS];
	uint32_t i, best = 0;

	mlp_forward(params, pixels, &pass);
	for (i = 1; i < DIGITS_CLASSES; i++)
		if (outputs[i] > outputs[best])
			best = i;
	return best;
}
