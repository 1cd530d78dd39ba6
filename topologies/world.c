// SPDX-License-Identifier: BSD-3-Clause
// A topology in virtual time: lines, and who is at their ends.
#include "topologies/world.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"
#include "switch/faults.h"
#include "topologies/local.h"
#include "topologies/say.h"

enum {
	WORLD_QUEUE = 1024, /* packets that wait at a switch, where the file gives no rate */
	WORLD_QUEUE_RATE = IMPAIR_QUEUE, /* where it does: as of a switch that limits the rate */
	WORLD_LINK_EVENTS = 2,
};

uint64_t world_random(struct world *world)
{
	uint64_t z = world->rng += UINT64_C(0x9e3779b97f4a7c15); // SplitMix64

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void actor_ready(struct actor *actor)
{
	struct world *world = actor->world;

	if (actor->ready)
		return;
	actor->ready = true;
	actor->next = NULL;
	if (world->last)
		world->last->next = actor;
	else
		world->first = actor;
	world->last = actor;
}

static void actor_fire(struct event *event)
{
	actor_ready((struct actor *)((char *)event - offsetof(struct actor, event)));
}

void actor_init(struct actor *actor, struct world *world)
{
	actor->event = (struct event){ .fire = actor_fire };
	actor->world = world;
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
	struct world_host *host = line->to;
	const unsigned int i = packet->to - (unsigned int)WORLD_FROM;

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

	line->queue = link->rate_bps ? WORLD_QUEUE_RATE : WORLD_QUEUE;
	if (!text)
		return;
	snprintf(item, sizeof(item), "0:queue=%s", text);
	if (faults_parse(&change, item, &err)) // the topology's reader has let it through
		return;
	line->queue = change.params.queue;
	line->queue_bytes = change.params.queue_bytes;
}

/* side: the end that sends. */
static void line_make(struct world *world, const struct world_options *options, unsigned int i,
		      int side)
{
	const struct topology *t = world->topology;
	const struct topology_link *link = &t->link[i];
	const unsigned int from = link->end[side].node, to = link->end[1 - side].node;
	struct line *line = &world->link[i].way[side];

	line->rate = link->rate_bps ? link->rate_bps : options->rate;
	line->delay_ns = link->delay_given ? link->delay_ns : options->delay_ns;
	line->port = i;
	if (t->node[from].is_switch)
		queue_set(line, link); // a host looks before it sends
	if (t->node[to].is_switch) {
		line->deliver = deliver_switch;
		line->to = &world->at_switch[to];
	} else {
		line->deliver = deliver_host;
		line->to = &world->host[to];
	}
	line_init(line, &world->agenda, &world->pool);
	if (!t->node[from].is_switch && link->end[side].port == 0)
		world->host[from].up = line;
}

int world_open(struct world *world, const struct topology *t, const struct world_options *options,
	       uint32_t events)
{
	*world = (struct world){ .topology = t, .rng = t->seed_given ? t->seed : 1 };
	for (unsigned int i = 0; i < t->nr_links; i++)
		if (world->pool.room < local_payload(&t->link[i]))
			world->pool.room = local_payload(&t->link[i]);
	world->link = calloc(t->nr_links, sizeof(*world->link));
	world->host = calloc(t->nr_nodes, sizeof(*world->host));
	world->at_switch = calloc(t->nr_nodes, sizeof(*world->at_switch));
	if (!world->link || !world->host || !world->at_switch ||
	    agenda_init(&world->agenda, events + WORLD_LINK_EVENTS * t->nr_links))
		return say_error("not enough memory");
	for (unsigned int i = 0; i < t->nr_links; i++)
		for (int side = 0; side < 2; side++)
			line_make(world, options, i, side);
	return 0;
}

void world_free(struct world *world)
{
	for (unsigned int i = 0; world->link && world->agenda.heap && i < world->topology->nr_links;
	     i++)
		for (int side = 0; side < 2; side++)
			line_empty(&world->link[i].way[side]);
	for (unsigned int i = 0; world->host && i < world->topology->nr_nodes; i++)
		free(world->host[i].actor);
	packet_pool_free(&world->pool);
	agenda_free(&world->agenda);
	free(world->link);
	free(world->host);
	free(world->at_switch);
	*world = (struct world){ .link = NULL };
}

uint16_t world_attach(struct world *world, unsigned int node, struct actor *actor)
{
	struct world_host *host = &world->host[node];
	struct actor **more;
	unsigned int i = 0;

	while (i < host->nr && host->actor[i])
		i++;
	if (i == host->nr) {
		more = realloc(host->actor, (host->nr + 1) * sizeof(*more));
		if (!more || WORLD_FROM + i >= WORLD_PORTS)
			return 0;
		host->actor = more;
		host->nr++;
	}
	host->actor[i] = actor;
	return (uint16_t)(WORLD_FROM + i);
}

void world_detach(struct world *world, unsigned int node, uint16_t port)
{
	world->host[node].actor[port - WORLD_FROM] = NULL;
}

struct line *world_line(struct world *world, unsigned int link, unsigned int node)
{
	const struct topology_link *l = &world->topology->link[link];

	return &world->link[link].way[l->end[0].node == node ? 0 : 1];
}

bool world_step(struct world *world)
{
	struct agenda *agenda = &world->agenda;
	struct actor *actor = world->first;

	/* First all that comes now, then those who have got it. */
	if (agenda_next(agenda) == agenda->now_ns || (!actor && agenda->nr)) {
		agenda_step(agenda);
		return true;
	}
	if (!actor)
		return false;
	world->first = actor->next;
	if (!world->first)
		world->last = NULL;
	actor->ready = false;
	actor->run(actor);
	return true;
}
