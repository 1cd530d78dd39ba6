// SPDX-License-Identifier: BSD-3-Clause
// A full-duplex link in memory: rings with one sender and one receiver, and the bells of those who sleep.
#include "topologies/cable.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	CABLE_YIELDS = 4,  /* of a rank, before it sleeps */
	CABLE_EMPTY = 200, /* looks of a switch that find nothing before it says that it sleeps */
	CABLE_SECOND = 1000000000,
};

/* --- Bells -------------------------------------------------------------------------------------- */

int bell_open(struct bell *bell)
{
	atomic_init(&bell->armed, 0);
	atomic_init(&bell->rung, 0);
	bell->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return bell->fd < 0 ? -1 : 0;
}

void bell_close(struct bell *bell)
{
	if (bell->fd >= 0)
		close(bell->fd);
	bell->fd = -1;
}

void bell_ring(struct bell *bell)
{
	const uint64_t one = 1;

	if (!atomic_load(&bell->armed) || !atomic_exchange(&bell->armed, 0))
		return;
	(void)!write(bell->fd, &one, sizeof(one));
	atomic_store(&bell->rung, 1);
}

void bell_arm(struct bell *bell)
{
	if (!atomic_load_explicit(&bell->armed, memory_order_relaxed))
		atomic_store(&bell->armed, 1);
}

void bell_clear(struct bell *bell)
{
	uint64_t rings;

	if (atomic_load_explicit(&bell->rung, memory_order_relaxed) &&
	    atomic_exchange(&bell->rung, 0))
		(void)!read(bell->fd, &rings, sizeof(rings));
}

/* --- Rings -------------------------------------------------------------------------------------- */

static int way_open(struct cable_way *way, uint32_t payload)
{
	/* The payload of a message begins a cache line; slots do not all begin at the same set. */
	way->stride = (payload + 2 * CABLE_CACHE - 1) / CABLE_CACHE * CABLE_CACHE;
	way->stride += way->stride / CABLE_CACHE % 2 ? 0 : CABLE_CACHE;
	way->mem = aligned_alloc(CABLE_CACHE, (size_t)CABLE_SLOTS * way->stride);
	atomic_init(&way->head, 0);
	atomic_init(&way->tail, 0);
	return way->mem ? 0 : -1;
}

int cable_open(struct cable *cable)
{
	if (way_open(&cable->way[0], cable->payload) || way_open(&cable->way[1], cable->payload))
		return -1;
	return 0;
}

void cable_close(struct cable *cable)
{
	free(cable->way[0].mem);
	free(cable->way[1].mem);
	cable->way[0].mem = cable->way[1].mem = NULL;
}

static uint8_t *way_slot(const struct cable_way *way, uint32_t i)
{
	return way->mem + (size_t)(i % CABLE_SLOTS) * way->stride + CABLE_CACHE - WIRE_HEADER;
}

/* Slots that the sender may fill. */
static uint32_t way_room(struct cable_way *way)
{
	return CABLE_SLOTS - (atomic_load_explicit(&way->tail, memory_order_relaxed) -
			      atomic_load_explicit(&way->head, memory_order_acquire));
}

/* Packets that the receiver may read. */
static uint32_t way_count(struct cable_way *way)
{
	return atomic_load(&way->tail) - atomic_load_explicit(&way->head, memory_order_relaxed);
}

static void way_push(struct cable_way *way, uint32_t nr)
{
	atomic_store(&way->tail, atomic_load_explicit(&way->tail, memory_order_relaxed) + nr);
	bell_ring(way->bell);
}

static void way_pop(struct cable_way *way, uint32_t nr)
{
	atomic_store_explicit(&way->head,
			      atomic_load_explicit(&way->head, memory_order_relaxed) + nr,
			      memory_order_release);
}

/* --- A port of a switch ------------------------------------------------------------------------- */

static unsigned port_rx_cable(struct port *port, unsigned int i, struct pkt *pkts, unsigned max)
{
	struct cable_port *p = port->priv;
	struct cable *cable = p->cable[i];
	struct cable_way *way = &cable->way[p->end[i]];
	const unsigned int peer = 1 - p->end[i];
	uint32_t head, nr;

	way_pop(way, p->lent[i]);
	nr = way_count(way);
	nr = nr < max ? nr : max;
	head = atomic_load_explicit(&way->head, memory_order_relaxed);
	for (uint32_t k = 0; k < nr; k++)
		pkts[k] = (struct pkt){
			.data = way_slot(way, head + k),
			.len = way->len[(head + k) % CABLE_SLOTS],
			.cap = cable->payload,
			.flow = { .ip = cable->ip[peer],
				  .udp_port = cable->udp_port[peer],
				  .port = port->index },
		};
	p->lent[i] = nr;
	return nr;
}

static unsigned port_rx(struct port *port, struct pkt *pkts, unsigned max)
{
	struct cable_port *p = port->priv;
	unsigned nr = 0;

	bell_clear(p->bell);
	for (unsigned int i = 0; i < p->nr; i++)
		nr += port_rx_cable(port, i, pkts + nr, max - nr);
	if (nr) {
		p->nr_empty = 0;
		return nr;
	}
	if (p->nr_empty++ >= CABLE_EMPTY)
		bell_arm(p->bell);
	if (atomic_load_explicit(p->stop, memory_order_acquire))
		*p->stopped = 1;
	return 0;
}

static void port_send(struct port *port, const struct pkt *pkt)
{
	struct cable_port *p = port->priv;
	struct cable_way *way;
	struct cable *cable;
	unsigned int i = 0;
	uint32_t tail;

	while (i < p->nr && p->cable[i]->udp_port[1 - p->end[i]] != pkt->flow.udp_port)
		i++;
	cable = i < p->nr ? p->cable[i] : NULL;
	way = cable ? &cable->way[1 - p->end[i]] : NULL;
	if (!way || pkt->len > cable->payload || !way_room(way)) {
		port->stats.tx_dropped++;
		port->stats.tx_too_big += way && pkt->len > cable->payload;
		return;
	}
	tail = atomic_load_explicit(&way->tail, memory_order_relaxed);
	memcpy(way_slot(way, tail), pkt->data, pkt->len);
	way->len[tail % CABLE_SLOTS] = pkt->len;
	way_push(way, 1);
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
	(void)port;
}

const struct port_ops cable_port_ops = {
	.framed = false,
	.rx = port_rx,
	.tx = port_tx,
	.close = port_close,
};

/* --- A rank's transport ------------------------------------------------------------------------- */

_Thread_local struct cable_seat *cable_seat;

struct cable_rank {
	struct transport base;
	struct cable_seat *seat;
	uint32_t nr_built, nr_lent;
	uint8_t *too_large; /* what no packet can be is built here */
	atomic_bool woken;
};

static struct cable_rank *rank_of(struct transport *transport)
{
	return (struct cable_rank *)transport;
}

static struct cable_way *rank_out(struct cable_rank *rank)
{
	return &rank->seat->cable->way[1];
}

static struct cable_way *rank_in(struct cable_rank *rank)
{
	return &rank->seat->cable->way[0];
}

static unsigned rank_room(struct transport *transport)
{
	struct cable_rank *rank = rank_of(transport);
	const uint32_t room = way_room(rank_out(rank)) - rank->nr_built;

	return room < TRANSPORT_BURST ? room : TRANSPORT_BURST;
}

static uint8_t *rank_alloc(struct transport *transport, uint32_t len)
{
	struct cable_rank *rank = rank_of(transport);
	struct cable_way *way = rank_out(rank);

	if (len > rank->seat->cable->payload)
		return len <= WIRE_MSG_MAX ? rank->too_large : NULL;
	if (way_room(way) == rank->nr_built)
		return NULL;
	return way_slot(way,
			atomic_load_explicit(&way->tail, memory_order_relaxed) + rank->nr_built++);
}

static unsigned rank_send(struct transport *transport, const struct transport_pkt *pkts,
			  unsigned nr)
{
	struct cable_rank *rank = rank_of(transport);
	struct cable_way *way = rank_out(rank);
	uint32_t tail = atomic_load_explicit(&way->tail, memory_order_relaxed), n = 0;

	for (unsigned i = 0; i < nr; i++) {
		if (pkts[i].data == rank->too_large) {
			transport->failed = EMSGSIZE;
			transport->lost++;
			continue;
		}
		way->len[(tail + n++) % CABLE_SLOTS] = pkts[i].len;
	}
	rank->nr_built -= n;
	way_push(way, n);
	return nr;
}

static unsigned rank_recv(struct transport *transport, struct transport_pkt *pkts, unsigned max)
{
	struct cable_rank *rank = rank_of(transport);
	struct cable_way *way = rank_in(rank);
	const uint32_t head = atomic_load_explicit(&way->head, memory_order_relaxed);
	uint32_t nr = way_count(way) - rank->nr_lent;

	nr = nr < max ? nr : max;
	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t at = head + rank->nr_lent + i;

		pkts[i] = (struct transport_pkt){ .data = way_slot(way, at),
						  .len = way->len[at % CABLE_SLOTS] };
	}
	rank->nr_lent += nr;
	return nr;
}

static void rank_release(struct transport *transport)
{
	struct cable_rank *rank = rank_of(transport);

	way_pop(rank_in(rank), rank->nr_lent);
	rank->nr_lent = 0;
}

static bool rank_ready(struct cable_rank *rank)
{
	return way_count(rank_in(rank)) || atomic_load(&rank->woken);
}

static void rank_wait(struct transport *transport, uint64_t timeout_ns)
{
	struct cable_rank *rank = rank_of(transport);
	struct bell *bell = &rank->seat->bell;
	struct pollfd fd = { .fd = bell->fd, .events = POLLIN };
	const struct timespec ts = {
		.tv_sec = timeout_ns / CABLE_SECOND < 3600 ? (time_t)(timeout_ns / CABLE_SECOND)
							   : 3600,
		.tv_nsec = (long)(timeout_ns % CABLE_SECOND),
	};

	for (unsigned int i = 0; i < CABLE_YIELDS && !rank_ready(rank); i++)
		sched_yield();
	bell_arm(bell);
	if (!rank_ready(rank) && timeout_ns)
		(void)ppoll(&fd, 1, &ts, NULL);
	atomic_store(&bell->armed, 0);
	bell_clear(bell);
	atomic_store(&rank->woken, false);
}

static void rank_wake(struct transport *transport)
{
	struct cable_rank *rank = rank_of(transport);

	atomic_store(&rank->woken, true);
	bell_ring(&rank->seat->bell);
}

static void rank_close(struct transport *transport)
{
	struct cable_rank *rank = rank_of(transport);

	free(rank->too_large);
	free(rank);
}

static int rank_open(struct transport **out, const struct transport_params *params,
		     struct transport_error *error)
{
	struct cable_rank *rank = calloc(1, sizeof(*rank));
	unsigned int p;

	if (rank)
		rank->too_large = malloc(WIRE_MSG_MAX);
	if (!rank || !rank->too_large) {
		free(rank);
		snprintf(error->text, sizeof(error->text), "out of memory");
		return -ENOMEM;
	}
	rank->base.ops = &cable_transport;
	rank->seat = cable_seat;
	rank->base.port = cable_seat->cable->udp_port[0];
	p = (cable_seat->cable->payload - WIRE_HEADER - params->trailer) / WIRE_P_MIN * WIRE_P_MIN;
	rank->base.p = (uint16_t)(p < WIRE_P_MAX ? p : WIRE_P_MAX);
	snprintf(rank->base.text, sizeof(rank->base.text), "a cable in memory");
	*out = &rank->base;
	return 0;
}

const struct transport_ops cable_transport = {
	.name = "cable",
	.open = rank_open,
	.room = rank_room,
	.alloc = rank_alloc,
	.send = rank_send,
	.recv = rank_recv,
	.release = rank_release,
	.wait = rank_wait,
	.wake = rank_wake,
	.close = rank_close,
};
