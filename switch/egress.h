/* SPDX-License-Identifier: BSD-3-Clause */
/* egress.h - everything that leaves the switch: replication, headers, faults on purpose, bursts per port. */
#ifndef SWITCH_EGRESS_H
#define SWITCH_EGRESS_H

#include "switch/lcore.h"

/* The RESULT or the sum for the parent in pp, whose packet is src: to all its destinations.  Takes src over. */
void egress_result(struct lcore *lcore, struct pkt *src, const struct pipe_pkt *pp);
/* What the pipe has to say by itself. */
void egress_status(struct lcore *lcore);
/* A frame out of one framed port, or of all but the one it came from.  Both take it over. */
void egress_frame(struct lcore *lcore, unsigned port, struct pkt *pkt);
void egress_flood(struct lcore *lcore, struct pkt *pkt);
/* Gives the buffer back after everything queued was sent. */
void egress_late(struct lcore *lcore, struct pkt *pkt);
/* Packets held back for long enough, or all of them. */
void egress_expire(struct lcore *lcore, bool all);
void egress_flush(struct lcore *lcore);

#endif
