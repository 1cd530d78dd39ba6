/* SPDX-License-Identifier: BSD-3-Clause */
/* data.h - gradients of many ranks, made up, learned, or read from a file. */
#ifndef TESTS_NUMERICS_DATA_H
#define TESTS_NUMERICS_DATA_H

#include <stddef.h>
#include <stdint.h>

#define DATA_RANKS 64

struct data {
	char name[64];
	size_t count;	/* elements of a rank */
	uint32_t ranks; /* DATA_RANKS, or what the file has */
	float *values;	/* rank after rank */
};

/* The sets that need no file, one after the other: 0, or -1 after the last. */
int data_make(struct data *data, unsigned index);

/* NAME.RANKS.f32: raw float32 of rank after rank. 0, or -1 after an error was printed. */
int data_read(struct data *data, const char *path);

void data_free(struct data *data);

#endif
