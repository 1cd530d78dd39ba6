/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digits.h - the handwritten digits: 8x8 pixels and a label each, split into training and test
 * samples.
 */
#ifndef HOST_EXAMPLES_DIGITS_H
#define HOST_EXAMPLES_DIGITS_H

#include <stdint.h>

#define DIGITS_PIXELS 64
#define DIGITS_CLASSES 10
#define DIGITS_TRAIN 1437
#define DIGITS_TEST 360
#define DIGITS_ALL (DIGITS_TRAIN + DIGITS_TEST)

/*
 * Samples 0 .. DIGITS_TRAIN - 1 are for training, the rest for the test; the split never changes.
 */
struct digits {
	float pixels[DIGITS_ALL][DIGITS_PIXELS]; /* 0..1 */
	uint8_t labels[DIGITS_ALL];
};

/*
 * NULL: the places where the build and the installation put the file.  0, or -1 after an error was
 * printed.
 */
int digits_load(struct digits *digits, const char *path);

/* order <- a permutation of 0 .. nr - 1 that depends on the seed only. */
void digits_shuffle(uint32_t *order, uint32_t nr, uint64_t seed);

#endif
