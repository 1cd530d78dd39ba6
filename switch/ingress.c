// SPDX-License-Identifier: BSD-3-Clause
/* ingress.c - everything that comes in: faults on purpose, frames, the pipe, and what it decides. */
#include "switch/ingress.h"

#include <arpa/inet.h>
#include <string.h>

#include "switch/egress.h"
#include "switch/log.h"

#define INGRESS_CLAIM_NS UINT64_C(10000000000)

/* Those of a burst that are for the pipe. */
struct ingress_local {
	unsigned nr;
	struct pipe_pkt pkts[PIPE_BURST];
};

static void ingress_capture(const struct lcore *lcore, struct lcore_port *p, const struct pkt *pkt)
{
	const uint64_t wall_ns = lcore_wall_ns(lcore);
	struct frame_udp udp = {
		.ip_src = pkt->flow.ip,
		.port_src = pkt->flow.udp_port,
		.ip_dst = p->port.spec.ip,
		.port_dst = p->port.spec.udp_port,
	};

	if (pkt->too_long)
		capture_cut(p->capture_in, wall_ns, pkt->data, pkt->len);
	else if (p->port.framed)
		capture_frame(p->capture_in, wall_ns, pkt->data, pkt->len);
	else
		capture_payload(p->capture_in, wall_ns, &udp, pkt);
}

static void ingress_capture_gone(const struct lcore *lcore, struct lcore_port *p,
				 const struct flow *peer)
{
	const struct frame_udp udp = {
		.ip_src = peer->ip,
		.port_src = peer->udp_port,
		.ip_dst = p->port.spec.ip,
		.port_dst = p->port.spec.udp_port,
	};

	capture_unreachable(p->capture_in, lcore_wall_ns(lcore), &udp);
}

static void ingress_watch(struct lcore *lcore, const struct pkt *pkt, enum counter counter)
{
	if (lcore->watch)
		lcore->watch(lcore, pkt, counter);
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

/* A worker's packets that its kernel handed over as one: the worker waits in vain, and cannot know why. */
static void ingress_too_long(struct lcore_port *p, const struct pkt *pkt)
{
	if (p->told_train || pkt->len < FRAME_HEADERS ||
	    wire_get16(pkt->data + 2 * FRAME_MAC) != FRAME_TYPE_IPV4 ||
	    pkt->data[FRAME_OFF_IP_PROTO] != FRAME_PROTO_UDP ||
	    wire_get16(pkt->data + FRAME_OFF_L4 + 2) != WIRE_PORT)
		return;
	p->told_train = true;
	log_line(LOG_WARN,
		 "port %u: a frame longer than its MTU of %u: the host there sends packets as trains "
		 "(segmentation offload), which are dropped here and make it slow; run `ethtool -K "
		 "DEVICE tx off` there",
		 p->port.spec.number, p->port.mtu);
}

/* By mistake, or to get the workers' packets: said once in a while. */
static void ingress_claim(struct lcore *lcore, const struct lcore_port *p, const struct pkt *pkt)
{
	const uint32_t ip = htonl(lcore->ip);
	const uint8_t *mac = pkt->data + FRAME_MAC;
	char text[INET_ADDRSTRLEN];

	if (lcore->claim_ns && lcore->now.now_ns - lcore->claim_ns < INGRESS_CLAIM_NS)
		return;
	lcore->claim_ns = lcore->now.now_ns;
	inet_ntop(AF_INET, &ip, text, sizeof(text));
	log_line(LOG_WARN,
		 "port %u: %02x:%02x:%02x:%02x:%02x:%02x sends as if it had the switch's own address %s: "
		 "dropped; give one of them another address",
		 p->port.spec.number, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], text);
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
		ingress_watch(lcore, pkt, COUNTER_frame_long);
		ingress_too_long(p, pkt);
		pkt_put(pkt);
		return;
	}
	if (lcore->parent.asks)
		parent_learn(lcore, pkt);
	fwd_input(lcore->fwd, &in, lcore->now.now_ns);
	if (in.verdict != FWD_LOCAL && in.verdict != FWD_GONE) {
		lcore->counters.v[in.counter]++;
		ingress_watch(lcore, pkt, in.counter);
	}
	switch ((enum fwd_verdict)in.verdict) {
	case FWD_LOCAL:
		pkt->flow.ip = in.frame.ip_src;
		pkt->flow.udp_port = in.frame.port_src;
		memcpy(pkt->flow.mac, in.frame.src, FRAME_MAC);
		parent_hear(lcore, &pkt->flow);
		ingress_local(local, pkt, in.frame.payload, in.frame.len);
		return;
	case FWD_GONE:
		pkt->flow.ip = in.frame.ip_dst;
		pkt->flow.udp_port = in.frame.port_dst;
		memcpy(pkt->flow.mac, in.frame.src, FRAME_MAC);
		ingress_watch(lcore, pkt, pipe_gone(lcore->pipe, &pkt->flow, &lcore->now));
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
		if (in.counter == COUNTER_frame_long)
			ingress_too_long(p, pkt);
		else if (in.counter == COUNTER_claimed)
			ingress_claim(lcore, p, pkt);
		pkt_put(pkt);
		return;
	}
}

/* At most PIPE_BURST packets of one port. */
static void ingress_burst(struct lcore *lcore, struct lcore_port *p, struct pkt *pkts, unsigned nr)
{
	struct ingress_local local;

	local.nr = 0;
	/* What the faults on purpose have left, as on a wire behind them: a replay needs no more. */
	for (unsigned i = 0; p->capture_in && i < nr; i++)
		ingress_capture(lcore, p, &pkts[i]);
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

		ingress_watch(lcore, pp->cookie, pp->counter);
		if (pp->verdict == PIPE_REPLY || pp->verdict == PIPE_MULTICAST ||
		    pp->verdict == PIPE_UP)
			egress_result(lcore, pp->cookie, pp);
		else
			pkt_put(pp->cookie);
	}
}

/* What goes on by now, in bursts. */
static void ingress_drain(struct lcore *lcore, struct lcore_port *p, bool all)
{
	struct pkt pkts[PIPE_BURST];
	unsigned nr;

	do {
		nr = 0;
		while (nr < PIPE_BURST && stage_take(lcore, p, &p->in, all, &pkts[nr]))
			nr++;
		ingress_burst(lcore, p, pkts, nr);
	} while (nr == PIPE_BURST);
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
		if (p->capture_in)
			ingress_capture_gone(lcore, p, &peer);
		pipe_gone(lcore->pipe, &peer, &lcore->now);
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

	if (!nr)
		return ingress_gone(lcore, p);
	lcore_time(lcore);
	if (p->in.impair.active) {
		for (unsigned i = 0; i < nr; i++)
			stage_put(lcore, p, &p->in, &pkts[i]);
		ingress_drain(lcore, p, false);
	} else {
		ingress_burst(lcore, p, pkts, nr);
	}
	egress_status(lcore);
	egress_flush(lcore);
	return nr + ingress_gone(lcore, p);
}

void ingress_turn(struct lcore *lcore, struct lcore_port *p, struct pkt *pkts, unsigned nr,
		  bool last)
{
	ingress_burst(lcore, p, pkts, nr);
	if (!last)
		return;
	egress_status(lcore);
	egress_flush(lcore);
}

void ingress_gone_turn(struct lcore *lcore, struct pkt *pkt)
{
	ingress_watch(lcore, pkt, pipe_gone(lcore->pipe, &pkt->flow, &lcore->now));
	egress_status(lcore);
	egress_flush(lcore);
}

void ingress_expire(struct lcore *lcore, bool all)
{
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct lcore_port *p = &lcore->ports[i];

		if (!hold_count(&p->in.hold))
			continue;
		ingress_drain(lcore, p, all);
		egress_status(lcore);
		egress_flush(lcore);
	}
}
