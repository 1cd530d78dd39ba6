/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parent.h - a leaf's way to its parent: behind which port it is, and at which MAC address.
 *
 * A socket port leaves that to the kernel.  On framed ports an ARP request goes out of all of them
 * until it is answered, and now and then later.  Results are taken from there alone, so that the port stays the
 * parent's as long as the switch runs, and another station behind it that says it has the parent's address is believed
 * only if the parent does not answer any more.  At the start the first that answers is, unless --parent names the port.
 */
#ifndef SWITCH_PARENT_H
#define SWITCH_PARENT_H

#include <stdbool.h>
#include <stdint.h>

#include "switch/core/flow.h"
#include "switch/io/pool.h"

struct lcore;

enum { PARENT_NO_PORT = 0xffff };

struct parent {
	bool active;	  /* there is one: this switch is a leaf */
	bool asks;	  /* by ARP */
	struct flow flow; /* port: PARENT_NO_PORT until it is found */
	uint16_t uplink; /* asked and believed there alone; PARENT_NO_PORT: everywhere, until it is found */
	uint64_t next_ns;  /* of ARP requests */
	uint64_t heard_ns; /* a packet came from there */
	uint64_t doubt_ns; /* since when it is asked for because of another station; 0: it is not */
	uint64_t told_ns;  /* of such a station */
	uint64_t nr_early; /* packets for it before it was found: lost */
};

/* Behind flow->port; framed: to be sought there by ARP, with PARENT_NO_PORT everywhere. */
void parent_init(struct parent *parent, const struct flow *flow, bool framed);
/* Asks if it is time to. */
void parent_tick(struct lcore *lcore);
/* A frame of the parent's address came in. */
void parent_hear(struct lcore *lcore, const struct flow *flow);
/* A frame came in: if it is the parent's answer, or any ARP packet of its own, it tells the way there. */
void parent_learn(struct lcore *lcore, const struct pkt *pkt);

#endif
