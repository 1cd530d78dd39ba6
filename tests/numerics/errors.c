// SPDX-License-Identifier: BSD-3-Clause
// Errors of sums of gradients, against double: through blocks of integers, through one scale, and in rings.
//
// usage: errors [NAME.RANKS.f32 ...]   the built-in sets, or those in the files
//
// Prints a line for each set, number of ranks and way: set, n, type, way, relative L2, and the largest error
// of an element relative to the largest sum of magnitudes in its block, and to its own.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/quant.h"
#include "tests/numerics/data.h"

#define ERRORS_ROOM 16 /* f16: sums of magnitudes reach at most 2^(this - 1) */

struct errors {
	const struct quant_ops *ops;
	const struct data *data;
	uint32_t n;
	enum quant_dtype dtype;
	size_t count;
	float *values;	 /* n ranks, as numbers of the format, in float32 */
	uint8_t *packed; /* one rank in the format itself */
	uint8_t *exp, *own, *wire;
	int64_t *sums;
	float *result; /* one way's */
	double *exact, *magnitude;
};

static const char *const type_names[] = { "f32", "f16", "bf16" };

static void *room(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory) {
		fprintf(stderr, "errors: no memory\n");
		exit(2);
	}
	return memory;
}

/* --- What is summed -------------------------------------------------------------------------------- */

/* Rounds to the format, in place. */
static void round_to(const struct errors *errors, enum quant_dtype dtype, float *values,
		     size_t count)
{
	const struct quant_float *floats = &errors->ops->floats[dtype];

	if (dtype == QUANT_F32)
		return;
	floats->narrow(errors->packed, values, count, 1.0f);
	floats->widen(values, errors->packed, count, 1.0f);
}

/* float16 gets data that just does not overflow, as loss scaling would have it. */
static float scale_of(const struct errors *errors, enum quant_dtype dtype)
{
	double largest = 0;

	if (dtype != QUANT_F16)
		return 1;
	for (size_t i = 0; i < errors->count; i++) {
		double sum = 0;

		for (uint32_t r = 0; r < errors->n; r++)
			sum += fabs((double)errors->data->values[r * errors->count + i]);
		largest = sum > largest ? sum : largest;
	}
	return largest > 0 ? (float)ldexp(1, ERRORS_ROOM - 2 - ilogb(largest)) : 1;
}

static void errors_exact(struct errors *errors)
{
	memset(errors->exact, 0, errors->count * sizeof(double));
	memset(errors->magnitude, 0, errors->count * sizeof(double));
	for (uint32_t r = 0; r < errors->n; r++)
		for (size_t i = 0; i < errors->count; i++) {
			double value = (double)errors->values[r * errors->count + i];

			errors->exact[i] += value;
			errors->magnitude[i] += fabs(value);
		}
}

/* The tensors of n ranks in a format; own: that is what users have, or else only the ring rounds to it. */
static void errors_fill(struct errors *errors, uint32_t n, enum quant_dtype dtype, int own)
{
	float scale;

	errors->n = n;
	errors->dtype = own ? dtype : QUANT_F32;
	scale = scale_of(errors, dtype);
	for (size_t i = 0; i < n * errors->count; i++)
		errors->values[i] = errors->data->values[i] * scale;
	for (uint32_t r = 0; r < n && own; r++)
		round_to(errors, dtype, errors->values + r * errors->count, errors->count);
	errors_exact(errors);
}

/* --- Ways to sum them ------------------------------------------------------------------------------- */

static int64_t wire_get(const uint8_t *wire, enum quant_wire width, size_t i)
{
	if (width == QUANT_WIRE_16)
		return (int16_t)(wire[2 * i] << 8 | wire[2 * i + 1]);
	wire += 4 * i;
	return (int32_t)((uint32_t)wire[0] << 24 | (uint32_t)wire[1] << 16 |
			 (uint32_t)wire[2] << 8 | wire[3]);
}

static void wire_put(uint8_t *wire, enum quant_wire width, size_t i, int64_t sum)
{
	int bytes = width == QUANT_WIRE_16 ? 2 : 4;

	for (int b = 0; b < bytes; b++)
		wire[(size_t)bytes * i + (size_t)b] =
			(uint8_t)((uint64_t)sum >> 8 * (bytes - 1 - b));
}

static const void *rank_packed(const struct errors *errors, uint32_t r)
{
	const float *values = errors->values + r * errors->count;

	if (errors->dtype == QUANT_F32)
		return values;
	errors->ops->floats[errors->dtype].narrow(errors->packed, values, errors->count, 1.0f);
	return errors->packed;
}

static void agree(struct errors *errors, int one_scale)
{
	const size_t blocks = (errors->count + QUANT_BLOCK - 1) / QUANT_BLOCK;
	uint8_t largest = 0;

	memset(errors->exp, 0, blocks);
	for (uint32_t r = 0; r < errors->n; r++) {
		errors->ops->floats[errors->dtype].scan(errors->own, rank_packed(errors, r),
							errors->count);
		for (size_t b = 0; b < blocks; b++) {
			if (errors->own[b] > errors->exp[b])
				errors->exp[b] = errors->own[b];
			largest = errors->exp[b] > largest ? errors->exp[b] : largest;
		}
	}
	if (one_scale)
		memset(errors->exp, largest, blocks);
}

static void sum_blocks(struct errors *errors, enum quant_wire width, int one_scale)
{
	const struct quant_float *floats = &errors->ops->floats[errors->dtype];
	struct quant_chunk chunk = { errors->exp, 0, errors->n, errors->count };

	agree(errors, one_scale);
	memset(errors->sums, 0, errors->count * sizeof(*errors->sums));
	for (uint32_t r = 0; r < errors->n; r++) {
		floats->quantize[width](errors->wire, rank_packed(errors, r), &chunk);
		for (size_t i = 0; i < errors->count; i++)
			errors->sums[i] += wire_get(errors->wire, width, i);
	}
	for (size_t i = 0; i < errors->count; i++)
		wire_put(errors->wire, width, i, errors->sums[i]);
	floats->dequantize[width](errors->packed, errors->wire, &chunk, 1);
	if (errors->dtype == QUANT_F32)
		memcpy(errors->result, errors->packed, errors->count * sizeof(float));
	else
		floats->widen(errors->result, errors->packed, errors->count, 1.0f);
}

/*
 * Chunk c of n starts at rank c + 1 and goes round; each rank adds its own and rounds. The sum of two
 * float16 or bfloat16 is the same rounded through float32.
 */
static void sum_ring(struct errors *errors, enum quant_dtype dtype)
{
	static float own[1 << 16];

	for (uint32_t c = 0; c < errors->n; c++) {
		size_t first = errors->count * c / errors->n;
		size_t end = errors->count * (c + 1) / errors->n, len;

		for (; first < end; first += len) {
			float *to = errors->result + first;

			len = end - first < 1 << 16 ? end - first : 1 << 16;
			for (uint32_t hop = 0; hop < errors->n; hop++) {
				uint32_t r = (c + 1 + hop) % errors->n;

				memcpy(own, errors->values + r * errors->count + first,
				       len * sizeof(float));
				round_to(errors, dtype, own, len);
				for (size_t i = 0; i < len; i++)
					to[i] = hop ? own[i] + to[i] : own[i];
				round_to(errors, dtype, to, len);
			}
		}
	}
}

/* --- What they are worth ---------------------------------------------------------------------------- */

static void errors_print(const struct errors *errors, const char *way)
{
	double norm = 0, square = 0, of_block = 0, of_own = 0, largest = 0, worst = 0;

	for (size_t i = 0; i < errors->count; i++) {
		double error = fabs((double)errors->result[i] - errors->exact[i]);

		if (i % QUANT_BLOCK == 0)
			largest = worst = 0;
		norm += errors->exact[i] * errors->exact[i];
		square += error * error;
		largest = fmax(largest, errors->magnitude[i]);
		worst = fmax(worst, error);
		if (errors->magnitude[i] > 0)
			of_own = fmax(of_own, error / errors->magnitude[i]);
		if (largest > 0 && (i % QUANT_BLOCK == QUANT_BLOCK - 1 || i + 1 == errors->count))
			of_block = fmax(of_block, worst / largest);
	}
	printf("%s\t%u\t%s\t%s\t%.3e\t%.3e\t%.3e\n", errors->data->name, (unsigned int)errors->n,
	       type_names[errors->dtype], way, norm > 0 ? sqrt(square / norm) : 0, of_block,
	       of_own);
}

static void errors_n(struct errors *errors, uint32_t n)
{
	errors_fill(errors, n, QUANT_F32, 1);
	sum_blocks(errors, QUANT_WIRE_32, 0);
	errors_print(errors, "int32");
	sum_blocks(errors, QUANT_WIRE_16, 0);
	errors_print(errors, "int16");
	sum_blocks(errors, QUANT_WIRE_32, 1);
	errors_print(errors, "one scale");
	sum_ring(errors, QUANT_F32);
	errors_print(errors, "f32 ring");
	sum_ring(errors, QUANT_BF16);
	errors_print(errors, "bf16 ring");
	errors_fill(errors, n, QUANT_F16, 0);
	sum_ring(errors, QUANT_F16);
	errors_print(errors, "f16 ring");
	for (int d = QUANT_F16; d <= QUANT_BF16; d++) {
		errors_fill(errors, n, (enum quant_dtype)d, 1);
		sum_blocks(errors, QUANT_WIRE_32, 0);
		errors_print(errors, "int32");
		sum_blocks(errors, QUANT_WIRE_16, 0);
		errors_print(errors, "int16");
		sum_ring(errors, (enum quant_dtype)d);
		errors_print(errors, d == QUANT_F16 ? "f16 ring" : "bf16 ring");
	}
}

static void errors_run(const struct data *data)
{
	const size_t count = data->count;
	struct errors errors = {
		.ops = quant_select(NULL),
		.data = data,
		.count = count,
		.values = room(count * data->ranks * sizeof(float)),
		.packed = room(count * sizeof(float)),
		.exp = room(count / QUANT_BLOCK + 1),
		.own = room(count / QUANT_BLOCK + 1),
		.wire = room(4 * count),
		.sums = room(count * sizeof(int64_t)),
		.result = room(count * sizeof(float)),
		.exact = room(count * sizeof(double)),
		.magnitude = room(count * sizeof(double)),
	};

	for (uint32_t n = 2; n <= data->ranks && n <= DATA_RANKS; n *= 2)
		errors_n(&errors, n);
	free(errors.values);
	free(errors.packed);
	free(errors.exp);
	free(errors.own);
	free(errors.wire);
	free(errors.sums);
	free(errors.result);
	free(errors.exact);
	free(errors.magnitude);
}

int main(int argc, char **argv)
{
	struct data data;

	if (argc == 1)
		for (unsigned i = 0; data_make(&data, i) == 0; i++) {
			errors_run(&data);
			data_free(&data);
		}
	for (int i = 1; i < argc; i++) {
		if (data_read(&data, argv[i]) < 0)
			return 2;
		errors_run(&data);
		data_free(&data);
	}
	return 0;
}
