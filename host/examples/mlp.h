/* SPDX-License-Identifier: BSD-3-Clause */
/* mlp.h - a multi-layer perceptron 64-1024-192-10 with ReLU and softmax, in plain float32. */
#ifndef HOST_EXAMPLES_MLP_H
#define HOST_EXAMPLES_MLP_H

#include <stdint.h>

#include "host/examples/digits.h"

#define MLP_LAYERS 3
#define MLP_HIDDEN_1 1024
#define MLP_HIDDEN_2 192
#define MLP_PARAMS_1 (DIGITS_PIXELS * MLP_HIDDEN_1 + MLP_HIDDEN_1)
#define MLP_PARAMS_2 (MLP_HIDDEN_1 * MLP_HIDDEN_2 + MLP_HIDDEN_2)
#define MLP_PARAMS_3 (MLP_HIDDEN_2 * DIGITS_CLASSES + DIGITS_CLASSES)
#define MLP_PARAMS (MLP_PARAMS_1 + MLP_PARAMS_2 + MLP_PARAMS_3)

/*
 * A layer's parameters: weights [nr_in][nr_out], then nr_out biases, first .. first + nr - 1 of the
 * model's.
 */
struct mlp_layer {
	uint32_t nr_in, nr_out;
	uint32_t first, nr;
};

extern const struct mlp_layer mlp_layers[MLP_LAYERS];

/*
 * All functions compute in one fixed order with IEEE float32 operations only, so that the same
 * input gives the same bits in every process: that is what makes the weights of all ranks
 * comparable by hash.
 */
void mlp_init(float params[MLP_PARAMS], uint64_t seed);
/* Adds scale x the gradient of the sample's loss to grads; returns the loss (cross entropy). */
float mlp_learn(const float params[MLP_PARAMS], const float *pixels, uint32_t label, float scale,
		float grads[MLP_PARAMS]);
uint32_t mlp_classify(const float params[MLP_PARAMS], const float *pixels);

#endif
