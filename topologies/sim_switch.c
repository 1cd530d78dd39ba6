// SPDX-License-Identifier: BSD-3-Clause
// A switch in virtual time: tally-switch's rounds, whenever something has come or goes on.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topologies/say.h"
#include "topologies/sim.h"

#define SIM_COMMENT                                                                                \
	"tally-fabric sim " TALLY_VERSION_STRING                                                   \
	"; stamps are virtual time, from 2026-01-01 00:00:01 UTC on"

static void packet_release(struct pool *pool, struct pkt *pkt)
{
	(void)pool;
	packet_put(&sim_now->vnet.pool, pkt->buf);
}

static unsigned port_rx(struct port *port, struct pkt *pkts, unsigned max)
{
	struct sim_port *p = port->priv;
	unsigned nr = 0;

	sim_now->turning->at_once = p->first != NULL;
	while (nr < max && p->first) {
		struct packet *packet = p->first;

		p->first = packet->next;
		pkts[nr++] = (struct pkt){
			.data = packet->data,
			.len = packet->len,
			.cap = sim_now->vnet.pool.room,
			.flow = { .ip = packet->ip, .udp_port = packet->from, .port = port->index },
			.buf = packet,
			.pool = &sim_now->in_switch,
		};
	}
	return nr;
}

static void port_send(struct port *port, const struct pkt *pkt)
{
	struct sim_port *p = port->priv;
	struct packet *packet = NULL;

	if (pkt->len > p->payload)
		port->stats.tx_too_big++;
	else
		packet = packet_get(p->out->pool);
	if (!packet) {
		port->stats.tx_dropped++;
		return;
	}
	memcpy(packet->data, pkt->data, pkt->len);
	packet->len = pkt->len;
	packet->ip = port->spec.ip;
	packet->from = WIRE_PORT;
	packet->to = pkt->flow.udp_port;
	if (!line_send(p->out, packet)) {
		port->stats.tx_dropped++;
		return;
	}
	port->stats.tx++;
	port->stats.tx_bytes += pkt->len;
}

static void port_tx(struct port *port, struct pkt *pkts, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		port_send(port, &pkts[i]);
}

static void port_close(struct port *port)
{
	struct sim_port *p = port->priv;

	while (p && p->first) {
		struct packet *packet = p->first;

		p->first = packet->next;
		packet_put(&sim_now->vnet.pool, packet);
	}
}

static const struct port_ops sim_port_ops = {
	.framed = false,
	.rx = port_rx,
	.tx = port_tx,
	.close = port_close,
};

static void switch_receive(struct actor *actor, unsigned int port, struct packet *packet)
{
	struct sim_switch *sw = (struct sim_switch *)actor;
	struct sim_port *p = &sw->port[port];

	packet->next = NULL;
	if (p->first)
		p->last->next = packet;
	else
		p->first = packet;
	p->last = packet;
	actor_ready(actor);
}

/*
 * Stamps of captures tell a replay what came before what, and of one stamp it takes port after port as a round does.  So
 * what goes on behind the ports' round, and another round in the same instant, are a nanosecond later.
 */
static uint64_t switch_clock(void)
{
	struct sim_switch *sw = sim_now->turning;

	if (!sw)
		return sim_now->vnet.agenda.now_ns;
	sw->clock_ns += !sw->at_once && sw->sw->node.lcore.nr_held;
	sw->at_once = false;
	return sw->clock_ns;
}

static void switch_run(struct actor *actor)
{
	struct sim_switch *sw = (struct sim_switch *)actor;
	struct lcore *lcore = &sw->sw->node.lcore;
	const uint64_t now_ns = actor->vnet->agenda.now_ns;
	uint64_t due_ns;

	sw->clock_ns = now_ns > sw->clock_ns ? now_ns : sw->clock_ns + 1;
	sw->at_once = true;
	sim_now->turning = sw;
	due_ns = lcore_turn(lcore);
	sim_now->turning = NULL;
	agenda_set(&actor->vnet->agenda, &actor->event, due_ns);
	/* A round takes a burst of each port. */
	for (unsigned i = 0; i < lcore->nr_ports; i++)
		if (sw->port[i].first)
			actor_ready(actor);
}

static int switch_plug(void *context, struct local_switch *local, unsigned int port)
{
	struct sim *sim = context;
	struct sim_switch *sw = &sim->switches[local - sim->local.switches];
	const struct local_end *end = &local->end[port];
	const unsigned int peer = end->link->end[1 - end->side].node;
	struct port *p = &local->node.lcore.ports[port].port;

	if (!sw->port)
		sw->port = calloc(local->node.lcore.nr_ports, sizeof(*sw->port));
	if (!sw->port)
		return say_error("not enough memory");
	sw->port[port] = (struct sim_port){
		.out = vnet_line(&sim->vnet, end->index, local->index),
		.payload = local_payload(end->link),
	};
	vnet_line(&sim->vnet, end->index, peer)->port = port;
	p->priv = &sw->port[port];
	snprintf(p->driver, sizeof(p->driver), "virtual time");
	sw->sw = local;
	actor_init(&sw->actor, &sim->vnet);
	sw->actor.receive = switch_receive;
	sw->actor.run = switch_run;
	sim->vnet.at_switch[local->index] = &sw->actor;
	return 0;
}

int sim_switches_open(struct sim *sim)
{
	const struct local_ways ways = {
		.ops = &sim_port_ops,
		.plug = switch_plug,
		.context = sim,
		.clock = switch_clock,
		.wall_ms = SIM_WALL_MS,
		.random = sim_chance,
		.record = sim->options->record,
		.comment = SIM_COMMENT,
		.lines = true,
	};

	sim->in_switch = (struct pool){ .put = packet_release };
	return local_open(&sim->local, sim->topology, &ways);
}

void sim_switches_close(struct sim *sim)
{
	local_close(&sim->local);
	for (unsigned int i = 0; i < sim->topology->nr_switches; i++)
		free(sim->switches[i].port);
}
