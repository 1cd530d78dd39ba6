// SPDX-License-Identifier: BSD-3-Clause
// What a picture of a topology shows: boxes on layers, and the links between them.
#include "topologies/draw.h"

#include <stdlib.h>
#include <string.h>

enum { FAR = TOPOLOGY_NODES_MAX };

static unsigned int other_end(const struct topology_link *l, unsigned int node)
{
	return l->end[0].node == node ? l->end[1].node : l->end[0].node;
}

// How far each node is from a host: switches between switches are above those with hosts.
static void distances_find(const struct topology *t, unsigned int *distance)
{
	bool changed = true;

	for (unsigned int i = 0; i < t->nr_nodes; i++)
		distance[i] = t->node[i].is_switch ? FAR : 0;
	while (changed) {
		changed = false;
		for (unsigned int i = 0; i < 2 * t->nr_links; i++) {
			unsigned int a = t->link[i / 2].end[i % 2].node,
				     b = t->link[i / 2].end[1 - i % 2].node;

			if (distance[a] > distance[b] + 1) {
				distance[a] = distance[b] + 1;
				changed = true;
			}
		}
	}
}

static unsigned int largest(const unsigned int *v, unsigned int nr)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < nr; i++)
		most = v[i] > most && v[i] < FAR ? v[i] : most;
	return most;
}

/* The layer of each node. */
static void layers_find(const struct draw *d, unsigned int *layer)
{
	const struct topology *t = d->topology;
	unsigned int most;

	if (d->tree)
		for (unsigned int i = 0; i < t->nr_nodes; i++)
			layer[i] = t->node[i].depth;
	else
		distances_find(t, layer);
	most = largest(layer, t->nr_nodes);
	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		bool loose = d->tree && !t->node[i].is_switch && t->node[i].parent == DRAW_NONE;

		if (loose)
			layer[i] = most;
		else if (!d->tree)
			layer[i] = layer[i] >= FAR ? 0 : most - layer[i];
	}
}

/* The first node that it is linked to on the layer above, DRAW_NONE: none. */
static unsigned int above_find(const struct draw *d, const unsigned int *layer, unsigned int node)
{
	const struct topology *t = d->topology;

	if (d->tree)
		return t->node[node].parent;
	for (unsigned int i = 0; i < t->nr_links; i++) {
		const struct topology_link *l = &t->link[i];
		unsigned int other = other_end(l, node);

		if ((l->end[0].node == node || l->end[1].node == node) &&
		    layer[other] + 1 == layer[node])
			return other;
	}
	return DRAW_NONE;
}

static bool host_is_single(const struct topology *t, unsigned int node)
{
	return !t->node[node].is_switch && t->node[node].nr_links == 1;
}

/* The box of hosts at the same switch, DRAW_NONE: there is none yet. */
static unsigned int box_find(const struct draw *d, unsigned int above)
{
	for (unsigned int i = 0; i < d->nr_boxes; i++)
		if (d->box[i].up == above && host_is_single(d->topology, d->box[i].node))
			return i;
	return DRAW_NONE;
}

static void boxes_make(struct draw *d, const unsigned int *layer)
{
	const struct topology *t = d->topology;
	unsigned int nr_hosts = 0;

	for (unsigned int i = 0; i < t->nr_nodes; i++)
		nr_hosts += !t->node[i].is_switch;
	d->stack = d->tree && nr_hosts >= DRAW_STACK_MIN && nr_hosts <= DRAW_HOSTS_MAX;
	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		unsigned int above = above_find(d, layer, i), at = DRAW_NONE;

		if (nr_hosts > DRAW_HOSTS_MAX && host_is_single(t, i) && above != DRAW_NONE)
			at = box_find(d, above);
		if (at == DRAW_NONE) {
			at = d->nr_boxes++;
			d->box[at] = (struct draw_box){ .node = i, .layer = layer[i], .up = above };
		}
		d->box[at].stacked = d->stack && host_is_single(t, i) && above != DRAW_NONE;
		d->box[at].last = i;
		d->box[at].nr++;
		d->box_of[i] = at;
		if (layer[i] >= d->nr_layers)
			d->nr_layers = layer[i] + 1;
	}
	for (unsigned int i = 0; i < d->nr_boxes; i++) // until now it was a node
		if (d->box[i].up != DRAW_NONE)
			d->box[i].up = d->box_of[d->box[i].up];
}

static bool links_are_alike(const struct topology_link *a, const struct topology_link *b)
{
	struct topology_faults_text of_a, of_b;

	topology_faults(a, &of_a);
	topology_faults(b, &of_b);
	return a->mtu == b->mtu && strcmp(of_a.text, of_b.text) == 0;
}

/* The link of a box of several hosts that is there already. */
static struct draw_link *link_find(struct draw *d, unsigned int lower)
{
	for (unsigned int i = 0; i < d->nr_links && d->box[lower].nr > 1; i++)
		if (d->link[i].box[1] == lower)
			return &d->link[i];
	return NULL;
}

static void link_make(struct draw *d, const struct topology_link *l)
{
	unsigned int a = d->box_of[l->end[0].node], b = d->box_of[l->end[1].node];
	unsigned int upper = d->box[a].layer > d->box[b].layer || d->box[a].up == b;
	unsigned int ends[] = { a, b };
	struct draw_link *to = link_find(d, ends[1 - upper]);

	if (!to) {
		to = &d->link[d->nr_links++];
		*to = (struct draw_link){ .link = l,
					  .box = { ends[upper], ends[1 - upper] },
					  .side = { upper, 1 - upper } };
	}
	to->nr++;
	to->last_port = l->end[upper].port;
	to->differ = to->differ || !links_are_alike(l, to->link);
	if (d->box[to->box[1]].up == to->box[0] && to->nr == 1)
		d->box[to->box[1]].up_port = l->end[upper].port;
}

int draw_open(struct draw *d, struct topology *t)
{
	unsigned int *layer = calloc(t->nr_nodes + 1, sizeof(*layer));

	*d = (struct draw){ .topology = t, .tree = topology_tree(t) == 0 };
	d->box = calloc(t->nr_nodes + 1, sizeof(*d->box));
	d->link = calloc(t->nr_links + 1, sizeof(*d->link));
	d->box_of = calloc(t->nr_nodes + 1, sizeof(*d->box_of));
	if (!layer || !d->box || !d->link || !d->box_of) {
		free(layer);
		return -1;
	}
	layers_find(d, layer);
	boxes_make(d, layer);
	for (unsigned int i = 0; i < t->nr_links; i++)
		link_make(d, &t->link[i]);
	draw_all_text(d);
	free(layer);
	return 0;
}

void draw_close(struct draw *d)
{
	free(d->box);
	free(d->link);
	free(d->box_of);
}

int draw_topology(struct topology *t, enum draw_format format, FILE *out)
{
	struct draw d;
	int rc = draw_open(&d, t);

	if (rc == 0 && format == DRAW_SVG)
		rc = draw_layout(&d);
	if (rc == 0 && format == DRAW_SVG)
		draw_svg(&d, out);
	else if (rc == 0)
		draw_dot(&d, out);
	draw_close(&d);
	return rc;
}
