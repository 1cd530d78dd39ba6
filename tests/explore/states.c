// SPDX-License-Identifier: BSD-3-Clause
// An array of states and a hash table over it.
#include "tests/explore/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *states_memory(void *old, size_t bytes)
{
	void *mem = realloc(old, bytes);

	if (!mem) {
		fprintf(stderr, "explore: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return mem;
}

void states_init(struct states *set, size_t size)
{
	*set = (struct states){ .size = size, .room = 1024, .table_size = 4096 };
	set->states = states_memory(NULL, set->room * size);
	set->table = states_memory(NULL, set->table_size * sizeof(*set->table));
	memset(set->table, 0, set->table_size * sizeof(*set->table));
}

void states_fini(struct states *set)
{
	free(set->states);
	free(set->table);
}

static uint64_t states_hash(const uint8_t *state, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ state[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

/* Where the state is, or where it would go. */
static uint32_t *states_place(const struct states *set, const void *state)
{
	uint64_t i = states_hash(state, set->size);

	for (;; i++) {
		uint32_t *place = &set->table[i & (set->table_size - 1)];

		if (!*place || memcmp(states_get(set, *place - 1), state, set->size) == 0)
			return place;
	}
}

static void states_grow(struct states *set)
{
	set->room *= 2;
	set->table_size *= 2;
	set->states = states_memory(set->states, set->room * set->size);
	set->table = states_memory(set->table, set->table_size * sizeof(*set->table));
	memset(set->table, 0, set->table_size * sizeof(*set->table));
	for (size_t i = 0; i < set->nr; i++)
		*states_place(set, states_get(set, i)) = (uint32_t)(i + 1);
}

void states_add(struct states *set, const void *state)
{
	uint32_t *place = states_place(set, state);

	if (*place)
		return;
	if (set->nr == set->room) {
		states_grow(set);
		place = states_place(set, state);
	}
	memcpy(set->states + set->nr * set->size, state, set->size);
	set->nr++;
	*place = (uint32_t)set->nr;
}

const void *states_get(const struct states *set, size_t i)
{
	return set->states + i * set->size;
}
