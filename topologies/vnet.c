// SPDX-License-Identifier: BSD-3-Clause
// A topology in virtual time: lines, and who is at their ends.
#include "topologies/vnet.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"
#include "switch/faults.h"
#include "topologies/local.h"
#include "topologies/say.h"

enum {
	VNET_QUEUE = 1024, /* packets that wait at a switch, where the file gives no rate */
	VNET_QUEUE_RATE = IMPAIR_QUEUE, /* where it does: as of a switch that limits the rate */
	VNET_LINK_EVENTS = 2,
};

uint64_t vnet_random(struct vnet *vnet)
{
	uint64_t z = vnet->rng += UINT64_C(0x9e3779b97f4a7c15); // SplitMix64

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void actor_ready(struct actor *actor)
{
	struct vnet *vnet = actor->vnet;

	if (actor->ready)
		return;
	actor->ready = true;
	actor->next = NULL;
	if (vnet->last)
		vnet->last->next = actor;
	else
		vnet->first = actor;
	vnet->last = actor;
}

static void actor_fire(struct event *event)
{
	actor_ready((struct actor *)((char *)event - offsetof(struct actor, event)));
}

void actor_init(struct actor *actor, struct vnet *vnet)
{
	actor->event = (struct event){ .fire = actor_fire };
	actor->vnet = vnet;
	actor->ready = false;
}

static void deliver_switch(struct line *line, struct packet *packet)
{
	struct actor *actor = *(struct actor **)line->to;

	if (actor)
		actor->receive(actor, line->port, packet);
	else
		packet_put(line->pool, packet);
}

static void deliver_host(struct line *line, struct packet *packet)
{
	struct vnet_host *host = line->to;
	const unsigned int i = packet->to - (unsigned int)VNET_FROM;

	if (i < host->nr && host->actor[i]) {
		host->actor[i]->receive(host->actor[i], 0, packet);
		return;
	}
	host->nr_lost++;
	packet_put(line->pool, packet);
}

/* What the file says of the queue. */
static void queue_set(struct line *line, const struct topology_link *link)
{
	const char *text = link->fault[TOPOLOGY_QUEUE].text;
	struct faults_change change;
	struct port_error err;
	char item[128];

	line->queue = link->rate_bps ? VNET_QUEUE_RATE : VNET_QUEUE;
	if (!text)
		return;
	snprintf(item, sizeof(item), "0:queue=%s", text);
	if (faults_parse(&change, item, &err)) // the topology's reader has let it through
		return;
	line->queue = change.params.queue;
	line->queue_bytes = change.params.queue_bytes;
}

/* side: the end that sends. */
static void line_make(struct vnet *vnet, const struct vnet_options *options, unsigned int i,
		      int side)
{
	const struct topology *t = vnet->topology;
	const struct topology_link *link = &t->link[i];
	const unsigned int from = link->end[side].node, to = link->end[1 - side].node;
	struct line *line = &vnet->link[i].way[side];

	line->rate = link->rate_bps ? link->rate_bps : options->rate;
	line->delay_ns = link->delay_given ? link->delay_ns : options->delay_ns;
	line->port = i;
	if (t->node[from].is_switch)
		queue_set(line, link); // a host looks before it sends
	if (t->node[to].is_switch) {
		line->deliver = deliver_switch;
		line->to = &vnet->at_switch[to];
	} else {
		line->deliver = deliver_host;
		line->to = &vnet->host[to];
	}
	line_init(line, &vnet->agenda, &vnet->pool);
	if (!t->node[from].is_switch && link->end[side].port == 0)
		vnet->host[from].up = line;
}

int vnet_open(struct vnet *vnet, const struct topology *t, const struct vnet_options *options,
	      uint32_t events)
{
	*vnet = (struct vnet){ .topology = t, .rng = t->seed_given ? t->seed : 1 };
	for (unsigned int i = 0; i < t->nr_links; i++)
		if (vnet->pool.room < local_payload(&t->link[i]))
			vnet->pool.room = local_payload(&t->link[i]);
	vnet->link = calloc(t->nr_links, sizeof(*vnet->link));
	vnet->host = calloc(t->nr_nodes, sizeof(*vnet->host));
	vnet->at_switch = calloc(t->nr_nodes, sizeof(*vnet->at_switch));
	if (!vnet->link || !vnet->host || !vnet->at_switch ||
	    agenda_init(&vnet->agenda, events + VNET_LINK_EVENTS * t->nr_links))
		return say_error("not enough memory");
	for (unsigned int i = 0; i < t->nr_links; i++)
		for (int side = 0; side < 2; side++)
			line_make(vnet, options, i, side);
	return 0;
}

void vnet_free(struct vnet *vnet)
{
	for (unsigned int i = 0; vnet->link && vnet->agenda.heap && i < vnet->topology->nr_links;
	     i++)
		for (int side = 0; side < 2; side++)
			line_empty(&vnet->link[i].way[side]);
	for (unsigned int i = 0; vnet->host && i < vnet->topology->nr_nodes; i++)
		free(vnet->host[i].actor);
	packet_pool_free(&vnet->pool);
	agenda_free(&vnet->agenda);
	free(vnet->link);
	free(vnet->host);
	free(vnet->at_switch);
	*vnet = (struct vnet){ .link = NULL };
}

uint16_t vnet_attach(struct vnet *vnet, unsigned int node, struct actor *actor)
{
	struct vnet_host *host = &vnet->host[node];
	struct actor **more;
	unsigned int i = 0;

	while (i < host->nr && host->actor[i])
		i++;
	if (i == host->nr) {
		more = realloc(host->actor, (host->nr + 1) * sizeof(*more));
		if (!more || VNET_FROM + i >= VNET_PORTS)
			return 0;
		host->actor = more;
		host->nr++;
	}
	host->actor[i] = actor;
	return (uint16_t)(VNET_FROM + i);
}

void vnet_detach(struct vnet *vnet, unsigned int node, uint16_t port)
{
	vnet->host[node].actor[port - VNET_FROM] = NULL;
}

struct line *vnet_line(struct vnet *vnet, unsigned int link, unsigned int node)
{
	const struct topology_link *l = &vnet->topology->link[link];

	return &vnet->link[link].way[l->end[0].node == node ? 0 : 1];
}

bool vnet_step(struct vnet *vnet)
{
	struct agenda *agenda = &vnet->agenda;
	struct actor *actor = vnet->first;

	/* First all that comes now, then those who have got it. */
	if (agenda_next(agenda) == agenda->now_ns || (!actor && agenda->nr)) {
		agenda_step(agenda);
		return true;
	}
	if (!actor)
		return false;
	vnet->first = actor->next;
	if (!vnet->first)
		vnet->last = NULL;
	actor->ready = false;
	actor->run(actor);
	return true;
}
