// SPDX-License-Identifier: BSD-3-Clause
// Ranges in names, as in h[1-1024] and s[1-4]-p[1-16]: written out before anything is read.
// Every name that comes of a range has its place, for errors.
#include <stdlib.h>
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

enum { SETS_MAX = 4, PARTS_MAX = 16, DIGITS_MAX = 6, TEXT_MAX = 128, NAMES_MAX = 1 << 16 };

/* What is in brackets, such as 1-4,7, and the text before it. */
struct range_set {
	const char *before;
	int before_len;
	struct {
		unsigned int first, last;
		int width; /* digits, with zeros before them; 0: none */
	} part[PARTS_MAX];
	unsigned int nr_parts, nr_names;
};

/* The last set runs fastest. */
struct range {
	struct range_set set[SETS_MAX];
	unsigned int nr_sets;
	const char *after;
	unsigned int nr_names;
};

/* Returns what follows the number, NULL: none is there. */
static const char *number_parse(const char *s, unsigned int *v)
{
	size_t len = strspn(s, "0123456789");

	*v = (unsigned int)strtoul(s, NULL, 10);
	return len && len <= DIGITS_MAX ? s + len : NULL;
}

/* Returns what follows "4-7" or "4", NULL: neither. */
static const char *part_parse(struct range_set *set, const char *s)
{
	unsigned int first, last;
	const char *end = number_parse(s, &first);
	int width = s[0] == '0' && end && end - s > 1 ? (int)(end - s) : 0;

	if (!end || set->nr_parts == PARTS_MAX)
		return NULL;
	last = first;
	if (*end == '-')
		end = number_parse(end + 1, &last);
	if (!end || last < first)
		return NULL;
	set->part[set->nr_parts].first = first;
	set->part[set->nr_parts].last = last;
	set->part[set->nr_parts++].width = width;
	set->nr_names += last - first + 1;
	return end;
}

/* Returns what follows the bracket that closes. */
static const char *set_parse(struct range_set *set, const char *before, const char *open)
{
	const char *s = open;

	*set = (struct range_set){ .before = before, .before_len = (int)(open - before) };
	do
		s = part_parse(set, s + 1);
	while (s && *s == ',');
	return s && *s == ']' ? s + 1 : NULL;
}

/* 0, or -1: brackets with something else in them. */
static int range_parse(struct range *range, const char *s)
{
	const char *open;

	range->nr_sets = 0;
	range->nr_names = 1;
	if (strlen(s) > TEXT_MAX / 2)
		return -1;
	while ((open = strchr(s, '['))) {
		struct range_set *set = &range->set[range->nr_sets];

		if (range->nr_sets++ == SETS_MAX)
			return -1;
		s = set_parse(set, s, open);
		if (!s)
			return -1;
		range->nr_names = range->nr_names > NAMES_MAX || set->nr_names > NAMES_MAX
					  ? NAMES_MAX + 1
					  : range->nr_names * set->nr_names;
	}
	range->after = s;
	return 0;
}

static size_t number_print(const struct range_set *set, unsigned int i, char *to, size_t size)
{
	unsigned int k = 0, nr;

	for (; i >= (nr = set->part[k].last - set->part[k].first + 1); k++)
		i -= nr;
	return (size_t)snprintf(to, size, "%.*s%0*u", set->before_len, set->before,
				set->part[k].width, set->part[k].first + i);
}

static void name_print(const struct range *range, unsigned int i, char to[TEXT_MAX])
{
	unsigned int divisor = range->nr_names;
	size_t len = 0;

	for (unsigned int k = 0; k < range->nr_sets; k++) {
		divisor /= range->set[k].nr_names;
		len += number_print(&range->set[k], i / divisor, to + len, TEXT_MAX - len);
		i %= divisor;
	}
	snprintf(to + len, TEXT_MAX - len, "%s", range->after);
}

static bool has_range(struct reader *r, int id)
{
	const char *s = reader_text(reader_node(r, id));

	return s && strchr(s, '[');
}

/* One without brackets stands for itself. */
static int range_read(struct reader *r, int id, struct range *range)
{
	if (range_parse(range, reader_text(reader_node(r, id)))) {
		reader_expected(r, reader_node(r, id),
				"a range of numbers such as h[1-16], h[01-16,20] or "
				"s[1-4]-p[1-8]");
		return -1;
	}
	r->nr_names += range->nr_names;
	if (r->nr_names > NAMES_MAX) {
		reader_error_node(r, reader_node(r, id),
				  "expected at most %d names from all ranges, not more", NAMES_MAX);
		return -1;
	}
	return 0;
}

/* The i-th name of a range as a node; 0 after an error. */
static int name_add(struct reader *r, const struct range *range, unsigned int i, int place_of)
{
	char name[TEXT_MAX];

	name_print(range, i, name);
	return reader_add_scalar(r, name, place_of);
}

// What is wrong is left out, and looked at no further: these return false only without memory.
// A range's own text must not be used while nodes are added: it stays, but its node may move.
static bool names_append(struct reader *r, int list, int item)
{
	struct range range;

	if (!has_range(r, item))
		return reader_append_item(r, list, item);
	if (range_read(r, item, &range))
		return true;
	for (unsigned int i = 0; i < range.nr_names; i++)
		if (!reader_append_item(r, list, name_add(r, &range, i, item)))
			return false;
	return true;
}

static bool keys_append(struct reader *r, int map, yaml_node_pair_t p)
{
	struct range range;

	if (!has_range(r, p.key))
		return reader_append_pair(r, map, p.key, p.value);
	if (range_read(r, p.key, &range))
		return true;
	for (unsigned int i = 0; i < range.nr_names; i++)
		if (!reader_append_pair(r, map, name_add(r, &range, i, p.key), p.value))
			return false;
	return true;
}

static int list_item(struct reader *r, int list, unsigned int i)
{
	return reader_node(r, list)->data.sequence.items.start[i];
}

static bool link_append(struct reader *r, int list, int link)
{
	unsigned int nr = reader_node(r, link)->type == YAML_SEQUENCE_NODE
				  ? reader_list_length(reader_node(r, link))
				  : 0;
	struct range end[2];
	int to;

	if (nr < 2 ||
	    (!has_range(r, list_item(r, link, 0)) && !has_range(r, list_item(r, link, 1))))
		return reader_append_item(r, list, link);
	for (unsigned int k = 0; k < 2; k++)
		if (!reader_text(reader_node(r, list_item(r, link, k))))
			return reader_append_item(r, list, link);
		else if (range_read(r, list_item(r, link, k), &end[k]))
			return true;
	if (end[0].nr_names != end[1].nr_names) {
		reader_error_node(r, reader_node(r, link),
				  "expected as many ends on both sides, not %u and %u",
				  end[0].nr_names, end[1].nr_names);
		return true;
	}
	for (unsigned int i = 0; i < end[0].nr_names; i++) {
		to = reader_add_list(r, link);
		for (unsigned int k = 0; k < nr && to; k++) {
			int item = list_item(r, link, k);

			if (!reader_append_item(r, to,
						k < 2 ? name_add(r, &end[k], i, item) : item))
				return false;
		}
		if (!reader_append_item(r, list, to))
			return false;
	}
	return true;
}

static bool list_has_range(struct reader *r, int list, bool links)
{
	bool found = links; // they are looked at one by one

	for (unsigned int i = 0; i < reader_list_length(reader_node(r, list)) && !found; i++)
		found = has_range(r, list_item(r, list, i));
	return found;
}

/* The same list, with names for ranges. */
static int list_expand(struct reader *r, int list, bool links)
{
	int to = list_has_range(r, list, links) ? reader_add_list(r, list) : 0;

	for (unsigned int i = 0; i < reader_list_length(reader_node(r, list)) && to; i++)
		if (!(links ? link_append : names_append)(r, to, list_item(r, list, i)))
			return list;
	return to ? to : list;
}

static int mapping_expand(struct reader *r, int map)
{
	int to = reader_add_mapping(r, map);

	for (unsigned int i = 0; i < reader_mapping_length(reader_node(r, map)) && to; i++)
		if (!keys_append(r, to, reader_node(r, map)->data.mapping.pairs.start[i]))
			return map;
	return to ? to : map;
}

static void pair_expand(struct reader *r, int map, unsigned int i, bool links)
{
	int value = reader_node(r, map)->data.mapping.pairs.start[i].value;
	yaml_node_type_t type = reader_node(r, value)->type;

	if (type == YAML_SEQUENCE_NODE)
		value = list_expand(r, value, links);
	else if (type == YAML_MAPPING_NODE && !links)
		value = mapping_expand(r, value);
	reader_node(r, map)->data.mapping.pairs.start[i].value = value;
}

static const char *key_text(struct reader *r, int map, unsigned int i)
{
	const char *s =
		reader_text(reader_node(r, reader_node(r, map)->data.mapping.pairs.start[i].key));

	return s ? s : "";
}

static void ranks_expand(struct reader *r, int jobs)
{
	const yaml_node_t *n = reader_node(r, jobs);

	if (n->type != YAML_SEQUENCE_NODE)
		return;
	for (unsigned int i = 0; i < reader_list_length(reader_node(r, jobs)) && !reader_is_full(r);
	     i++) {
		int job = list_item(r, jobs, i);

		if (reader_node(r, job)->type != YAML_MAPPING_NODE)
			continue;
		for (unsigned int k = 0; k < reader_mapping_length(reader_node(r, job)); k++)
			if (strcmp(key_text(r, job, k), "ranks") == 0)
				pair_expand(r, job, k, false);
	}
}

void reader_expand(struct reader *r, int top)
{
	for (unsigned int i = 0; i < reader_mapping_length(reader_node(r, top)); i++) {
		const char *key = key_text(r, top, i);

		if (strcmp(key, "hosts") == 0 || strcmp(key, "switches") == 0)
			pair_expand(r, top, i, false);
		else if (strcmp(key, "links") == 0)
			pair_expand(r, top, i, true);
		else if (strcmp(key, "jobs") == 0)
			ranks_expand(r, reader_node(r, top)->data.mapping.pairs.start[i].value);
	}
}
