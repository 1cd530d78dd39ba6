// SPDX-License-Identifier: BSD-3-Clause
// The tree that the switches of a topology file form, and which ranks of a job are below each.
#include <string.h>

#include "proto/wire.h"
#include "topologies/topology.h"
#include "topologies/topology_reader.h"

enum { TREE_NAMES = 1024 };

/* A list of names for an error; what does not fit is left out. */
struct tree_names {
	char text[TREE_NAMES];
	size_t len;
};

static void names_add(struct tree_names *n, const char *name)
{
	int len = snprintf(n->text + n->len, sizeof(n->text) - n->len, "%s%s", n->len ? ", " : "",
			   name);

	if (len > 0 && (size_t)len < sizeof(n->text) - n->len)
		n->len += (size_t)len;
	else
		n->text[n->len] = 0;
}

static bool node_names(const struct topology *t, unsigned int i, unsigned int parent)
{
	const char *name = t->node[i].parent_given;

	return name && strcmp(name, t->node[parent].name) == 0;
}

static bool nodes_are_linked(const struct topology *t, unsigned int a, unsigned int b)
{
	for (unsigned int i = 0; i < 2 * t->nr_links; i++)
		if (t->link[i / 2].end[i % 2].node == a && t->link[i / 2].end[1 - i % 2].node == b)
			return true;
	return false;
}

static void parents_check(struct reader *r)
{
	const struct topology *t = r->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		const struct topology_node *n = &t->node[i];
		int p;

		if (!n->parent_given)
			continue;
		p = topology_node_find(t, n->parent_given, strlen(n->parent_given));
		if (p < 0 || !t->node[p].is_switch)
			reader_error(r, n->parent_place,
				     "expected the name of a switch, not '%s'%s", n->parent_given,
				     reader_hint_node(t, n->parent_given).text);
		else if (!nodes_are_linked(t, i, (unsigned int)p))
			reader_error(r, n->parent_place,
				     "expected a link from %s up to %s, not none", n->name,
				     n->parent_given);
	}
}

// The first end of a link is the lower one, unless a switch says by `parent` that it is not.
static void uplink_set(struct reader *r, const struct topology_link *l)
{
	struct topology *t = r->topology;
	unsigned int low = l->end[0].node, high = l->end[1].node;
	const char *given = t->node[low].parent_given;
	struct topology_node *n;

	if (!node_names(t, low, high) && (given || node_names(t, high, low))) {
		low = high;
		high = l->end[0].node;
	}
	n = &t->node[low];
	if (n->parent != TOPOLOGY_NO_NODE) {
		reader_error(r, l->place,
			     "expected one link of %s upwards, not also this one: %s has one "
			     "(of two switches the first is the lower one: if that is %s, turn the "
			     "ends around)",
			     n->name, reader_line(r, t->link[n->uplink].place, l->place).text,
			     t->node[high].name);
		return;
	}
	n->parent = high;
	n->uplink = (unsigned int)(l - t->link);
}

// Of two that name each other as parents one has it wrong.
static void uplinks_check(struct reader *r)
{
	const struct topology *t = r->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		const struct topology_node *n = &t->node[i];

		if (n->parent_given &&
		    (n->parent == TOPOLOGY_NO_NODE || !node_names(t, i, n->parent)))
			reader_error(r, n->parent_place,
				     "expected one of %s and %s to be the parent, not both",
				     n->name, n->parent_given);
	}
}

static void uplinks_find(struct reader *r)
{
	struct topology *t = r->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		t->node[i].parent = TOPOLOGY_NO_NODE;
		t->node[i].depth = 0;
	}
	for (unsigned int i = 0; i < t->nr_links; i++) {
		const struct topology_link *l = &t->link[i];
		bool low = t->node[l->end[0].node].is_switch,
		     high = t->node[l->end[1].node].is_switch;

		if (low && high)
			uplink_set(r, l);
		// A host's address is on its first link.
		for (int side = 0; side < 2 && low != high; side++)
			if (!t->node[l->end[side].node].is_switch && l->end[side].port == 0)
				t->node[l->end[side].node].parent = l->end[1 - side].node;
	}
}

// Also fills in the depths.  A circle is said once.
static void circles_check(struct reader *r)
{
	struct topology *t = r->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		struct tree_names names = { .len = 0 };
		unsigned int at = i, depth = 0;

		while (t->node[at].parent != TOPOLOGY_NO_NODE && depth <= t->nr_nodes) {
			names_add(&names, t->node[at].name);
			at = t->node[at].parent;
			if (at == i && t->node[i].is_switch) {
				reader_error(r, t->link[t->node[i].uplink].place,
					     "expected a tree of switches, not the circle %s",
					     names.text);
				return;
			}
			depth++;
		}
		t->node[i].depth = depth;
	}
}

static void roots_check(struct reader *r)
{
	struct topology *t = r->topology;
	const struct topology_node *root = NULL;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		const struct topology_node *n = &t->node[i];

		if (n->is_switch && n->depth > WIRE_RANGES)
			reader_error(r, n->place,
				     "expected at most %d switches above one another, but %s has %u "
				     "above it",
				     WIRE_RANGES + 1, n->name, n->depth);
		if (!n->is_switch || n->parent != TOPOLOGY_NO_NODE)
			continue;
		if (root)
			reader_error(r, n->place,
				     "expected one tree of switches, not also %s: link it to the "
				     "tree of %s",
				     n->name, root->name);
		else
			root = n;
	}
	if (!root)
		reader_error(r, (struct topology_place){ 0, 0, 0 }, "expected a switch, not none");
}

// Root first, and no switch before its parent.
static void order_fill(struct reader *r)
{
	struct topology *t = r->topology;

	t->nr_switches = 0;
	t->switches = reader_alloc(r, t->nr_nodes, sizeof(*t->switches));
	if (!t->switches)
		return;
	for (unsigned int depth = 0; depth <= WIRE_RANGES; depth++)
		for (unsigned int i = 0; i < t->nr_nodes; i++)
			if (t->node[i].is_switch && t->node[i].depth == depth)
				t->switches[t->nr_switches++] = i;
}

/* The switch above a node at a depth; the node is deeper. */
static unsigned int ancestor(const struct topology *t, unsigned int node, unsigned int depth)
{
	while (t->node[node].depth > depth)
		node = t->node[node].parent;
	return node;
}

struct tree_ranks {
	unsigned int first, nr; /* ranks below a switch */
	unsigned int split;	/* the first of them that is not next to those before; 0: none */
};

/* What each switch, by its index as a node, has of a job below it; at any depth. */
struct tree_job {
	const struct topology_job *job;
	struct tree_ranks below[TOPOLOGY_NODES_MAX];
};

static void rank_count(struct tree_ranks *below, unsigned int k)
{
	if (!below->nr)
		below->first = k;
	if (!below->split && below->first + below->nr != k)
		below->split = k;
	below->nr++;
}

static void ranks_count(const struct topology *t, struct tree_job *tree)
{
	const struct topology_job *j = tree->job;

	memset(tree->below, 0, t->nr_nodes * sizeof(tree->below[0]));
	for (unsigned int k = 0; k < j->ranks.nr; k++)
		for (unsigned int sw = t->node[j->rank_node[k]].parent; sw != TOPOLOGY_NO_NODE;
		     sw = t->node[sw].parent)
			rank_count(&tree->below[sw], k);
}

/* Whether rank a comes before b once those below each switch are together, in the order of their first. */
static bool rank_is_before(const struct topology *t, const struct tree_job *tree, unsigned int a,
			   unsigned int b)
{
	const struct topology_job *j = tree->job;

	for (unsigned int depth = 1; depth <= WIRE_RANGES; depth++) {
		unsigned int na = j->rank_node[a], nb = j->rank_node[b];
		unsigned int sa, sb;

		if (t->node[na].depth <= depth || t->node[nb].depth <= depth)
			break;
		sa = ancestor(t, na, depth);
		sb = ancestor(t, nb, depth);
		if (sa != sb)
			return tree->below[sa].first < tree->below[sb].first;
	}
	return a < b;
}

static void order_suggest(const struct topology *t, const struct tree_job *tree,
			  struct tree_names *names)
{
	unsigned int order[TOPOLOGY_RANKS_MAX];
	const struct topology_job *j = tree->job;

	for (unsigned int k = 0; k < j->ranks.nr; k++) {
		unsigned int at = k;

		for (; at && rank_is_before(t, tree, k, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = k;
	}
	for (unsigned int k = 0; k < j->ranks.nr; k++)
		names_add(names, j->ranks.item[order[k]]);
}

static bool neighbours_check(struct reader *r, const struct tree_job *tree)
{
	const struct topology *t = r->topology;
	const struct topology_job *j = tree->job;

	for (unsigned int i = 0; i < t->nr_switches; i++) {
		const struct tree_ranks *below = &tree->below[t->switches[i]];
		struct tree_names names = { .len = 0 };

		if (!below->split)
			continue;
		order_suggest(t, tree, &names);
		reader_error(
			r, j->rank_place[below->split],
			"expected the ranks below switch %s beside each other, not rank %u (%s) "
			"apart from rank %u; this order works: [%s]",
			t->node[t->switches[i]].name, below->split, j->ranks.item[below->split],
			below->first, names.text);
		return false;
	}
	return true;
}

// What meets at one switch: ranks, or switches.
static void members_check(struct reader *r, const struct tree_job *tree, unsigned int sw)
{
	const struct topology *t = r->topology;
	const struct topology_job *j = tree->job;
	unsigned int nr_ranks = 0, nr_switches = 0, rank = 0;

	for (unsigned int k = 0; k < j->ranks.nr; k++)
		if (t->node[j->rank_node[k]].parent == sw) {
			nr_ranks++;
			rank = k;
		}
	for (unsigned int i = 0; i < t->nr_switches; i++)
		nr_switches += t->node[t->switches[i]].parent == sw &&
			       tree->below[t->switches[i]].nr;
	if (nr_ranks && nr_switches)
		reader_error(r, j->rank_place[rank],
			     "expected the ranks of job %s below leaves alone, not also rank %u at "
			     "switch %s, which adds up leaves: link %s to a leaf, or to one more "
			     "switch below %s",
			     j->name, rank, t->node[sw].name, j->ranks.item[rank],
			     t->node[sw].name);
	if (nr_ranks + nr_switches > WIRE_WORLD_MAX)
		reader_error(r, j->place,
			     "expected at most %d ranks or leaves of job %s at switch %s, not %u: "
			     "spread them over more switches",
			     WIRE_WORLD_MAX, j->name, t->node[sw].name, nr_ranks + nr_switches);
}

void reader_tree(struct reader *r)
{
	unsigned int before = r->nr_errors;

	parents_check(r);
	if (r->nr_errors == before)
		uplinks_find(r);
	if (r->nr_errors == before)
		uplinks_check(r);
	if (r->nr_errors == before)
		circles_check(r);
	if (r->nr_errors == before)
		roots_check(r);
	if (r->nr_errors == before)
		order_fill(r);
}

void reader_tree_jobs(struct reader *r)
{
	const struct topology *t = r->topology;
	static struct tree_job tree; // a stack may be small

	for (unsigned int i = 0; i < t->nr_jobs; i++) {
		tree.job = &t->job[i];
		ranks_count(t, &tree);
		if (!neighbours_check(r, &tree))
			continue;
		for (unsigned int k = 0; k < t->nr_switches; k++)
			members_check(r, &tree, t->switches[k]);
	}
}

static bool node_is_below(const struct topology *t, unsigned int node, unsigned int sw)
{
	while (node != TOPOLOGY_NO_NODE && node != sw)
		node = t->node[node].parent;
	return node == sw;
}

struct topology_ranges topology_ranges(const struct topology *t, const struct topology_job *j,
				       unsigned int rank)
{
	struct topology_ranges ranges = { "" };
	unsigned int sw = t->node[j->rank_node[rank]].parent;
	size_t len = 0;

	for (; t->node[sw].parent != TOPOLOGY_NO_NODE && len < sizeof(ranges.text);
	     sw = t->node[sw].parent) {
		struct tree_ranks below = { .nr = 0 };

		for (unsigned int k = 0; k < j->ranks.nr; k++)
			if (node_is_below(t, j->rank_node[k], sw))
				rank_count(&below, k);
		len += (size_t)snprintf(ranges.text + len, sizeof(ranges.text) - len, "%s%u-%u",
					len ? "," : "", below.first, below.first + below.nr - 1);
	}
	return ranges;
}
