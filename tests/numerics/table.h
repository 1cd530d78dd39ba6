/* SPDX-License-Identifier: BSD-3-Clause */
/* table.h - the vectors of docs/numerics.md, read from its text. */
#ifndef TESTS_NUMERICS_TABLE_H
#define TESTS_NUMERICS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/quant.h"

#define TABLE_VECTORS 256
#define TABLE_GROUPS 4	    /* sets of ranks with elements of their own */
#define TABLE_RUNS 8	    /* elements of a set: so many different ones in a row */
#define TABLE_COUNTS 40	    /* tensors of a vector */
#define TABLE_ELEMENTS 4096 /* elements of a tensor */

enum table_type { TABLE_F32, TABLE_F16, TABLE_BF16, TABLE_I32 }; /* the first three as QUANT_* */
enum table_op { TABLE_SUM, TABLE_AVG, TABLE_MAX, TABLE_MIN };

struct table_group {
	uint32_t first, last; /* ranks */
	uint32_t nr;
	struct {
		uint32_t bits, times;
	} runs[TABLE_RUNS];
};

struct table_vector {
	char name[80], values[192], result[128];
	enum table_type type;
	enum table_op op;
	bool saturate;
	enum quant_wire wire;
	uint32_t world;
	uint32_t pre, post; /* bits of float32 */
	uint32_t nr_groups;
	struct table_group groups[TABLE_GROUPS];
	bool mixed; /* made by a formula, of several counts */
	uint32_t seed;
	uint32_t nr_counts;
	uint32_t counts[TABLE_COUNTS];
};

struct table {
	size_t nr;
	struct table_vector vectors[TABLE_VECTORS];
};

/* 0, or -1 after an error was printed. */
int table_read(struct table *table, const char *path);

size_t table_bytes(const struct table_vector *vector); /* of an element */
uint32_t table_element(const struct table_vector *vector, uint32_t rank, size_t i);

/* How results are spelled in the table. */
struct table_result {
	uint64_t hash;
	char text[160];
};
void table_result_init(struct table_result *result);
/* One tensor of the vector; nonfinite as the library counts them, origin its lowest rank. */
void table_result_add(struct table_result *result, const struct table_vector *vector,
		      const void *elements, size_t count);
void table_result_end(struct table_result *result, const struct table_vector *vector,
		      uint64_t nonfinite, int origin);

#endif
