// SPDX-License-Identifier: BSD-3-Clause
/* ingress.c - everything that comes in: faults on purpose, frames, the pipe, and what it decides. */
#include "switch/ingress.h"

#include <string.h>

#include "switch/egress.h"

/* One burst after the faults: each packet may be there twice, and one more was held back. */
struct ingress_batch {
	unsigned nr;
	struct pkt pkts[2 * PIPE_BURST + 1];
};

/* Those of a burst that are for the pipe. */
struct ingress_local {
	unsigned nr;
	struct pipe_pkt pkts[PIPE_BURST];
};

static void ingress_release(struct lcore *lcore, struct lcore_port *p, struct ingress_batch *batch)
{
	if (!p->in.holds)
		return;
	batch->pkts[batch->nr++] = p->in.held;
	p->in.holds = false;
	lcore->nr_held--;
}

static struct pool *ingress_pool(struct lcore *lcore, struct lcore_port *p)
{
	return p->port.framed ? p->port.pool : &lcore->spares.pool;
}

/* Borrowed bytes do not last: a packet to hold needs a buffer of its own. */
static void ingress_hold(struct lcore *lcore, struct lcore_port *p, struct pkt *pkt,
			 struct ingress_batch *batch)
{
	struct pkt held = *pkt;

	if (p->in.holds || (!pkt->pool && !pkt_copy(&held, &lcore->spares.pool, pkt))) {
		batch->pkts[batch->nr++] = *pkt;
		ingress_release(lcore, p, batch);
		return;
	}
	p->in.held = held;
	p->in.holds = true;
	p->in.held_ns = lcore->now.now_ns;
	lcore->nr_held++;
}

static void ingress_fault(struct lcore *lcore, struct lcore_port *p, struct pkt *pkt,
			  struct ingress_batch *batch)
{
	struct pkt copy;

	switch (impair_next(&p->in.impair)) {
	case IMPAIR_LOSE:
		lcore->counters.v[COUNTER_impaired]++;
		p->port.stats.rx++;
		p->port.stats.rx_bytes += pkt->len;
		pkt_put(pkt);
		return;
	case IMPAIR_HOLD:
		ingress_hold(lcore, p, pkt, batch);
		return;
	case IMPAIR_DUP:
		if (pkt_copy(&copy, ingress_pool(lcore, p), pkt))
			batch->pkts[batch->nr++] = copy;
		break;
	case IMPAIR_PASS:
		break;
	}
	batch->pkts[batch->nr++] = *pkt;
	ingress_release(lcore, p, batch);
}

static void ingress_capture(struct lcore_port *p, const struct pkt *pkt)
{
	struct frame_udp udp = {
		.ip_src = pkt->flow.ip,
		.port_src = pkt->flow.udp_port,
		.ip_dst = p->port.spec.ip,
		.port_dst = p->port.spec.udp_port,
	};

	if (p->port.framed)
		capture_frame(p->capture_in, pkt->data, pkt->len);
	else
		capture_payload(p->capture_in, &udp, pkt);
}

static void ingress_local(struct ingress_local *local, struct pkt *pkt, uint8_t *payload,
			  uint32_t len)
{
	local->pkts[local->nr++] = (struct pipe_pkt){
		.data = payload,
		.len = len,
		.cap = pkt->cap - (uint32_t)(payload - pkt->data),
		.flow = pkt->flow,
		.cookie = pkt,
	};
}

static void ingress_frame(struct lcore *lcore, struct lcore_port *p, struct pkt *pkt,
			  struct ingress_local *local)
{
	struct fwd_pkt in = {
		.data = pkt->data,
		.len = pkt->len,
		.mtu = p->port.mtu,
		.port = p->port.index,
		.verify = pkt->verify,
	};

	if (pkt->too_long) {
		lcore->counters.v[COUNTER_frame_long]++;
		pkt_put(pkt);
		return;
	}
	if (lcore->parent.asks)
		parent_learn(lcore, pkt);
	fwd_input(lcore->fwd, &in, lcore->now.now_ns);
	if (in.verdict != FWD_LOCAL && in.verdict != FWD_GONE)
		lcore->counters.v[in.counter]++;
	switch ((enum fwd_verdict)in.verdict) {
	case FWD_LOCAL:
		pkt->flow.ip = in.frame.ip_src;
		pkt->flow.udp_port = in.frame.port_src;
		memcpy(pkt->flow.mac, in.frame.src, FRAME_MAC);
		ingress_local(local, pkt, in.frame.payload, in.frame.len);
		return;
	case FWD_GONE:
		pipe_gone(lcore->pipe, in.frame.ip_dst, in.frame.port_dst, &lcore->now);
		pkt_put(pkt);
		return;
	case FWD_REPLY:
		egress_frame(lcore, p->port.index, pkt);
		return;
	case FWD_PORT:
		egress_frame(lcore, in.out_port, pkt);
		return;
	case FWD_FLOOD:
		egress_flood(lcore, pkt);
		return;
	case FWD_DROP:
		pkt_put(pkt);
		return;
	}
}

/* At most PIPE_BURST packets of one port. */
static void ingress_burst(struct lcore *lcore, struct lcore_port *p, struct pkt *pkts, unsigned nr)
{
	struct ingress_local local;

	local.nr = 0;
	for (unsigned i = 0; i < nr; i++) {
		p->port.stats.rx++;
		p->port.stats.rx_bytes += pkts[i].len;
		if (p->port.framed)
			ingress_frame(lcore, p, &pkts[i], &local);
		else
			ingress_local(&local, &pkts[i], pkts[i].data, pkts[i].len);
	}
	if (local.nr)
		pipe_input(lcore->pipe, local.pkts, local.nr, &lcore->now);
	for (unsigned i = 0; i < local.nr; i++) {
		struct pipe_pkt *pp = &local.pkts[i];

		if (pp->verdict == PIPE_REPLY || pp->verdict == PIPE_MULTICAST ||
		    pp->verdict == PIPE_UP)
			egress_result(lcore, pp->cookie, pp);
		else
			pkt_put(pp->cookie);
	}
}

static void ingress_batch(struct lcore *lcore, struct lcore_port *p, struct ingress_batch *batch)
{
	for (unsigned i = 0; i < batch->nr; i += PIPE_BURST)
		ingress_burst(lcore, p, batch->pkts + i,
			      batch->nr - i < PIPE_BURST ? batch->nr - i : PIPE_BURST);
	egress_status(lcore);
	egress_flush(lcore);
}

/* Peers without a process, of which a socket tells beside its packets: counted as one that came in. */
static unsigned ingress_gone(struct lcore *lcore, struct lcore_port *p)
{
	struct flow peer;
	unsigned nr = 0;

	if (!p->port.ops->gone)
		return 0;
	while (nr < PIPE_BURST && p->port.ops->gone(&p->port, &peer)) {
		if (!nr)
			lcore_time(lcore);
		p->port.stats.rx++;
		pipe_gone(lcore->pipe, peer.ip, peer.udp_port, &lcore->now);
		nr++;
	}
	if (nr) {
		egress_status(lcore);
		egress_flush(lcore);
	}
	return nr;
}

unsigned ingress_poll(struct lcore *lcore, struct lcore_port *p)
{
	struct pkt pkts[PIPE_BURST];
	unsigned nr = p->port.ops->rx(&p->port, pkts, PIPE_BURST);
	struct ingress_batch batch;

	if (!nr)
		return ingress_gone(lcore, p);
	lcore_time(lcore);
	if (p->capture_in)
		for (unsigned i = 0; i < nr; i++)
			ingress_capture(p, &pkts[i]);
	if (p->in.impair.active) {
		batch.nr = 0;
		for (unsigned i = 0; i < nr; i++)
			ingress_fault(lcore, p, &pkts[i], &batch);
		ingress_batch(lcore, p, &batch);
	} else {
		ingress_burst(lcore, p, pkts, nr);
		egress_status(lcore);
		egress_flush(lcore);
	}
	return nr + ingress_gone(lcore, p);
}

void ingress_expire(struct lcore *lcore, bool all)
{
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct lcore_port *p = &lcore->ports[i];
		struct ingress_batch batch;

		if (!p->in.holds || (!all && lcore->now.now_ns - p->in.held_ns < LCORE_HOLD_NS))
			continue;
		batch.nr = 0;
		ingress_release(lcore, p, &batch);
		ingress_batch(lcore, p, &batch);
	}
}
