/* SPDX-License-Identifier: BSD-3-Clause */
/* states.h - the set of states an explorer has reached, in the order it reached them. */
#ifndef TESTS_EXPLORE_STATES_H
#define TESTS_EXPLORE_STATES_H

#include <stddef.h>
#include <stdint.h>

struct states {
	uint8_t *states; /* nr of size bytes each */
	uint32_t *table; /* index + 1, 0: free */
	size_t size, nr, room, table_size;
};

/*
 * States are compared as bytes, so padding must be zero.  Ends the program if there is no memory.
 */
void states_init(struct states *set, size_t size);
void states_fini(struct states *set);
/* Copies the state into the set unless it is there already. */
void states_add(struct states *set, const void *state);
/* The i-th state; valid until the next states_add(). */
const void *states_get(const struct states *set, size_t i);

#endif
