// SPDX-License-Identifier: BSD-3-Clause
// An array of states, a hash table over their keys, and a queue of those to be expanded.
#include "tests/explore/merged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *merged_memory(void *old, size_t bytes)
{
	void *mem = realloc(old, bytes);

	if (!mem) {
		fprintf(stderr, "explore: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return mem;
}

static uint64_t *merged_at(const struct merged *set, size_t i)
{
	return set->states + i * (set->size / sizeof(*set->states));
}

static uint64_t *merged_tried_at(const struct merged *set, size_t i)
{
	return set->tried + i * ((set->size - set->key) / sizeof(*set->tried));
}

/* Where the state with this key is, or where it would go. */
static uint32_t *merged_place(const struct merged *set, const void *state)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325), word;

	for (size_t i = 0; i < set->key; i += sizeof(word)) {
		memcpy(&word, (const uint8_t *)state + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	for (;; hash++) {
		uint32_t *place = &set->table[hash & (set->table_size - 1)];

		if (!*place || memcmp(merged_at(set, *place - 1), state, set->key) == 0)
			return place;
	}
}

static void merged_grow(struct merged *set, size_t room)
{
	uint32_t *queue = merged_memory(NULL, room * sizeof(*queue));

	for (size_t i = 0; i < set->nr_queued; i++)
		queue[i] = set->queue[(set->head + i) % set->room];
	free(set->queue);
	set->queue = queue;
	set->head = 0;
	set->room = room;
	set->table_size = 2 * room;
	set->states = merged_memory(set->states, room * set->size);
	set->tried = merged_memory(set->tried, room * (set->size - set->key));
	set->queued = merged_memory(set->queued, room);
	set->first = merged_memory(set->first, room * sizeof(*set->first));
	free(set->table);
	set->table = merged_memory(NULL, set->table_size * sizeof(*set->table));
	memset(set->table, 0, set->table_size * sizeof(*set->table));
	for (size_t i = 0; i < set->nr; i++)
		*merged_place(set, merged_at(set, i)) = (uint32_t)(i + 1);
}

void merged_init(struct merged *set, size_t size, size_t key)
{
	*set = (struct merged){ .size = size, .key = key };
	merged_grow(set, 1024);
}

void merged_fini(struct merged *set)
{
	free(set->states);
	free(set->tried);
	free(set->table);
	free(set->queue);
	free(set->queued);
	free(set->first);
	free(set->edges);
}

static void merged_queue(struct merged *set, size_t i)
{
	if (set->queued[i])
		return;
	set->queued[i] = 1;
	set->queue[(set->head + set->nr_queued++) % set->room] = (uint32_t)i;
}

/* Whether any of the bits is new. */
static bool merged_bits(struct merged *set, size_t i, const void *state)
{
	uint64_t *to = merged_at(set, i), more = 0, word;

	for (size_t k = set->key; k < set->size; k += sizeof(word)) {
		memcpy(&word, (const uint8_t *)state + k, sizeof(word));
		more |= word & ~to[k / sizeof(word)];
		to[k / sizeof(word)] |= word;
	}
	return more != 0;
}

size_t merged_add(struct merged *set, const void *state, bool *is_new)
{
	uint32_t *place = merged_place(set, state);

	*is_new = !*place;
	if (*place) {
		if (merged_bits(set, *place - 1, state))
			merged_queue(set, *place - 1);
		return *place - 1;
	}
	if (set->nr == set->room) {
		merged_grow(set, 2 * set->room);
		place = merged_place(set, state);
	}
	memcpy(merged_at(set, set->nr), state, set->size);
	memset(merged_tried_at(set, set->nr), 0, set->size - set->key);
	set->first[set->nr] = 0;
	set->queued[set->nr] = 0;
	merged_queue(set, set->nr);
	*place = (uint32_t)++set->nr;
	return set->nr - 1;
}

void merged_follow(struct merged *set, size_t from, size_t to)
{
	for (uint32_t at = set->first[from]; at; at = set->edges[at - 1].next) {
		if (set->edges[at - 1].to == to)
			return;
	}
	if (set->nr_edges == set->edges_room) {
		set->edges_room = set->edges_room ? 2 * set->edges_room : 4096;
		set->edges = merged_memory(set->edges, set->edges_room * sizeof(*set->edges));
	}
	set->edges[set->nr_edges] = (struct merged_edge){ (uint32_t)to, set->first[from] };
	set->first[from] = (uint32_t)++set->nr_edges;
}

void merged_tried(struct merged *set, size_t i, const void *state)
{
	merged_bits(set, i, state);
	memcpy(merged_tried_at(set, i), (const uint8_t *)state + set->key, set->size - set->key);
}

size_t merged_next(struct merged *set, void *state, void *tried)
{
	size_t i;

	if (set->nr_queued == 0)
		return SIZE_MAX;
	i = set->queue[set->head];
	set->head = (set->head + 1) % set->room;
	set->nr_queued--;
	set->queued[i] = 0;
	memcpy(state, merged_at(set, i), set->size);
	memcpy(tried, state, set->key);
	memcpy((uint8_t *)tried + set->key, merged_tried_at(set, i), set->size - set->key);
	return i;
}

void merged_get(const struct merged *set, size_t i, void *state)
{
	memcpy(state, merged_at(set, i), set->size);
}
