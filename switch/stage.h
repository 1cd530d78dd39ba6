/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.h - where the packets of a port and direction meet faults on purpose, and wait if they are to.
 *
 * A packet is put in, and whatever goes on by now is taken out: mostly the same packet at once.  One that waits
 * lies in a buffer of the stage's own, so that neither a device nor a socket runs out of theirs.  What finds no
 * room is dropped, and counted.
 */
#ifndef SWITCH_STAGE_H
#define SWITCH_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "switch/core/hold.h"
#include "switch/core/impair.h"
#include "switch/io/pool.h"

enum {
	STAGE_BUFFERS = 8192, /* for packets that wait, of all ports */
	STAGE_ROOM = 9344,    /* bytes of each: a frame of PORT_MTU_MAX, or a message */
	STAGE_PKTS = STAGE_BUFFERS + 256,
};

/* Of the lcore.  Pages are touched when used. */
struct stage {
	struct pool_plain buffers;
	struct pkt *pkts; /* by the numbers that struct hold knows them by */
	uint16_t *free;	  /* a stack of such numbers */
	uint32_t nr_free;
	void *mem; /* of all struct hold */
};

/* Faults on purpose in one direction of a port. */
struct lcore_faults {
	struct impair impair;
	struct hold hold;
	uint64_t nr_room; /* dropped because there was no room to wait in */
};

struct lcore;
struct lcore_port;

/* After the ports are there.  0, or -1 if there is no memory; without it every packet that is to wait is dropped. */
int stage_init(struct lcore *lcore);
/* Whatever still waits is given back. */
void stage_fini(struct lcore *lcore);

/* Takes pkt over; one without a pool is borrowed.  faults: p's in or out. */
void stage_put(struct lcore *lcore, struct lcore_port *p, struct lcore_faults *faults,
	       struct pkt *pkt);
/* The next one that goes on by now, or, if all, ever; false: none.  On a framed port it has a buffer of the port's. */
bool stage_take(struct lcore *lcore, struct lcore_port *p, struct lcore_faults *faults, bool all,
		struct pkt *pkt);
/*
 * The rate is another one since impair_set(): what waited for the one before waits for this one.  before: the faults
 * until then.
 */
void stage_retime(struct lcore *lcore, struct lcore_port *p, struct lcore_faults *faults,
		  const struct impair_params *before);
/* When the next packet of any port goes on; UINT64_MAX: none waits. */
uint64_t stage_due(const struct lcore *lcore);

#endif
