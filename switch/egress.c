// SPDX-License-Identifier: BSD-3-Clause
/*
 * egress.c - everything that leaves the switch: replication, headers, faults on purpose, bursts per port.
 *
 * A queue entry of a framed port owns its buffer.  One of a socket port borrows its bytes, from the packet that
 * came in or from a buffer on the late list; so sockets are flushed first, and late buffers given back last.
 */
#include "switch/egress.h"

#include <string.h>

#include "switch/io/header.h"

void egress_flush(struct lcore *lcore)
{
	for (unsigned framed = 0; framed < 2; framed++)
		for (unsigned i = 0; i < lcore->nr_ports; i++) {
			struct lcore_port *p = &lcore->ports[i];

			if (p->port.framed != framed || !p->nr_queued)
				continue;
			p->port.ops->tx(&p->port, p->queue, p->nr_queued);
			p->nr_queued = 0;
		}
	for (unsigned i = 0; i < lcore->nr_late; i++)
		pkt_put(&lcore->late[i]);
	lcore->nr_late = 0;
}

void egress_late(struct lcore *lcore, struct pkt *pkt)
{
	if (!pkt->pool)
		return;
	if (lcore->nr_late == LCORE_LATE)
		egress_flush(lcore);
	lcore->late[lcore->nr_late++] = *pkt;
}

static void egress_capture(const struct lcore *lcore, struct lcore_port *p, const struct pkt *pkt)
{
	const uint64_t wall_ns = lcore_sent_ns(lcore);
	struct frame_udp udp = {
		.ip_src = p->port.spec.ip,
		.port_src = p->port.spec.udp_port,
		.ip_dst = pkt->flow.ip,
		.port_dst = pkt->flow.udp_port,
	};

	if (p->port.framed)
		capture_frame(p->capture_out, wall_ns, pkt->data, pkt->len);
	else
		capture_payload(p->capture_out, wall_ns, &udp, pkt);
}

static void egress_push(struct lcore *lcore, struct lcore_port *p, struct pkt *pkt)
{
	if (p->nr_queued == LCORE_QUEUE)
		egress_flush(lcore);
	p->queue[p->nr_queued++] = *pkt;
}

/* What goes on by now. */
static void egress_drain(struct lcore *lcore, struct lcore_port *p, bool all)
{
	struct pkt pkt;

	while (stage_take(lcore, p, &p->out, all, &pkt)) {
		egress_push(lcore, p, &pkt);
		if (!p->port.framed)
			egress_late(lcore, &pkt);
	}
}

/* Through the port's faults into its queue. */
static void egress_send(struct lcore *lcore, struct lcore_port *p, struct pkt *pkt)
{
	struct pkt mine;

	if (p->port.framed && pkt->len > p->port.mtu + (uint32_t)FRAME_ETH) {
		p->port.stats.tx_dropped++;
		p->port.stats.tx_too_big++;
		pkt_put(pkt);
		return;
	}
	if (p->capture_out)
		egress_capture(lcore, p, pkt);
	if (!p->out.impair.active) {
		egress_push(lcore, p, pkt);
		return;
	}
	/* A socket port leaves packets to the caller. */
	mine = *pkt;
	if (!p->port.framed)
		mine.pool = NULL;
	stage_put(lcore, p, &p->out, &mine);
	egress_drain(lcore, p, false);
}

void egress_expire(struct lcore *lcore, bool all)
{
	for (unsigned i = 0; i < lcore->nr_ports; i++)
		if (hold_count(&lcore->ports[i].out.hold))
			egress_drain(lcore, &lcore->ports[i], all);
}

/* What is sent to several: one payload, summed up once if framed. */
struct egress_payload {
	const uint8_t *data;
	uint32_t len;
	uint32_t sum;
};

static void egress_headers(struct lcore *lcore, struct pkt *pkt, const struct flow *to,
			   const struct egress_payload *payload)
{
	struct frame_udp udp = {
		.ip_src = lcore->ip,
		.ip_dst = to->ip,
		.port_src = WIRE_PORT,
		.port_dst = to->udp_port,
	};

	memcpy(udp.dst, to->mac, FRAME_MAC);
	memcpy(udp.src, lcore->mac, FRAME_MAC);
	pkt->len = (uint32_t)header_build(pkt->data, &udp, payload->len, payload->sum);
	egress_send(lcore, &lcore->ports[to->port], pkt);
}

/* In a buffer of its own. */
static void egress_copy_framed(struct lcore *lcore, const struct flow *to,
			       const struct egress_payload *payload)
{
	struct lcore_port *p = &lcore->ports[to->port];
	struct pkt pkt = { .len = 0 };

	if (!p->port.pool->get(p->port.pool, &pkt)) {
		egress_flush(lcore);
		if (!p->port.pool->get(p->port.pool, &pkt)) {
			p->port.stats.tx_dropped++;
			return;
		}
	}
	if (pkt.cap < FRAME_HEADERS + payload->len) {
		p->port.stats.tx_dropped++;
		p->port.stats.tx_too_big++;
		pkt_put(&pkt);
		return;
	}
	memcpy(pkt.data + FRAME_HEADERS, payload->data, payload->len);
	egress_headers(lcore, &pkt, to, payload);
}

/* Only the way to a parent can be one that is not known yet: what is lost now is sent again. */
static bool egress_is_early(struct lcore *lcore, const struct flow *to)
{
	if (to->port != PARENT_NO_PORT)
		return false;
	lcore->parent.nr_early++;
	return true;
}

void egress_result(struct lcore *lcore, struct pkt *src, const struct pipe_pkt *pp)
{
	struct flow to[WIRE_WORLD_MAX];
	unsigned nr = pipe_dests(lcore->pipe, pp, to), last = WIRE_WORLD_MAX, nr_framed = 0;
	struct egress_payload payload = { .data = pp->data, .len = pp->len };

	if (nr == 1 && egress_is_early(lcore, &to[0]))
		nr = 0;
	for (unsigned i = 0; i < nr; i++)
		if (lcore->ports[to[i].port].port.framed) {
			last = i;
			nr_framed++;
		}
	if (nr_framed)
		payload.sum = header_payload_sum(pp->data, pp->len);
	/* The packet that came in goes out to the last framed destination, after everybody had a copy. */
	if (!lcore->ports[src->flow.port].port.framed)
		last = WIRE_WORLD_MAX;
	for (unsigned i = 0; i < nr; i++) {
		struct lcore_port *p = &lcore->ports[to[i].port];
		struct pkt pkt = { .data = pp->data, .len = pp->len, .flow = to[i] };

		if (!p->port.framed)
			egress_send(lcore, p, &pkt);
		else if (i != last)
			egress_copy_framed(lcore, &to[i], &payload);
	}
	if (last < nr)
		egress_headers(lcore, src, &to[last], &payload);
	else
		egress_late(lcore, src);
}

void egress_status(struct lcore *lcore)
{
	uint8_t buf[WIRE_MSG_MAX];
	struct flow to;
	size_t len;

	while ((len = pipe_output(lcore->pipe, &to, buf)) > 0) {
		struct pkt src = { .data = buf, .len = (uint32_t)len, .flow = to }, pkt;
		struct egress_payload payload = { buf, (uint32_t)len, 0 };
		struct lcore_port *p;

		if (egress_is_early(lcore, &to))
			continue;
		p = &lcore->ports[to.port];
		if (p->port.framed) {
			payload.sum = header_payload_sum(buf, len);
			egress_copy_framed(lcore, &to, &payload);
			continue;
		}
		if (!pkt_copy(&pkt, &lcore->spares.pool, &src)) {
			egress_flush(lcore);
			if (!pkt_copy(&pkt, &lcore->spares.pool, &src)) {
				p->port.stats.tx_dropped++;
				continue;
			}
		}
		egress_send(lcore, p, &pkt);
		egress_late(lcore, &pkt);
	}
}

void egress_frame(struct lcore *lcore, unsigned port, struct pkt *pkt)
{
	egress_send(lcore, &lcore->ports[port], pkt);
}

void egress_flood(struct lcore *lcore, struct pkt *pkt)
{
	struct lcore_port *last = NULL;

	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct lcore_port *p = &lcore->ports[i];
		struct pkt copy;

		if (!p->port.framed || i == pkt->flow.port)
			continue;
		if (last && pkt_copy(&copy, last->port.pool, pkt))
			egress_send(lcore, last, &copy);
		else if (last)
			last->port.stats.tx_dropped++;
		last = p;
	}
	if (last)
		egress_send(lcore, last, pkt);
	else
		pkt_put(pkt);
}
