// SPDX-License-Identifier: BSD-3-Clause
/* parent.c - a leaf's way to its parent: behind which port it is, and at which MAC address. */
#include "switch/parent.h"

#include <string.h>

#include "proto/frame.h"
#include "proto/wire.h"
#include "switch/egress.h"
#include "switch/lcore.h"
#include "switch/log.h"

#define PARENT_ASK_NS UINT64_C(200000000)
#define PARENT_AGAIN_NS UINT64_C(10000000000)
#define PARENT_SILENT_NS UINT64_C(1000000000)

void parent_init(struct parent *parent, const struct flow *flow, bool framed)
{
	*parent = (struct parent){
		.active = true, .asks = framed, .flow = *flow, .uplink = flow->port
	};
	if (framed)
		parent->flow.port = PARENT_NO_PORT;
}

static void parent_ask(struct lcore *lcore)
{
	uint8_t request[FRAME_MIN];
	struct pkt src = { .data = request, .cap = sizeof(request) }, pkt;

	journal_note(lcore->journal, lcore, "ask");
	src.len =
		(uint32_t)frame_arp_request(request, lcore->mac, lcore->ip, lcore->parent.flow.ip);
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct port *port = &lcore->ports[i].port;

		if (!port->framed ||
		    (lcore->parent.uplink != PARENT_NO_PORT && i != lcore->parent.uplink))
			continue;
		if (pkt_copy(&pkt, port->pool, &src))
			egress_frame(lcore, i, &pkt);
		else
			port->stats.tx_dropped++;
	}
	egress_flush(lcore);
}

void parent_tick(struct lcore *lcore)
{
	struct parent *parent = &lcore->parent;
	bool found = parent->flow.port != PARENT_NO_PORT;

	if (!parent->asks || lcore->now.now_ns < parent->next_ns)
		return;
	parent->next_ns =
		lcore->now.now_ns + (found && !parent->doubt_ns ? PARENT_AGAIN_NS : PARENT_ASK_NS);
	parent_ask(lcore);
}

/* The fields before the addresses are looked at before the frame is: most frames are no ARP. */
static bool parent_is_arp(const struct pkt *pkt)
{
	return pkt->len >= FRAME_ETH + FRAME_ARP &&
	       wire_get16(pkt->data + FRAME_OFF_TYPE) == FRAME_TYPE_ARP;
}

static bool parent_is_there(const struct parent *parent, const struct flow *flow)
{
	return parent->flow.port == flow->port &&
	       memcmp(parent->flow.mac, flow->mac, FRAME_MAC) == 0;
}

void parent_hear(struct lcore *lcore, const struct flow *flow)
{
	struct parent *parent = &lcore->parent;

	if (!parent->asks || flow->ip != parent->flow.ip || !parent_is_there(parent, flow))
		return;
	parent->heard_ns = lcore->now.now_ns;
	parent->doubt_ns = 0;
}

/* By mistake, or to get what the leaf sends: said once in a while. */
static void parent_warn(struct lcore *lcore, const struct flow *flow)
{
	const uint64_t now_ns = lcore->now.now_ns;
	const struct parent *parent = &lcore->parent;
	const unsigned where = parent->uplink != PARENT_NO_PORT ? parent->uplink
								: parent->flow.port;
	const uint8_t *mac = flow->mac;

	if (lcore->parent.told_ns && now_ns - lcore->parent.told_ns < PARENT_AGAIN_NS)
		return;
	lcore->parent.told_ns = now_ns;
	log_line(
		LOG_WARN,
		"port %u: %02x:%02x:%02x:%02x:%02x:%02x says by ARP that it has the address of the "
		"parent, which is behind port %u: ignored; give one of them another address, or start this switch "
		"anew if the parent has moved",
		lcore->ports[flow->port].port.spec.number, mac[0], mac[1], mac[2], mac[3], mac[4],
		mac[5], lcore->ports[where].port.spec.number);
}

/*
 * Another station has the parent's address: another machine took its place, or wrongly.  Whether to believe it: only
 * behind the same port, and if the parent is asked for and silent there.
 */
static bool parent_moves(struct lcore *lcore, const struct flow *flow)
{
	struct parent *parent = &lcore->parent;
	const uint64_t now_ns = lcore->now.now_ns;

	if (flow->port != parent->flow.port || now_ns - parent->heard_ns < PARENT_SILENT_NS) {
		parent_warn(lcore, flow);
		return false;
	}
	if (!parent->doubt_ns || now_ns - parent->doubt_ns > PARENT_SILENT_NS) {
		parent->doubt_ns = now_ns;
		parent->next_ns = now_ns;
		return false;
	}
	return now_ns - parent->doubt_ns >= PARENT_ASK_NS;
}

void parent_learn(struct lcore *lcore, const struct pkt *pkt)
{
	struct parent *parent = &lcore->parent;
	struct flow flow = parent->flow;
	const uint8_t *mac = pkt->data + FRAME_OFF_ARP_SHA;
	struct frame arp;

	if (!parent->asks || !parent_is_arp(pkt) ||
	    frame_parse(&arp, pkt->data, pkt->len, false) != FRAME_OK || arp.kind != FRAME_IS_ARP ||
	    arp.ip_src != flow.ip || mac[0] & 1 || wire_get48(mac) == 0)
		return;
	memcpy(flow.mac, mac, FRAME_MAC);
	flow.port = pkt->flow.port;
	if (parent_is_there(parent, &flow)) {
		parent_hear(lcore, &flow);
		return;
	}
	if (parent->uplink != PARENT_NO_PORT && flow.port != parent->uplink) {
		parent_warn(lcore, &flow);
		return;
	}
	if (parent->flow.port != PARENT_NO_PORT && !parent_moves(lcore, &flow))
		return;
	parent->flow = flow;
	parent_hear(lcore, &flow);
	parent->next_ns = lcore->now.now_ns + PARENT_AGAIN_NS;
	pipe_set_parent(lcore->pipe, &flow);
}
