/* SPDX-License-Identifier: BSD-3-Clause */
/* ingress.h - everything that comes in: faults on purpose, frames, the pipe, and what it decides. */
#ifndef SWITCH_INGRESS_H
#define SWITCH_INGRESS_H

#include "switch/lcore.h"

/* One burst of a port, and what it makes the switch send.  Returns how many packets there were. */
unsigned ingress_poll(struct lcore *lcore, struct lcore_port *p);
/*
 * For a replay, at lcore->now: a burst, which is taken over, and what it makes the switch send.  last: of those that came
 * at one time.
 */
void ingress_turn(struct lcore *lcore, struct lcore_port *p, struct pkt *pkts, unsigned nr,
		  bool last);
/* The same of a socket's peer without a process, which pkt->flow names. */
void ingress_gone_turn(struct lcore *lcore, struct pkt *pkt);
/* Packets held back for long enough, or all of them, are taken in. */
void ingress_expire(struct lcore *lcore, bool all);

#endif
