/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz.h - what the fuzz targets share: reading decisions from bytes, and how a finding is told.
 *
 * Each fuzz_NAME.c is a libFuzzer target (MODE=fuzz); with any other compiler and mode replay.c
 * runs it over the files of tests/fuzz/corpus/NAME.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0: done, -1: the input is of no use. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(condition) fuzz_check_at(condition, #condition, __FILE__, __LINE__)
static inline void fuzz_check_at(bool condition, const char *text, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: not: %s\n", file, line, text);
	abort();
}

/* The input as a row of decisions; after its end all are 0. */
struct fuzz_bytes {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_bytes *bytes)
{
	if (!bytes->left)
		return 0;
	bytes->left--;
	return *bytes->at++;
}

static inline uint16_t fuzz_u16(struct fuzz_bytes *bytes)
{
	unsigned high = fuzz_u8(bytes);

	return (uint16_t)(high << 8 | fuzz_u8(bytes));
}

/* Up to max bytes as they are; how many there were. */
static inline size_t fuzz_take(struct fuzz_bytes *bytes, uint8_t *out, size_t max)
{
	size_t nr = 0;

	for (; nr < max && bytes->left; nr++)
		out[nr] = fuzz_u8(bytes);
	return nr;
}

/* Memory for a machine, zeroed. */
static inline void *fuzz_memory(size_t size)
{
	size_t room = (size + 63) / 64 * 64;
	void *mem = aligned_alloc(64, room);

	fuzz_check(mem != NULL);
	return memset(mem, 0, room);
}

/* So that reading a byte too many is seen by the address sanitiser. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	fuzz_check(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	return copy;
}

#endif
