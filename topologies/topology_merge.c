// SPDX-License-Identifier: BSD-3-Clause
// Merges what is included, or a default, with what is written above it.
//
// Mappings are merged by key, and mappings in them likewise, in new nodes: the old ones may be
// shared by aliases.
#include <stdlib.h>
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

/* A value of a workload's stragglers in the defaults is five levels below the top. */
enum { LEVELS_MAX = 5, KEYS_MAX = 2 * TOPOLOGY_NODES_MAX, MERGED_MAX = 1 << 18 };

/* Two values that are to be one, and where that goes: a pair of a mapping, or 0: the result. */
struct merge_work {
	int below, above, map;
	unsigned int pair, level;
};

struct merge {
	struct reader *reader;
	enum reader_lists lists;
	struct merge_work *work;
	size_t nr_work, room;
};

static bool keys_match(struct reader *r, int a, int b)
{
	const char *s = reader_text(reader_node(r, a)), *t = reader_text(reader_node(r, b));

	return s && t && strcmp(s, t) == 0;
}

static unsigned int pairs_count(struct reader *r, int map)
{
	return reader_mapping_length(reader_node(r, map));
}

static yaml_node_pair_t pair_get(struct reader *r, int map, unsigned int i)
{
	return reader_node(r, map)->data.mapping.pairs.start[i];
}

/* The pair of `map` with this key, -1: none. */
static int pair_find(struct reader *r, int map, unsigned int nr, int key)
{
	for (unsigned int i = 0; i < nr; i++)
		if (keys_match(r, pair_get(r, map, i).key, key))
			return (int)i;
	return -1;
}

static int work_add(struct merge *m, struct merge_work w)
{
	size_t room = m->room ? 2 * m->room : 16;
	struct merge_work *work;

	if (m->nr_work == m->room) {
		work = realloc(m->work, room * sizeof(*work));
		if (!work)
			return -1;
		m->work = work;
		m->room = room;
	}
	m->work[m->nr_work++] = w;
	return 0;
}

// Aliases can make a small file very large.
static bool mapping_is_small(struct reader *r, int map)
{
	unsigned int nr = pairs_count(r, map);

	r->nr_merged += nr;
	if (nr <= KEYS_MAX && r->nr_merged <= MERGED_MAX)
		return true;
	reader_error_node(r, reader_node(r, map), "expected at most %d keys to be merged, not more",
			  nr > KEYS_MAX ? KEYS_MAX : MERGED_MAX);
	return false;
}

// A key that the upper one has twice stays there twice: that is an error to be found.
static int mappings_merge(struct merge *m, const struct merge_work *w)
{
	struct reader *r = m->reader;
	bool small = mapping_is_small(r, w->below) && mapping_is_small(r, w->above);
	int to = small ? reader_add_mapping(r, w->above) : 0, at;
	unsigned int nr = pairs_count(r, w->below);
	yaml_node_pair_t p;

	for (unsigned int i = 0; i < nr && to; i++) {
		p = pair_get(r, w->below, i);
		if (!reader_append_pair(r, to, p.key, p.value))
			return 0;
	}
	for (unsigned int i = 0; i < pairs_count(r, w->above) && to; i++) {
		p = pair_get(r, w->above, i);
		at = pair_find(r, w->above, i, p.key) < 0 ? pair_find(r, to, nr, p.key) : -1;
		if (at < 0) {
			if (!reader_append_pair(r, to, p.key, p.value))
				return 0;
			continue;
		}
		if (work_add(m, (struct merge_work){ pair_get(r, to, (unsigned int)at).value,
						     p.value, to, (unsigned int)at, w->level + 1 }))
			return 0;
		reader_node(r, to)->data.mapping.pairs.start[at] = p;
	}
	return to;
}

static int lists_join(struct reader *r, int below, int above)
{
	const int from[] = { below, above };
	int to = reader_add_list(r, above);

	for (int k = 0; k < 2; k++)
		for (unsigned int i = 0; i < reader_list_length(reader_node(r, from[k])) && to; i++)
			if (!reader_append_item(
				    r, to, reader_node(r, from[k])->data.sequence.items.start[i]))
				return 0;
	return to;
}

// A list of names says as much as a mapping from them to nothing.
static int list_to_mapping(struct reader *r, int list)
{
	int to = reader_add_mapping(r, list), item;

	for (unsigned int i = 0; i < reader_list_length(reader_node(r, list)) && to; i++) {
		item = reader_node(r, list)->data.sequence.items.start[i];
		if (!reader_append_pair(r, to, item, reader_add_scalar(r, "", item)))
			return 0;
	}
	return to;
}

static int values_merge(struct merge *m, struct merge_work *w)
{
	struct reader *r = m->reader;
	yaml_node_type_t below = reader_node(r, w->below)->type,
			 above = reader_node(r, w->above)->type;

	if (reader_is_empty(reader_node(r, w->above)))
		return w->below;
	if (w->level > LEVELS_MAX)
		return w->above;
	if (below == YAML_SEQUENCE_NODE && above == YAML_SEQUENCE_NODE)
		return m->lists == READER_APPEND ? lists_join(r, w->below, w->above) : w->above;
	if (w->level == 1 && below == YAML_SEQUENCE_NODE && above == YAML_MAPPING_NODE)
		w->below = list_to_mapping(r, w->below);
	else if (w->level == 1 && below == YAML_MAPPING_NODE && above == YAML_SEQUENCE_NODE)
		w->above = list_to_mapping(r, w->above);
	else if (below != YAML_MAPPING_NODE || above != YAML_MAPPING_NODE)
		return w->above;
	return w->below && w->above ? mappings_merge(m, w) : 0;
}

static int work_do(struct merge *m)
{
	int result = 0, id;

	while (m->nr_work) {
		struct merge_work w = m->work[--m->nr_work];

		id = values_merge(m, &w);
		if (!id)
			return 0;
		if (w.map)
			reader_node(m->reader, w.map)->data.mapping.pairs.start[w.pair].value = id;
		else
			result = id;
	}
	return result;
}

int reader_merge(struct reader *r, int below, int above, enum reader_lists lists)
{
	struct merge m = { .reader = r, .lists = lists };
	struct merge_work w = { below, above, 0, 0, lists == READER_REPLACE ? 2 : 0 };
	int result = work_add(&m, w) ? 0 : work_do(&m);

	free(m.work);
	if (!result && r->nr_errors == 0)
		reader_error_node(r, reader_node(r, above), "not enough memory");
	return result;
}
