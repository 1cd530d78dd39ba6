// SPDX-License-Identifier: BSD-3-Clause
/* parent.c - a leaf's way to its parent: behind which port it is, and at which MAC address. */
#include "switch/parent.h"

#include <string.h>

#include "proto/frame.h"
#include "proto/wire.h"
#include "switch/egress.h"
#include "switch/lcore.h"

#define PARENT_ASK_NS UINT64_C(200000000)
#define PARENT_AGAIN_NS UINT64_C(10000000000)

enum {
	PARENT_TYPE = 12, /* offsets in a frame: ethertype, ARP's sender */
	PARENT_ARP_SHA = 22,
};

void parent_init(struct parent *parent, const struct flow *flow, bool framed)
{
	*parent = (struct parent){ .active = true, .asks = framed, .flow = *flow };
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

		if (!port->framed)
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
	parent->next_ns = lcore->now.now_ns + (found ? PARENT_AGAIN_NS : PARENT_ASK_NS);
	parent_ask(lcore);
}

/* The fields before the addresses are looked at before the frame is: most frames are no ARP. */
static bool parent_is_arp(const struct pkt *pkt)
{
	return pkt->len >= FRAME_ETH + FRAME_ARP &&
	       wire_get16(pkt->data + PARENT_TYPE) == FRAME_TYPE_ARP;
}

void parent_learn(struct lcore *lcore, const struct pkt *pkt)
{
	struct parent *parent = &lcore->parent;
	struct flow flow = parent->flow;
	const uint8_t *mac = pkt->data + PARENT_ARP_SHA;
	struct frame arp;

	if (!parent->asks || !parent_is_arp(pkt) ||
	    frame_parse(&arp, pkt->data, pkt->len, false) != FRAME_OK || arp.kind != FRAME_IS_ARP ||
	    arp.ip_src != flow.ip || mac[0] & 1 || wire_get48(mac) == 0)
		return;
	memcpy(flow.mac, mac, FRAME_MAC);
	flow.port = pkt->flow.port;
	if (memcmp(&flow, &parent->flow, sizeof(flow)) == 0)
		return;
	parent->flow = flow;
	parent->next_ns = lcore->now.now_ns + PARENT_AGAIN_NS;
	pipe_set_parent(lcore->pipe, &flow);
}
