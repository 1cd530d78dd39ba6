/* SPDX-License-Identifier: BSD-3-Clause */
/* merged.h - the states an explorer has reached, those merged that differ only in what was sent. */
#ifndef TESTS_EXPLORE_MERGED_H
#define TESTS_EXPLORE_MERGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A state is a key, which says what the machines are, and behind it bits of what is in the network.
 * For each key one state is kept, with all bits that any way to it has had: more than can happen at
 * once, so what does not go wrong from there goes wrong from none of them.
 */
struct merged {
	uint64_t *states; /* nr of size bytes each */
	uint64_t *tried;  /* of each: the bits that it had when it was expanded last */
	uint32_t *first;  /* of each: index + 1 of an edge, 0: none */
	uint32_t *table;  /* index + 1 of a state, 0: free */
	uint32_t *queue;  /* states with bits not tried, a ring of room */
	uint8_t *queued;
	struct merged_edge *edges;
	size_t size, key; /* bytes; multiples of 8 */
	size_t nr, room, table_size, head, nr_queued;
	size_t nr_edges, edges_room;
};

/* What follows a state: whatever bits it gets later are in the network there, too. */
struct merged_edge {
	uint32_t to;
	uint32_t next; /* index + 1 of another, 0: none */
};

/* Padding of states must be zero.  Ends the program if there is no memory. */
void merged_init(struct merged *set, size_t size, size_t key);
void merged_fini(struct merged *set);
/*
 * Puts the state there, or its bits into the one with its key, of which is_new tells; its index.
 */
size_t merged_add(struct merged *set, const void *state, bool *is_new);
/* State `to` follows state `from`. */
void merged_follow(struct merged *set, size_t from, size_t to);
/* The i-th state has these bits, too, and all that it has are tried. */
void merged_tried(struct merged *set, size_t i, const void *state);
/* One with bits that were not tried: its index, copies of it and of what was tried; SIZE_MAX: none. */
size_t merged_next(struct merged *set, void *state, void *tried);
/* A copy of the i-th. */
void merged_get(const struct merged *set, size_t i, void *state);

#endif
