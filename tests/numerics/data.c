// SPDX-License-Identifier: BSD-3-Clause
// data.c - gradients of many ranks, made up, learned, or read from a file.
#include "tests/numerics/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/examples/digits.h"
#include "host/examples/mlp.h"
#include "tests/bits.h"

#define DATA_COUNT ((size_t)1 << 18)
#define DATA_LAYER 4096 /* elements with one sigma */
#define DATA_TAU 6.283185307179586
#define DIGITS_FILE "host/examples/data/digits.csv"
#define DIGITS_SHARE 16	 /* samples in a rank's gradient */
#define DIGITS_BATCH 128 /* this and what follows: the example's defaults */
#define DIGITS_RATE 0.06f
#define DIGITS_MOMENTUM 0.9f

static uint64_t random_state;

static uint64_t random_bits(void)
{
	return random_next(&random_state);
}

/* In (0, 1]. */
static double uniform(void)
{
	return (double)((random_bits() >> 11) + 1) * 0x1p-53;
}

static double gauss(void)
{
	return sqrt(-2 * log(uniform())) * cos(DATA_TAU * uniform());
}

static int data_new(struct data *data, const char *name, size_t count)
{
	snprintf(data->name, sizeof(data->name), "%s", name);
	data->count = count;
	data->ranks = DATA_RANKS;
	data->values = malloc(count * DATA_RANKS * sizeof(float));
	if (!data->values)
		fprintf(stderr, "%s: no memory\n", name);
	return data->values ? 0 : -1;
}

void data_free(struct data *data)
{
	free(data->values);
	data->values = NULL;
}

/* --- Made up -------------------------------------------------------------------------------------- */

static double draw_gaussian(size_t i)
{
	(void)i;
	return 1e-3 * gauss();
}

/* Layers whose sigma is between 1e-6 and 1e-1, with a heavy tail. */
static double draw_layered(size_t i)
{
	uint64_t state = random_state;
	double sigma;

	random_state = i / DATA_LAYER * 977;
	sigma = pow(10, -1 - 5 * uniform());
	random_state = state;
	return sigma * gauss() * exp(0.8 * gauss());
}

/* One of a hundred elements counts, elsewhere for each rank. */
static double draw_sparse(size_t i)
{
	(void)i;
	return gauss() * (uniform() > 0.01 ? 1e-7 : 1e-3);
}

static int data_draw(struct data *data, const char *name, double (*draw)(size_t i))
{
	if (data_new(data, name, DATA_COUNT) < 0)
		return -1;
	random_state = 42;
	for (uint32_t r = 0; r < DATA_RANKS; r++)
		for (size_t i = 0; i < DATA_COUNT; i++)
			data->values[r * DATA_COUNT + i] = (float)draw(i);
	return 0;
}

/* --- Learned: the example's network on its digits --------------------------------------------------- */

struct learner {
	struct digits digits;
	uint32_t order[DIGITS_TRAIN];
	uint32_t steps;
	float params[MLP_PARAMS], velocity[MLP_PARAMS], grads[MLP_PARAMS];
};

static void learn_batch(struct learner *learner, const uint32_t *samples, uint32_t nr, float *grads)
{
	memset(grads, 0, MLP_PARAMS * sizeof(*grads));
	for (uint32_t s = 0; s < nr; s++)
		(void)mlp_learn(learner->params, learner->digits.pixels[samples[s]],
				learner->digits.labels[samples[s]], 1.0f / (float)nr, grads);
}

static void learn_step(struct learner *learner)
{
	const uint32_t batches = DIGITS_TRAIN / DIGITS_BATCH, batch = learner->steps % batches;

	if (batch == 0)
		digits_shuffle(learner->order, DIGITS_TRAIN, 1 + learner->steps / batches);
	learn_batch(learner, learner->order + batch * DIGITS_BATCH, DIGITS_BATCH, learner->grads);
	for (size_t i = 0; i < MLP_PARAMS; i++) {
		learner->velocity[i] = DIGITS_MOMENTUM * learner->velocity[i] + learner->grads[i];
		learner->params[i] -= DIGITS_RATE * learner->velocity[i];
	}
	learner->steps++;
}

/* Each rank has samples of its own; together about as many as there are. */
static int data_learn(struct data *data, uint32_t steps)
{
	static struct learner learner;
	uint32_t order[DIGITS_TRAIN];
	char name[32];

	if (learner.steps == 0) {
		if (digits_load(&learner.digits, DIGITS_FILE) < 0)
			return -1;
		mlp_init(learner.params, 1);
	}
	while (learner.steps < steps)
		learn_step(&learner);
	snprintf(name, sizeof(name), "digits, step %u", (unsigned int)steps);
	if (data_new(data, name, MLP_PARAMS) < 0)
		return -1;
	digits_shuffle(order, DIGITS_TRAIN, 1000 + steps);
	for (uint32_t r = 0; r < DATA_RANKS; r++)
		learn_batch(&learner, order + r * DIGITS_SHARE, DIGITS_SHARE,
			    data->values + r * (size_t)MLP_PARAMS);
	return 0;
}

int data_make(struct data *data, unsigned index)
{
	switch (index) {
	case 0:
		return data_draw(data, "gaussian", draw_gaussian);
	case 1:
		return data_draw(data, "layered", draw_layered);
	case 2:
		return data_draw(data, "sparse", draw_sparse);
	case 3:
		return data_learn(data, 0);
	case 4:
		return data_learn(data, 24);
	case 5:
		return data_learn(data, 96);
	default:
		return -1;
	}
}

/* --- Read ----------------------------------------------------------------------------------------- */

/* What is between the last two dots. */
static int name_parse(struct data *data, const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	unsigned long ranks = 0;
	char *dot, *end = NULL;

	snprintf(data->name, sizeof(data->name), "%s", base);
	dot = strrchr(data->name, '.');
	if (dot && strcmp(dot, ".f32") == 0) {
		*dot = '\0';
		dot = strrchr(data->name, '.');
		ranks = dot ? strtoul(dot + 1, &end, 10) : 0;
	}
	if (ranks < 2 || ranks > 1024 || *end) {
		fprintf(stderr, "%s: want a name such as NAME.64.f32: float32 of 64 ranks\n", path);
		return -1;
	}
	*dot = '\0';
	data->ranks = (uint32_t)ranks;
	return 0;
}

int data_read(struct data *data, const char *path)
{
	FILE *file;
	long bytes;

	if (name_parse(data, path) < 0)
		return -1;
	file = fopen(path, "rbe");
	if (!file || fseek(file, 0, SEEK_END) || (bytes = ftell(file)) <= 0 ||
	    (size_t)bytes % (data->ranks * sizeof(float))) {
		fprintf(stderr, "%s: cannot be read, or is no multiple of %u float32\n", path,
			(unsigned int)data->ranks);
		if (file)
			fclose(file);
		return -1;
	}
	data->count = (size_t)bytes / (data->ranks * sizeof(float));
	data->values = malloc((size_t)bytes);
	rewind(file);
	if (!data->values || fread(data->values, 1, (size_t)bytes, file) != (size_t)bytes) {
		fprintf(stderr, "%s: no memory, or not all of it could be read\n", path);
		data_free(data);
	}
	fclose(file);
	return data->values ? 0 : -1;
}
