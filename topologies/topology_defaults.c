// SPDX-License-Identifier: BSD-3-Clause
// What `defaults` says, filled in wherever it is not given.
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

static const struct reader_key defaults_keys[] = {
	{ "hosts", reader_check_host_defaults, 0, false },
	{ "switches", reader_check_switch_defaults, 0, false },
	{ "links", reader_check_link_defaults, 0, false },
	{ "jobs", reader_check_job_defaults, 0, false },
	{ NULL, NULL, 0, false },
};

static yaml_node_pair_t *pair_at(struct reader *r, int map, unsigned int i)
{
	return &reader_node(r, map)->data.mapping.pairs.start[i];
}

/* Names in a list have nothing of their own. */
static int names_to_mapping(struct reader *r, int list)
{
	int to = reader_add_mapping(r, list);

	for (unsigned int i = 0; i < reader_list_length(reader_node(r, list)); i++) {
		int item = reader_node(r, list)->data.sequence.items.start[i];

		if (!to || !reader_append_pair(r, to, item, reader_add_scalar(r, "", item)))
			return list;
	}
	return to;
}

/* Hosts or switches; the new value. */
static int nodes_fill(struct reader *r, int nodes, int defaults)
{
	int to;

	if (reader_node(r, nodes)->type == YAML_SEQUENCE_NODE)
		nodes = names_to_mapping(r, nodes);
	if (reader_node(r, nodes)->type != YAML_MAPPING_NODE)
		return nodes;
	to = reader_add_mapping(r, nodes);
	for (unsigned int i = 0; to && i < reader_mapping_length(reader_node(r, nodes)); i++) {
		yaml_node_pair_t p = *pair_at(r, nodes, i);
		int own = reader_merge(r, defaults, p.value, READER_REPLACE);

		if (!reader_append_pair(r, to, p.key, own))
			return nodes;
	}
	return to ? to : nodes;
}

/* The third and fourth item of the P4 form as a mapping, 0 after an error. */
static int link_mapping(struct reader *r, int link, unsigned int nr)
{
	static const char *const keys[] = { "delay", "rate" };
	int to = reader_add_mapping(r, link);

	for (unsigned int i = 2; i < nr && to; i++) {
		int item = reader_node(r, link)->data.sequence.items.start[i];

		if (!reader_append_pair(r, to, reader_add_scalar(r, keys[i - 2], item), item))
			return 0;
	}
	return to;
}

/* What is no link stays as it is, and is an error later. */
static int link_fill(struct reader *r, int link, int defaults)
{
	const yaml_node_t *n = reader_node(r, link);
	unsigned int nr = n->type == YAML_SEQUENCE_NODE ? reader_list_length(n) : 0;
	int own, to, ends[2];

	if (nr < 2 || nr > 4)
		return link;
	ends[0] = n->data.sequence.items.start[0];
	ends[1] = n->data.sequence.items.start[1];
	own = nr == 3 ? n->data.sequence.items.start[2] : 0;
	if (nr != 3 || reader_node(r, own)->type != YAML_MAPPING_NODE)
		own = link_mapping(r, link, nr);
	own = own ? reader_merge(r, defaults, own, READER_REPLACE) : 0;
	to = reader_add_list(r, link);
	if (!to || !reader_append_item(r, to, ends[0]) || !reader_append_item(r, to, ends[1]) ||
	    !reader_append_item(r, to, own))
		return link;
	return to;
}

/* A copy without some keys, whose names end with NULL. */
static int mapping_without(struct reader *r, int map, const char *const *drop)
{
	int to = reader_add_mapping(r, map);

	for (unsigned int i = 0; to && i < reader_mapping_length(reader_node(r, map)); i++) {
		yaml_node_pair_t p = *pair_at(r, map, i);
		const char *key = reader_text(reader_node(r, p.key));
		bool dropped = false;

		for (unsigned int k = 0; key && drop[k]; k++)
			dropped = dropped || strcmp(key, drop[k]) == 0;
		if (!dropped && !reader_append_pair(r, to, p.key, p.value))
			return 0;
	}
	return to;
}

/* What a workload says of sizes is nothing to one with a list, and the other way round. */
static int workload_defaults_for(struct reader *r, int defaults, int workload)
{
	static const char *const sizes[] = { "sizes", NULL };
	static const char *const list[] = { "file", "compute", "stragglers", NULL };

	if (reader_node(r, defaults)->type != YAML_MAPPING_NODE)
		return defaults;
	if (reader_value(r, workload, "file"))
		return mapping_without(r, defaults, sizes);
	return reader_value(r, workload, "sizes") ? mapping_without(r, defaults, list) : defaults;
}

// A job that says itself what it runs is not to run another thing by default.
static int job_defaults_for(struct reader *r, int defaults, int job)
{
	static const char *const none[] = { NULL }, *const run[] = { "run", NULL };
	static const char *const workload[] = { "workload", NULL };
	const int own = reader_value(r, job, "workload");
	int to, value;

	if (reader_value(r, job, "run"))
		return mapping_without(r, defaults, workload);
	if (!own)
		return mapping_without(r, defaults, none);
	to = mapping_without(r, defaults, run);
	for (unsigned int i = 0; to && i < reader_mapping_length(reader_node(r, to)); i++) {
		const char *key = reader_text(reader_node(r, pair_at(r, to, i)->key));

		if (!key || strcmp(key, "workload") != 0)
			continue;
		value = workload_defaults_for(r, pair_at(r, to, i)->value, own);
		if (!value)
			return 0;
		pair_at(r, to, i)->value = value;
	}
	return to;
}

static int job_fill(struct reader *r, int job, int defaults)
{
	int below, to;

	if (reader_node(r, job)->type != YAML_MAPPING_NODE)
		return job;
	below = job_defaults_for(r, defaults, job);
	to = below ? reader_merge(r, below, job, READER_REPLACE) : 0;
	return to ? to : job;
}

static int list_fill(struct reader *r, int list, int defaults,
		     int (*fill)(struct reader *r, int item, int defaults))
{
	int to;

	if (reader_node(r, list)->type != YAML_SEQUENCE_NODE)
		return list;
	to = reader_add_list(r, list);
	for (unsigned int i = 0; to && i < reader_list_length(reader_node(r, list)); i++) {
		int item = reader_node(r, list)->data.sequence.items.start[i];

		if (!reader_append_item(r, to, fill(r, item, defaults)))
			return list;
	}
	return to ? to : list;
}

static void section_fill(struct reader *r, int top, unsigned int i, int defaults)
{
	const char *key = reader_text(reader_node(r, pair_at(r, top, i)->key));
	int value = pair_at(r, top, i)->value, of = key ? reader_value(r, defaults, key) : 0;

	if (!of || reader_is_empty(reader_node(r, of)))
		return;
	if (strcmp(key, "links") == 0)
		value = list_fill(r, value, of, link_fill);
	else if (strcmp(key, "jobs") == 0)
		value = list_fill(r, value, of, job_fill);
	else
		value = nodes_fill(r, value, of);
	pair_at(r, top, i)->value = value;
}

void reader_apply_defaults(struct reader *r, int top)
{
	int defaults = reader_value(r, top, "defaults");

	if (!defaults)
		return;
	// Once, so that what is wrong is not said of each that gets it.
	r->defaults = true;
	reader_read_mapping(r, reader_node(r, defaults), defaults_keys, r->topology,
			    "defaults such as {links: {delay: 5us}}");
	r->defaults = false;
	for (unsigned int i = 0;
	     r->nr_errors == 0 && i < reader_mapping_length(reader_node(r, top)); i++)
		section_fill(r, top, i, defaults);
}
