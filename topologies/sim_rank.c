// SPDX-License-Identifier: BSD-3-Clause
// A rank in virtual time: a fiber that runs tally-perf's rank, and the transport under its communicator.
//
// The fiber takes no time: it gives way where a thread would sleep.  Its host's line takes packets as a network
// interface does: it says how many it has room for, and loses none.
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/frame.h"
#include "topologies/say.h"
#include "topologies/sim.h"

struct sim_transport {
	struct transport base;
	struct sim_rank *rank;
	struct line *up;
	uint32_t payload;	     /* bytes that the link carries */
	struct packet *first, *last; /* received */
	struct packet *lent;
	uint8_t *too_large; /* what no packet can be is built here */
	bool woken;
	bool starved; /* there was no room */
};

static struct sim_transport *transport_of(struct transport *transport)
{
	return (struct sim_transport *)transport;
}

/* Of the rank that runs: until at_ns, or until something comes for it. */
static void rank_wait(struct sim_rank *rank, uint64_t at_ns)
{
	agenda_set(&rank->sim->vnet.agenda, &rank->actor.event, at_ns);
	fiber_yield(rank->fiber);
	agenda_clear(&rank->sim->vnet.agenda, &rank->actor.event);
}

static uint64_t time_after(uint64_t ns)
{
	const uint64_t now_ns = sim_now->vnet.agenda.now_ns;

	return ns < AGENDA_NEVER - now_ns ? now_ns + ns : AGENDA_NEVER;
}

void sim_pause(uint64_t ns)
{
	const uint64_t at_ns = time_after(ns);

	while (sim_now->vnet.agenda.now_ns < at_ns)
		rank_wait(sim_now->current, at_ns);
}

/* --- The transport ------------------------------------------------------------------------------ */

static unsigned transport_room(struct transport *transport)
{
	struct sim_transport *t = transport_of(transport);
	const uint32_t waiting = line_waiting(t->up);

	t->starved = waiting >= LINE_RING;
	if (t->starved)
		return 0;
	return LINE_RING - waiting < TRANSPORT_BURST ? LINE_RING - waiting : TRANSPORT_BURST;
}

static uint8_t *transport_alloc(struct transport *transport, uint32_t len)
{
	struct sim_transport *t = transport_of(transport);
	struct packet *packet;

	if (len > t->payload)
		return len <= WIRE_MSG_MAX ? t->too_large : NULL;
	packet = packet_get(t->up->pool);
	return packet ? packet->data : NULL;
}

static unsigned transport_send(struct transport *transport, const struct transport_pkt *pkts,
			       unsigned nr)
{
	struct sim_transport *t = transport_of(transport);
	const struct sim_rank *rank = t->rank;

	for (unsigned i = 0; i < nr; i++) {
		struct packet *packet = packet_of(pkts[i].data);

		if (pkts[i].data == t->too_large) {
			t->base.failed = EMSGSIZE;
			t->base.lost++;
			continue;
		}
		packet->ip = rank->rank.node->ip;
		packet->from = t->base.port;
		packet->to = WIRE_PORT;
		packet->len = pkts[i].len;
		(void)line_send(t->up, packet);
	}
	return nr;
}

static unsigned transport_recv(struct transport *transport, struct transport_pkt *pkts,
			       unsigned max)
{
	struct sim_transport *t = transport_of(transport);
	unsigned nr = 0;

	while (nr < max && t->first) {
		struct packet *packet = t->first;

		t->first = packet->next;
		packet->next = t->lent;
		t->lent = packet;
		pkts[nr++] = (struct transport_pkt){ .data = packet->data, .len = packet->len };
	}
	return nr;
}

static void transport_release(struct transport *transport)
{
	struct sim_transport *t = transport_of(transport);

	while (t->lent) {
		struct packet *packet = t->lent;

		t->lent = packet->next;
		packet_put(t->up->pool, packet);
	}
}

static void transport_wait(struct transport *transport, uint64_t timeout_ns)
{
	struct sim_transport *t = transport_of(transport);
	uint64_t at_ns = time_after(timeout_ns), room_ns;

	if (t->starved) {
		room_ns = line_half(t->up);
		at_ns = room_ns < at_ns ? room_ns : at_ns;
	}
	if (!t->first && !t->woken)
		rank_wait(t->rank, at_ns);
	t->woken = false;
}

static void transport_wake(struct transport *transport)
{
	struct sim_transport *t = transport_of(transport);

	t->woken = true;
	actor_ready(&t->rank->actor);
}

static void transport_close(struct transport *transport)
{
	struct sim_transport *t = transport_of(transport);
	struct transport_pkt pkts[TRANSPORT_BURST];

	vnet_detach(&t->rank->sim->vnet, t->rank->node, transport->port);
	do
		transport_release(transport);
	while (transport_recv(transport, pkts, TRANSPORT_BURST));
	t->rank->transport = NULL;
	free(t->too_large);
	free(t);
}

static int transport_open(struct transport **out, const struct transport_params *params,
			  struct transport_error *error)
{
	struct sim_rank *rank = sim_now->current;
	struct vnet *vnet = &rank->sim->vnet;
	struct sim_transport *t = calloc(1, sizeof(*t));
	unsigned int p;

	if (t)
		t->too_large = malloc(WIRE_MSG_MAX);
	if (!t || !t->too_large) {
		free(t);
		snprintf(error->text, sizeof(error->text), "out of memory");
		return -ENOMEM;
	}
	t->base.ops = &sim_transport;
	t->base.port = vnet_attach(vnet, rank->node, &rank->actor);
	t->rank = rank;
	t->up = vnet->host[rank->node].up;
	t->payload = local_payload(local_host_end(vnet->topology, rank->node).link);
	p = (t->payload - WIRE_HEADER - params->trailer) / WIRE_P_MIN * WIRE_P_MIN;
	t->base.p = (uint16_t)(p < WIRE_P_MAX ? p : WIRE_P_MAX);
	snprintf(t->base.text, sizeof(t->base.text), "virtual time");
	if (!t->base.port) {
		snprintf(error->text, sizeof(error->text), "too many ranks at %s",
			 rank->rank.node->name);
		free(t->too_large);
		free(t);
		return -ENOSPC;
	}
	rank->transport = t;
	*out = &t->base;
	return 0;
}

const struct transport_ops sim_transport = {
	.name = "sim",
	.open = transport_open,
	.room = transport_room,
	.alloc = transport_alloc,
	.send = transport_send,
	.recv = transport_recv,
	.release = transport_release,
	.wait = transport_wait,
	.wake = transport_wake,
	.close = transport_close,
};

/* --- The fiber ---------------------------------------------------------------------------------- */

static void rank_receive(struct actor *actor, unsigned int port, struct packet *packet)
{
	struct sim_rank *rank = (struct sim_rank *)actor;
	struct sim_transport *t = rank->transport;

	(void)port;
	packet->next = NULL;
	if (t->first)
		t->last->next = packet;
	else
		t->first = packet;
	t->last = packet;
	actor_ready(actor);
}

static void rank_main(void *context)
{
	struct sim_rank *rank = context;
	struct sim *sim = rank->sim;

	sim->nr_begun++;
	if (local_rank_open(&rank->rank) == 0) {
		rank->opened_ns = sim->vnet.agenda.now_ns;
		sim_rank_opened(sim);
		local_rank_work(&rank->rank);
		rank->done_ns = sim->end_ns = sim->vnet.agenda.now_ns;
		sim->nr_done++;
		local_rank_close(&rank->rank);
	}
	rank->ended = true;
	sim->nr_ended++;
}

static void rank_run(struct actor *actor)
{
	struct sim_rank *rank = (struct sim_rank *)actor;
	struct sim *sim = rank->sim;

	if (rank->ended)
		return;
	sim->current = rank;
	sim->nr_reads = 0;
	(void)fiber_resume(rank->fiber);
	sim->current = NULL;
}

int sim_ranks_open(struct sim *sim)
{
	const struct topology *t = sim->topology;
	unsigned int nr = 0;

	for (unsigned int j = 0; j < t->nr_jobs; j++)
		for (unsigned int k = 0; k < t->job[j].ranks.nr; k++, nr++) {
			struct sim_rank *rank = &sim->ranks[nr];

			actor_init(&rank->actor, &sim->vnet);
			rank->actor.receive = rank_receive;
			rank->actor.run = rank_run;
			rank->sim = sim;
			rank->node = t->job[j].rank_node[k];
			rank->rank.job = &sim->jobs[j];
			rank->rank.rank = k;
			rank->rank.node = &t->node[rank->node];
			rank->fiber = fiber_new(rank_main, rank);
			if (!rank->fiber)
				return say_error("no memory for the stacks of %u ranks",
						 sim->nr_ranks);
			agenda_set(&sim->vnet.agenda, &rank->actor.event,
				   sim->vnet.agenda.now_ns + SIM_BOOT_NS + t->job[j].start_ns);
		}
	return 0;
}

void sim_rank_detach(struct sim_rank *rank)
{
	if (rank->transport)
		vnet_detach(&rank->sim->vnet, rank->node, rank->transport->base.port);
}

void sim_ranks_close(struct sim *sim)
{
	for (unsigned int i = 0; i < sim->nr_ranks; i++)
		fiber_free(sim->ranks[i].fiber);
}
